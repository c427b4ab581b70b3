"""What somebody leaves behind is seen and ended by owners, and by an operator everywhere."""

from typing import Any

import pytest

from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, tokens
from teamvars.domain.memberships import LeftBehind
from teamvars.domain.times import DAY
from teamvars.domain.tokens import Token
from teamvars.services.tokens import fresh_token
from tests.support.deployment import operator
from tests.support.jobs import runner_document
from tests.support.tenant import Tenant, linkage_document


def path_of(tenant: Tenant, who: str) -> str:
    return f"/organizations/{tenant.organization}/users/{tenant.users[who]}/left-behind"


async def left(tenant: Tenant, who: str, by: str = "organization-token") -> dict[str, list[Any]]:
    """The ids of what somebody leaves behind."""
    answer = await tenant.call(by, "GET", path_of(tenant, who))
    assert answer.status_code == 200, answer.text
    attributes = answer.json()["data"]["attributes"]
    return {kind: [one["id"] for one in those] for kind, those in attributes.items()}


async def leave_something(tenant: Tenant) -> tuple[str, dict[str, list[str]]]:
    """The owner makes a token of a team, proposes a runner and invites somebody."""
    path = f"/teams/{tenant.teams['readers']}/authentication-token"
    made = (await tenant.call("owner", "POST", path)).json()["data"]
    document = runner_document(tenant.workspaces["network"])
    runners = f"/organizations/{tenant.organization}/runners"
    runner = (await tenant.call("owner", "POST", runners, document)).json()["data"]
    invite = {
        "data": {
            "type": "organization-memberships",
            "attributes": {"email": f"new-{tenant.organization}@example.com"},
        }
    }
    invitations = f"/organizations/{tenant.organization}/organization-memberships"
    sent = (await tenant.call("owner", "POST", invitations, invite)).json()["data"]
    ids = {"tokens": [made["id"]], "runners": [runner["id"]], "invitations": [sent["id"]]}
    token: str = made["attributes"]["token"]
    return token, ids


NOTHING: dict[str, list[str]] = {"tokens": [], "runners": [], "invitations": [], "teams": []}


async def propose(tenant: Tenant, by: str) -> list[str]:
    """Somebody proposes a machine and a job, and both are changed by another."""
    machine = {"issuer": None, "conditions": None, "public_key": "A" * 43}
    network, runners = tenant.workspaces["network"], f"/organizations/{tenant.organization}/runners"
    made = []
    for said in (machine, {}):
        document = runner_document(network, **said)
        made.append((await tenant.call(by, "POST", runners, document)).json()["data"]["id"])
    for id_ in made:
        change = {"data": {"type": "runners", "attributes": {"max-ttl": 120}}}
        answer = await tenant.call("organization-token", "PATCH", f"/runners/{id_}", change)
        assert answer.status_code == 200, answer.text
    return made


async def test_a_machine_that_somebody_has_proposed_is_theirs_whoever_has_changed_it_since(
    tenant: Tenant,
) -> None:
    made = await propose(tenant, "owner")
    assert (await left(tenant, "owner"))["runners"] == made[:1]
    assert (await left(tenant, "reader"))["runners"] == []


async def test_an_operator_finds_the_machine_of_whoever_is_gone(tenant: Tenant) -> None:
    who = tenant.users["plain"]
    path, document = tenant.linkage_path("owners"), linkage_document(who)
    assert (await tenant.call("owner", "POST", path, document)).status_code == 204
    machine, _ = await propose(tenant, "plain")
    member = f"/organization-memberships/{tenant.memberships['plain']}"
    assert (await tenant.call("owner", "DELETE", member)).status_code == 204
    leavers = tenant.deployment.services.operator_leavers
    (shown,) = await leavers.show(who)
    assert [one.id for one in shown.runners] == [machine]
    await leavers.end(operator(), who, lambda _: None)
    assert await leavers.show(who) == []
    assert (await tenant.call("owner", "GET", f"/runners/{machine}")).status_code == 404


async def test_owners_see_what_somebody_leaves_behind_and_end_it(tenant: Tenant) -> None:
    token, ids = await leave_something(tenant)
    teams = [tenant.teams["owners"]]  # the other owner there is disabled
    assert await left(tenant, "owner") == {**ids, "teams": teams}
    assert await left(tenant, "reader") == {**NOTHING, "teams": [tenant.teams["readers"]]}
    path, bearer = tenant.vars_path(), {"Authorization": f"Bearer {token}"}
    assert (await tenant.call(None, "GET", path, None, bearer)).status_code == 200
    ended = await tenant.call("organization-token", "DELETE", path_of(tenant, "owner"))
    assert ended.status_code == 204
    assert await left(tenant, "owner") == {**NOTHING, "teams": teams}
    assert (await tenant.call(None, "GET", path, None, bearer)).status_code == 401
    runner = await tenant.call("owner", "GET", f"/runners/{ids['runners'][0]}")
    assert runner.status_code == 404
    sent = f"/organization-memberships/{ids['invitations'][0]}"
    assert (await tenant.call("owner", "GET", sent)).status_code == 404
    assert (await tenant.call("owner", "GET", path)).status_code == 200
    again = await tenant.call("organization-token", "DELETE", path_of(tenant, "owner"))
    assert again.status_code == 204
    assert await tenant.deployment.audit_holds()


async def test_what_others_have_left_and_what_is_elsewhere_stays(tenant: Tenant) -> None:
    token, ids = await leave_something(tenant)
    by_other = f"/organizations/{tenant.other_organization}/authentication-token"
    made = (await tenant.call("outsider", "POST", by_other)).json()["data"]
    assert (await tenant.call("owner", "DELETE", path_of(tenant, "writer"))).status_code == 204
    assert (await left(tenant, "owner"))["tokens"] == ids["tokens"]
    foreign = f"/organizations/{tenant.organization}/users/{tenant.users['outsider']}/left-behind"
    for method in ("GET", "DELETE"):
        assert (await tenant.call("owner", method, foreign)).status_code == 404
    seen = await tenant.call("outsider", "GET", by_other)
    assert seen.json()["data"]["id"] == made["id"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert (await tenant.call(None, "GET", tenant.vars_path(), None, bearer)).status_code == 200


async def test_what_somebody_who_is_gone_has_left_is_still_there_to_end(tenant: Tenant) -> None:
    fresh = fresh_token("team")

    def make(found: Found) -> Decision[Any]:
        team, user = tenant.teams["readers"], tenant.users["plain"]
        ends = found.now + DAY
        made = Token(fresh.id, "team", team, found.now, ends, None, "of plain", user)
        return tokens.created(found, made, fresh)

    await tenant.deployment.services.changes.make(Change(operator(), None, make))
    member = f"/organization-memberships/{tenant.memberships['plain']}"
    assert (await tenant.call("owner", "DELETE", member)).status_code == 204
    assert await left(tenant, "plain") == {**NOTHING, "tokens": [fresh.id]}
    assert (await tenant.call("owner", "DELETE", path_of(tenant, "plain"))).status_code == 204
    assert (await tenant.call("owner", "GET", path_of(tenant, "plain"))).status_code == 404


async def test_an_operator_ends_it_in_all_organizations(tenant: Tenant) -> None:
    _, ids = await leave_something(tenant)
    leavers, owner = tenant.deployment.services.operator_leavers, tenant.users["owner"]
    assert await leavers.show(tenant.users["plain"]) == []  # who is there, and leaves nothing
    (shown,) = await leavers.show(owner)
    assert shown.organization == tenant.organization
    assert [one.id for one in shown.tokens] == ids["tokens"]
    ended: list[LeftBehind] = []
    await leavers.end(operator(), owner, ended.append)
    assert [one.id for each in ended for one in each.runners] == ids["runners"]
    (rest,) = await leavers.show(owner)
    assert (rest.tokens, rest.runners, rest.invitations) == ([], [], [])
    assert [team.is_owners for team in rest.teams] == [True]


@pytest.mark.parametrize("who", ["writer", "writers-token"])
async def test_nobody_but_owners_sees_or_ends_it(tenant: Tenant, who: str) -> None:
    for method in ("GET", "DELETE"):
        assert (await tenant.call(who, method, path_of(tenant, "plain"))).status_code == 403
