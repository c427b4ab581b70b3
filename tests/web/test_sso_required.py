"""Where members have to sign in: which tokens have rights there, and who says so."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, tokens
from teamvars.domain.times import DAY
from teamvars.domain.tokens import WAY_BACK, OwnerName, Token
from teamvars.services.tokens import fresh_token
from tests.support.deployment import operator
from tests.support.exchanging import job_in
from tests.support.tenant import Tenant, variable_document

SECOND = 1_000_000


async def signed_in(tenant: Tenant, who: str) -> str:
    """A token of a user's that a session made, as `decisions.sign_ins` makes them."""
    (organization,) = await organization_ids(tenant)
    fresh, user = fresh_token("user"), tenant.users[who]

    def decide(found: Found) -> Decision[Any]:
        ends, reach = found.now + DAY, frozenset({organization})
        made = Token(fresh.id, "user", user, found.now, ends, None, "", user, reach)
        return tokens.created(found, made, fresh)

    await tenant.deployment.services.changes.make(Change(operator(), None, decide))
    return fresh.secret


async def from_host(tenant: Tenant, who: str, lifetime: int | None) -> str:
    """A token that the operator made for a user."""
    user = await tenant.deployment.services.accounts.show(tenant.users[who])
    named = OwnerName(user=user.user.username)
    return (await tenant.deployment.services.tokens.create(operator(), named, lifetime)).secret


async def organization_ids(tenant: Tenant) -> list[str]:
    """The id of the tenant's organization."""
    rows = await tenant.deployment.services.database.read(
        lambda tx: tx.fetch("SELECT id FROM organizations WHERE name = $1", tenant.organization)
    )
    return [row[0] for row in rows]


async def made_over_http(tenant: Tenant, who: str, token: str) -> str:
    """A token that a user makes with another of theirs."""
    path = f"/users/{tenant.users[who]}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {}}}
    answer = await tenant.call(None, "POST", path, document, bearer(token))
    assert answer.status_code == 201, answer.text
    secret: str = answer.json()["data"]["attributes"]["token"]
    return secret


def bearer(token: str) -> dict[str, str]:
    """The header that says it."""
    return {"Authorization": f"Bearer {token}"}


async def require(tenant: Tenant, token: str, is_so: bool = True) -> int:
    """The status with which it is answered that members have to sign in."""
    document = {"data": {"type": "organizations", "attributes": {"sso-required": is_so}}}
    path = f"/organizations/{tenant.organization}"
    return (await tenant.call(None, "PATCH", path, document, bearer(token))).status_code


async def plain(tenant: Tenant) -> str:
    return tenant.tokens["writer"]


async def of_plain(tenant: Tenant) -> str:
    """Made with a token that the host made, within the hour for which that is good."""
    return await made_over_http(tenant, "writer", await from_host(tenant, "writer", WAY_BACK))


async def of_session(tenant: Tenant) -> str:
    return await signed_in(tenant, "writer")


async def made_in_session(tenant: Tenant) -> str:
    return await made_over_http(tenant, "writer", await signed_in(tenant, "writer"))


async def of_host(tenant: Tenant) -> str:
    return await from_host(tenant, "writer", WAY_BACK)


async def of_host_for_longer(tenant: Tenant) -> str:
    return await from_host(tenant, "writer", WAY_BACK + SECOND)


async def of_host_for_ever(tenant: Tenant) -> str:
    return await from_host(tenant, "writer", None)


async def of_team(tenant: Tenant) -> str:
    return tenant.tokens["writers-token"]


async def of_organization(tenant: Tenant) -> str:
    return tenant.tokens["organization-token"]


@pytest.mark.parametrize(
    ("token_of", "has_rights"),
    [
        (plain, False),
        (of_plain, False),
        (of_session, True),
        (made_in_session, True),
        (of_host, True),
        (of_host_for_longer, False),
        (of_host_for_ever, False),
        (of_team, True),
        (of_organization, True),
    ],
)
async def test_a_users_token_has_rights_there_if_a_session_made_it_or_the_host_for_an_hour(
    tenant: Tenant, token_of: Callable[[Tenant], Awaitable[str]], has_rights: bool
) -> None:
    token, owner = await token_of(tenant), await signed_in(tenant, "owner")

    async def asked(method: str, path: str, document: object = None) -> int:
        return (await tenant.call(None, method, path, document, bearer(token))).status_code

    name = tenant.organization
    reads = [
        tenant.vars_path(),
        f"/workspaces/{tenant.workspaces['network']}/all-vars",
        f"/organizations/{name}/workspaces/network",
        f"/organizations/{name}",
        f"/organizations/{name}/vars",
        f"/organizations/{name}/workspaces",
        f"/teams/{tenant.teams['writers']}",
    ]
    assert [await asked("GET", path) for path in reads] == [200] * len(reads)
    assert await require(tenant, owner) == 200
    assert {await asked("GET", path) for path in reads} == {200 if has_rights else 404}
    created = await asked("POST", tenant.vars_path(), variable_document(key="new"))
    assert created == (201 if has_rights else 404)
    listed = await tenant.call(None, "GET", "/organizations", None, bearer(token))
    assert (name in listed.text) == has_rights
    assert await require(tenant, owner, False) == 200
    assert {await asked("GET", path) for path in reads} == {200}


async def test_whoever_has_no_rights_there_still_has_them_elsewhere_and_their_own_tokens(
    tenant: Tenant,
) -> None:
    outsider = tenant.tokens["outsider"]
    own = f"/users/{tenant.users['writer']}/authentication-tokens"
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    assert (await tenant.call("writer", "GET", own)).status_code == 200
    assert (await tenant.call("writer", "GET", "/account/details")).status_code == 200
    beside = f"/users/{tenant.users['reader']}"
    assert (await tenant.call("writer", "GET", beside)).status_code == 404
    path = f"/organizations/{tenant.other_organization}"
    assert (await tenant.call(None, "GET", path, None, bearer(outsider))).status_code == 200


@pytest.mark.parametrize(("who", "team"), [("hidden", "secret"), ("invited_writer", "writers")])
async def test_whoever_accepts_is_told_of_their_teams_where_their_token_has_rights_alone(
    tenant: Tenant, who: str, team: str
) -> None:
    """Also who has accepted before."""
    path = f"/organization-memberships/{tenant.memberships[who]}/actions/accept"

    async def teams_told(token: str) -> list[str]:
        answer = await tenant.call(None, "POST", path, None, bearer(token))
        assert answer.json()["data"]["attributes"]["status"] == "active"
        return [one["id"] for one in answer.json()["data"]["relationships"]["teams"]["data"]]

    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    for _ in "12":
        assert await teams_told(tenant.tokens[who]) == []
    assert await teams_told(await signed_in(tenant, who)) == [tenant.teams[team]]


async def test_who_has_signed_in_is_told_of_their_teams_as_they_accept(tenant: Tenant) -> None:
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    path = f"/organization-memberships/{tenant.memberships['invited_writer']}/actions/accept"
    token = await signed_in(tenant, "invited_writer")
    answer = await tenant.call(None, "POST", path, None, bearer(token))
    told = answer.json()["data"]["relationships"]["teams"]["data"]
    assert [one["id"] for one in told] == [tenant.teams["writers"]]


async def test_runners_go_on_where_members_have_to_sign_in(tenant: Tenant) -> None:
    job = await job_in(tenant)
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    job.opened(await job.deliver(await job.token()))


async def test_an_owner_says_so_who_has_signed_in_and_nobody_else(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization}"
    document = {"data": {"type": "organizations", "attributes": {"sso-required": True}}}
    for who in ("owner", "owners-token", "organization-token", "reader"):
        refused = await tenant.call(who, "PATCH", path, document)
        assert refused.status_code == 403, who
    assert await require(tenant, await from_host(tenant, "owner", WAY_BACK)) == 403
    assert await require(tenant, await signed_in(tenant, "reader")) == 403
    assert await require(tenant, tenant.tokens["owner"], False) == 200  # as it is
    shown = await tenant.call("plain", "GET", path)
    assert shown.json()["data"]["attributes"]["sso-required"] is False
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    assert (await tenant.call("organization-token", "GET", path)).json()["data"]["attributes"][
        "sso-required"
    ] is True


async def test_the_way_back_ends_it_and_tokens_of_the_organization_do_not(tenant: Tenant) -> None:
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    for who in ("owners-token", "organization-token"):
        assert await require(tenant, tenant.tokens[who], False) == 403
    assert await require(tenant, tenant.tokens["owner"], False) == 404
    assert await require(tenant, await from_host(tenant, "owner", WAY_BACK), False) == 200
    assert (await tenant.call("writer", "GET", tenant.vars_path())).status_code == 200


async def test_it_is_recorded_with_what_it_is(tenant: Tenant) -> None:
    assert await require(tenant, await signed_in(tenant, "owner")) == 200
    events = f"/organizations/{tenant.organization}/audit-events"
    newest = (await tenant.call("organization-token", "GET", events)).json()["data"][0]
    said = newest["attributes"]
    assert said["action"] == "organization.update"
    assert said["changed"] == ["sso-required"]
    assert said["details"]["sso-required"] is True


async def test_no_organization_begins_with_it(tenant: Tenant) -> None:
    attributes = {"name": f"{tenant.organization}-2", "sso-required": True}
    document = {"data": {"type": "organizations", "attributes": attributes}}
    assert (await tenant.call("admin", "POST", "/organizations", document)).status_code == 403
    attributes["sso-required"] = False
    assert (await tenant.call("admin", "POST", "/organizations", document)).status_code == 201


async def test_a_site_admin_who_has_signed_in_creates_no_organization_and_is_told_so(
    tenant: Tenant,
) -> None:
    whole, signed = tenant.tokens["admin"], await signed_in(tenant, "admin")
    for token, may in ((whole, True), (signed, False)):
        told = (await tenant.call(None, "GET", "/account/details", headers=bearer(token))).json()
        permissions = told["data"]["attributes"]["permissions"]
        assert permissions["can-create-organizations"] is may
        attributes = {"name": f"made-{tenant.organization}", "email": "a@example.com"}
        document = {"data": {"type": "organizations", "attributes": attributes}}
        answer = await tenant.call(None, "POST", "/organizations", document, bearer(token))
        assert answer.status_code == (201 if may else 403), answer.text
