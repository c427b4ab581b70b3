"""Owners approve what owners propose, where the operator lets them: over HTTP, on both engines."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from teamvars.decisions.users import Disabling
from teamvars.domain.errors import Refusal
from teamvars.domain.runners import ApprovalMode
from teamvars.storage.database import Database, Transaction
from tests.services.altered_trails import execute
from tests.services.jobs import DAY, Job
from tests.support.deployment import MANY_INVITATIONS, Deployment, open_deployment, operator
from tests.support.jobs import runner_document
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document

OPERATOR, OWNERS, OWNER = ApprovalMode
SECOND, THIRD = "writer", "reader"
"""Owners besides `owner`, for eight days."""


class Time:
    """How far the clock of a store is ahead, in µs."""

    ahead = 0

    def rules(self, database: Database) -> None:
        """The store has this time from now on."""
        real = database.now
        database.now = lambda: real() + self.ahead  # type: ignore[method-assign]


@dataclass
class Places:
    """Nodes of one store, one in each mode, and an organization that is eight days old."""

    tenant: Tenant
    nodes: Mapping[ApprovalMode, Deployment]

    def at(self, mode: ApprovalMode) -> Tenant:
        """The organization as a node in that mode has it."""
        return replace(self.tenant, deployment=self.nodes[mode])

    async def proposed(self, who: str = "owner") -> dict[str, Any]:
        """A runner of `network`."""
        path = f"/organizations/{self.tenant.organization}/runners"
        document = runner_document(self.tenant.workspaces["network"])
        answer = await self.tenant.call(who, "POST", path, document)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()["data"]
        return found

    async def changed(self, who: str, runner: Mapping[str, Any], **more: object) -> dict[str, Any]:
        """The version that somebody makes of it."""
        change = {"data": {"type": "runners", "attributes": more or {"max-ttl": 120}}}
        answer = await self.tenant.call(who, "PATCH", f"/runners/{runner['id']}", change)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["data"]
        return found

    async def ask(
        self, who: str, mode: ApprovalMode, runner: Mapping[str, Any], digest: str | None = None
    ) -> tuple[int, list[str]]:
        """Asks for an approval of what was proposed, or of another digest; the status, and what
        keeps them from it.
        """
        attributes = {"digest": digest or runner["attributes"]["digest"]}
        document = {"data": {"type": "runners", "attributes": attributes}}
        path = f"/runners/{runner['id']}/actions/approve"
        answer = await self.at(mode).call(who, "POST", path, document)
        errors = answer.json().get("errors", [])
        return answer.status_code, [one["detail"] for one in errors]

    async def shown(self, who: str, mode: ApprovalMode, runner: Mapping[str, Any]) -> Any:
        """What somebody sees of it."""
        answer = await self.at(mode).call(who, "GET", f"/runners/{runner['id']}")
        return answer.json()["data"]["attributes"]

    async def is_handed(self, mode: ApprovalMode, runner: Mapping[str, Any]) -> bool:
        """Whether a job of the runner is handed what is in `network`."""
        job = Job.new(self.at(mode))
        try:
            await job.deliver(await job.exchange(runner=runner["id"]))
        except Refusal:
            return False
        return True

    async def put(self, method: str, *people: str) -> None:
        """Has them put into the owners team, or out of it."""
        document = linkage_document(*(self.tenant.users[one] for one in people))
        answer = await self.tenant.call(
            "owner", method, self.tenant.linkage_path("owners"), document
        )
        assert answer.status_code == 204, answer.text


@pytest.fixture(scope="module")
async def nodes(
    modules_url: str,
) -> AsyncIterator[tuple[Mapping[ApprovalMode, Deployment], Time]]:
    """Nodes of one store, one in each mode, and the time of the first."""
    made: dict[ApprovalMode, Deployment] = {}
    time, keys = Time(), None
    async with AsyncExitStack() as opened:
        for mode in ApprovalMode:
            setup = msgspec.structs.replace(MANY_INVITATIONS, approval=mode)
            node = open_deployment(modules_url, keys=keys, setup=setup, watch=time.rules)
            made[mode] = await opened.enter_async_context(node)
            keys = made[mode].keys
        yield made, time


@pytest.fixture
async def places(nodes: tuple[Mapping[ApprovalMode, Deployment], Time]) -> Places:
    """An organization of a test's own."""
    deployments, time = nodes
    time.ahead = -8 * DAY
    made = Places(await build_tenant(deployments[OPERATOR]), deployments)
    secret = variable_document(key="password", value="hunter2", sensitive=True)
    await made.tenant.call("owner", "POST", made.tenant.vars_path(), secret)
    await made.put("POST", SECOND, THIRD)
    time.ahead = 0
    return made


async def test_a_second_owner_approves_and_the_trail_has_both(places: Places) -> None:
    runner = await places.proposed()
    assert not await places.is_handed(OWNERS, runner)
    assert not (await places.shown("owner", OWNERS, runner))["may-approve"]
    assert (await places.shown(SECOND, OWNERS, runner))["may-approve"]
    assert await places.ask(SECOND, OWNERS, runner) == (200, [])
    said = await places.shown(SECOND, OWNERS, runner)
    assert (said["status"], said["approved-version"], said["may-approve"]) == ("approved", 1, False)
    assert await places.is_handed(OWNERS, runner)
    assert await places.ask(THIRD, OWNERS, runner) == (200, [])
    path = f"/organizations/{places.tenant.organization}/audit-events"
    told = (await places.tenant.call("owner", "GET", path)).json()["data"]
    (entry,) = [one for one in told if one["attributes"]["action"] == "runner.approve"]
    assert entry["attributes"]["details"]["proposed-by"] == places.tenant.users["owner"]
    assert entry["attributes"]["actor"]["id"] == places.tenant.users[SECOND]


async def test_nobody_approves_what_they_have_proposed_themselves(places: Places) -> None:
    runner = await places.proposed()
    status, (told,) = await places.ask("owner", OWNERS, runner)
    assert (status, "Another owner" in told) == (403, True)
    # What the row says of it is no matter: the trail does.
    wrong = f"UPDATE runners SET proposed_by = '{places.tenant.users[THIRD]}' WHERE id = $1"  # noqa: S608
    await execute(places.nodes[OWNERS].services.database, runner["id"], wrong)
    assert (await places.ask("owner", OWNERS, runner))[0] == 403
    assert not await places.is_handed(OWNERS, runner)


async def test_who_changed_it_last_has_proposed_it(places: Places) -> None:
    runner = await places.proposed()
    assert (await places.ask(SECOND, OWNERS, runner))[0] == 200
    changed = await places.changed(SECOND, runner)
    assert (await places.ask(SECOND, OWNERS, changed))[0] == 403
    assert (await places.ask("owner", OWNERS, runner))[0] == 409
    assert (await places.ask("owner", OWNERS, changed))[0] == 200
    await places.tenant.call(SECOND, "POST", f"/runners/{runner['id']}/actions/revoke")
    assert (await places.ask("owner", OWNERS, changed))[0] == 200


@pytest.mark.parametrize(
    ("whose", "why"),
    [
        (SECOND, "You have proposed"),
        ("organization-token", "was not proposed by a user"),
        ("plain", "seven days"),
    ],
)
async def test_who_changes_one_thing_of_a_version_has_not_proposed_what_another_put_into_it(
    places: Places, whose: str, why: str
) -> None:
    """Else one stolen token makes a way out, once another owner prolongs the runner."""
    await places.put("POST", "plain")
    changed = await places.changed("owner", await places.proposed(whose))
    status, (told,) = await places.ask(SECOND, OWNERS, changed)
    assert (status, why in told) == (403, True)
    assert not await places.is_handed(OWNERS, changed)
    if whose == SECOND:  # of two who may each be one of the two, a third approves what they made
        assert (await places.ask(THIRD, OWNERS, changed))[0] == 200


HONEST, STOLEN = "owner", SECOND
WITH_IT = STOLEN, "organization-token", "owners-token"
"""What a thief has who has the token of an owner: such tokens they make."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(WITH_IT), st.sampled_from(["theirs", "job"])),
        st.tuples(st.sampled_from([HONEST, *WITH_IT]), st.sampled_from(["prolong", "revoke"])),
        st.tuples(st.sampled_from([HONEST, STOLEN]), st.just("approve")),
    ),
    min_size=4,
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.sampled_from([HONEST, *WITH_IT]), steps=STEPS)
async def test_no_sequence_of_steps_with_one_stolen_token_makes_a_way_out(
    places: Places, first: str, steps: list[tuple[str, str]]
) -> None:
    """Who is honest changes what they mean to, and approves only jobs of theirs."""
    runner = await places.proposed(first)
    path, jobs, lives = f"/runners/{runner['id']}", {1: "job"}, 900
    for who, step in steps:
        version = runner["attributes"]["version"]
        if step == "approve":
            if who == STOLEN or jobs[version] == "job":
                await places.ask(who, OWNERS, runner)
        elif step == "revoke":
            await places.tenant.call(who, "POST", f"{path}/actions/revoke")
        elif step == "prolong":
            lives += 1
            runner = await places.changed(who, runner, **{"max-ttl": lives})
            jobs[version + 1] = jobs[version]
        else:
            runner = await places.changed(who, runner, conditions={"sub": step})
            jobs[runner["attributes"]["version"]] = step
        approved = (await places.shown(HONEST, OWNERS, runner))["approved-version"]
        assert approved is None or jobs[approved] == "job", (first, steps)
    assert (await places.tenant.call(HONEST, "DELETE", path)).status_code == 204


async def test_what_was_changed_back_is_no_part_of_the_next_version(places: Places) -> None:
    runner = await places.proposed()
    assert (await places.ask(SECOND, OWNERS, runner))[0] == 200
    await places.changed("owner", runner)
    changed = await places.changed(SECOND, runner, **{"max-ttl": 180})
    assert (await places.ask("owner", OWNERS, changed))[0] == 403
    await places.changed(SECOND, runner, **{"max-ttl": runner["attributes"]["max-ttl"]})
    changed = await places.changed(SECOND, runner)
    assert (await places.ask("owner", OWNERS, changed))[0] == 200


@pytest.mark.parametrize("token", ["owners-token", "organization-token"])
@pytest.mark.parametrize("mode", [OWNERS, OWNER])
async def test_only_people_approve(places: Places, token: str, mode: ApprovalMode) -> None:
    status, (told,) = await places.ask(token, mode, await places.proposed())
    assert (status, "A user approves" in told) == (403, True)
    of_a_token = await places.proposed(token)
    assert (await places.ask(SECOND, OWNERS, of_a_token))[0] == 403


async def test_an_owner_of_less_than_a_week_neither_approves_nor_is_approved(
    places: Places,
) -> None:
    runner = await places.proposed()
    await places.put("DELETE", SECOND)
    assert (await places.ask(SECOND, OWNERS, runner))[0] == 404
    await places.put("POST", SECOND, "plain")
    for newcomer in (SECOND, "plain"):
        status, (told,) = await places.ask(newcomer, OWNERS, runner)
        assert (status, "seven days" in told) == (403, True)
    status, (told,) = await places.ask(THIRD, OWNERS, await places.proposed("plain"))
    assert (status, "seven days" in told) == (403, True)
    assert await places.ask(THIRD, OWNERS, runner) == (200, [])


async def test_who_was_disabled_meanwhile_begins_anew(places: Places) -> None:
    runner, accounts = await places.proposed(), places.nodes[OWNERS].services.accounts
    await accounts.disable(operator(), places.tenant.users[SECOND], Disabling())
    await accounts.enable(operator(), places.tenant.users[SECOND])
    assert (await places.ask(SECOND, OWNERS, runner))[0] == 403
    assert (await places.ask(THIRD, OWNERS, runner))[0] == 200


async def test_whoever_proposed_it_is_an_owner_still(places: Places) -> None:
    runner = await places.proposed(SECOND)
    await places.put("DELETE", SECOND)
    assert (await places.ask("owner", OWNERS, runner))[0] == 403


async def test_an_altered_entry_says_nothing_about_an_owner(places: Places) -> None:
    runner = await places.proposed()
    await places.put("DELETE", SECOND)
    await places.put("POST", SECOND)
    back = "UPDATE audit_entries SET at = at - 691200000000 WHERE stream_id = $1"
    await execute(places.nodes[OWNERS].services.database, places.tenant.teams["owners"], back)
    status, (told,) = await places.ask(SECOND, OWNERS, runner)
    assert (status, "altered outside of the service" in told) == (403, True)
    assert not await places.is_handed(OWNERS, runner)


async def test_an_altered_entry_about_a_runner_leaves_its_approval_to_the_operator(
    places: Places,
) -> None:
    runner = await places.changed("owner", await places.proposed(SECOND))
    wrong = """UPDATE audit_entries SET at = at - 1
        WHERE subject_id = $1 AND action = 'runner.create'"""
    await execute(places.nodes[OWNERS].services.database, runner["id"], wrong)
    with capture_logs() as lines:
        status, (told,) = await places.ask(SECOND, OWNERS, runner)
    assert (status, "teamvars approvals list" in told) == (403, True)
    assert "the audit trail was altered" in [line["event"] for line in lines]
    approvals = places.nodes[OPERATOR].services.approvals
    await approvals.approve(operator(), runner["id"], runner["attributes"]["digest"])
    assert await places.is_handed(OWNERS, runner)


@pytest.mark.parametrize("mode", list(ApprovalMode))
async def test_nothing_is_approved_that_was_put_into_the_row_after_it_was_proposed(
    places: Places, mode: ApprovalMode
) -> None:
    runner, database = await places.proposed(), places.nodes[mode].services.database
    body, after = await altered(database, runner["id"])
    digest = (await places.shown(SECOND, mode, runner))["digest"]
    assert digest != runner["attributes"]["digest"]
    approvals = places.nodes[OPERATOR].services.approvals
    if mode is OPERATOR:
        with pytest.raises(Refusal, match="other_digest"):
            await approvals.approve(operator(), runner["id"], digest)
    else:
        status, (told,) = await places.ask(SECOND, mode, runner, digest)
        assert (status, "is not what was proposed" in told) == (409, True)
    # Nor by an honest change of something else, which would propose the rest as well.
    path, change = f"/runners/{runner['id']}", {"type": "runners", "attributes": {"max-ttl": 120}}
    answer = await places.at(mode).call("owner", "PATCH", path, {"data": change})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "other_digest")
    assert answer.json()["errors"][0]["detail"].startswith("Version 1 of")
    # What cannot be read lacks all there is, which nobody is told to add first.
    await execute(database, runner["id"], "UPDATE runners SET body = '{' WHERE id = $1")
    its = linkage_document(places.tenant.workspaces["network"], type_="workspaces")
    for method, more, said in (
        ("PATCH", "", {"data": change}),
        ("DELETE", "/relationships/workspaces", its),
    ):
        answer = await places.at(mode).call("owner", method, f"{path}{more}", said)
        assert [one["code"] for one in answer.json()["errors"]] == ["other_digest"]
    await execute(database, runner["id"], f"UPDATE runners SET body = '{body}' WHERE id = $1")  # noqa: S608
    await approvals.approve(operator(), runner["id"], runner["attributes"]["digest"])
    # What was altered behind the approval is not what was approved, and a read says so.
    assert (await places.shown(SECOND, mode, runner))["status"] == "approved"
    await execute(database, runner["id"], f"UPDATE runners SET body = '{after}' WHERE id = $1")  # noqa: S608
    assert (await places.shown(SECOND, mode, runner))["status"] == "changed"
    assert (await places.tenant.call("owner", "DELETE", path)).status_code == 204


async def altered(database: Database, runner_id: str) -> tuple[str, str]:
    """Has the row mean a job of somebody else's; what it said, and what it says."""

    async def body(tx: Transaction) -> tuple[str, str]:
        (before,) = await tx.column("SELECT body FROM runners WHERE id = $1", runner_id)
        after = before.replace('"job"', '"theirs"')
        await tx.execute("UPDATE runners SET body = $2 WHERE id = $1", runner_id, after)
        return before, after

    return await database.write(body)


async def test_one_owner_approves_where_one_is_enough(places: Places) -> None:
    runner = await places.proposed()
    assert (await places.shown("owner", OWNER, runner))["may-approve"]
    assert await places.ask("owner", OWNER, runner) == (200, [])
    assert await places.is_handed(OWNER, runner)
    # It was made by a rule that is no rule any more once the operator is stricter.
    for stricter in (OWNERS, OPERATOR):
        assert not await places.is_handed(stricter, runner)
        assert (await places.shown("owner", stricter, runner))["status"] == "proposed"
    assert await places.ask(SECOND, OWNERS, runner) == (200, [])
    assert await places.is_handed(OWNER, runner)
    assert not await places.is_handed(OPERATOR, runner)
    approvals = places.nodes[OPERATOR].services.approvals
    await approvals.approve(operator(), runner["id"], runner["attributes"]["digest"])
    for mode in ApprovalMode:
        assert await places.is_handed(mode, runner)


async def test_a_weaker_mode_in_the_row_makes_no_approval_of_it(places: Places) -> None:
    runner = await places.proposed()
    await places.ask("owner", OWNER, runner)
    wrong = "UPDATE runners SET approved_mode = 'operator' WHERE id = $1"
    await execute(places.nodes[OWNER].services.database, runner["id"], wrong)
    for mode in ApprovalMode:
        assert not await places.is_handed(mode, runner)


async def test_where_the_operator_approves_owners_are_told_how(places: Places) -> None:
    runner = await places.proposed()
    status, (told,) = await places.ask(SECOND, OPERATOR, runner)
    assert (status, f"teamvars approvals approve {runner['id']}@DIGEST" in told) == (403, True)
    assert not (await places.shown(SECOND, OPERATOR, runner))["may-approve"]


@pytest.mark.parametrize("mode", list(ApprovalMode))
async def test_every_owner_takes_an_approval_back(places: Places, mode: ApprovalMode) -> None:
    runner, path = await places.proposed(), "/runners/{}/actions/revoke"
    approvals = places.nodes[OPERATOR].services.approvals
    await approvals.approve(operator(), runner["id"], runner["attributes"]["digest"])
    assert await places.is_handed(mode, runner)
    where = path.format(runner["id"])
    assert (await places.at(mode).call("plain", "POST", where)).status_code == 404
    answer = await places.at(mode).call(THIRD, "POST", where)
    assert answer.json()["data"]["attributes"]["status"] == "proposed"
    assert not await places.is_handed(mode, runner)


async def test_nothing_is_approved_but_what_was_looked_at(places: Places) -> None:
    runner = await places.proposed()
    assert (await places.ask(SECOND, OWNERS, runner, "0" * 64))[0] == 409
    for wrong in ("0", "z" * 64, "0" * 65):
        assert (await places.ask(SECOND, OWNERS, runner, wrong))[0] == 422
    for document in (
        {},
        {"data": {"type": "runners"}},
        {"data": {"type": "vars", "attributes": {}}},
    ):
        path = f"/runners/{runner['id']}/actions/approve"
        answer = await places.at(OWNERS).call(SECOND, "POST", path, document)
        assert answer.status_code in (409, 422), answer.text
    assert not await places.is_handed(OWNERS, runner)
