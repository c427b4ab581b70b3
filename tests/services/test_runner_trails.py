"""A runner has a history of its own: it is found by name, and ends with the runner or before it."""

import pytest

from teamvars import wiring
from teamvars.domain.audit import AuditQuery, OrganizationAuditQuery
from teamvars.domain.diagnosis import Severity
from teamvars.domain.runners import RunnerDraft
from teamvars.protocol.bundles import JobKey
from teamvars.security.sealing import Sealer
from teamvars.services.diagnosis import Diagnosis
from tests.services.altered_trails import execute
from tests.services.calls import Calls, caller, dump
from tests.services.jobs import Job, approve, propose

EXPIRING = ("runner_tokens", "used_assertions")


@pytest.fixture
async def runner_id(own_calls: Calls) -> str:
    """A runner that was handed the values of `network` once."""
    made = await propose(own_calls.tenant)
    await approve(own_calls.tenant, made)
    job = Job(own_calls.tenant, JobKey.generate())
    await job.deliver(await job.exchange())
    return made


async def actions_in(calls: Calls, query: AuditQuery) -> list[str]:
    """The actions that an operator finds, oldest first."""
    entries, _ = await calls.services.audit.find(100, query)
    return [entry.action for entry in entries][::-1]


async def losses(calls: Calls) -> list[str]:
    """What `doctor` says is lost of rows."""
    diagnosis = Diagnosis(calls.services.database, wiring.clock)
    findings = await diagnosis.of_losses(Sealer(calls.node.keys))
    return [one.text for one in findings if one.severity is Severity.PROBLEM]


async def test_an_operator_finds_what_a_runner_did_by_its_name(
    own_calls: Calls, runner_id: str
) -> None:
    whole = ["runner.create", "runner.approve", "variable.deliver"]
    path = f"{own_calls.tenant.organization}/ci"
    assert await actions_in(own_calls, AuditQuery(actor=path)) == ["variable.deliver"]
    assert await actions_in(own_calls, AuditQuery(subject=path)) == whole[:2]
    assert await actions_in(own_calls, AuditQuery(stream=runner_id)) == ["variable.deliver"]
    of_organization = await actions_in(
        own_calls, AuditQuery(organization=own_calls.tenant.organization)
    )
    assert [one for one in of_organization if one in whole] == whole


async def test_owners_are_told_the_names_of_runners(own_calls: Calls, runner_id: str) -> None:
    who, name = caller(own_calls.tenant, "owner"), own_calls.tenant.organization
    query = OrganizationAuditQuery(actor="ci")
    found = await own_calls.services.audit.of_organization(who, name, query, None)
    (entry,) = found.entries
    assert (entry.action, entry.stream_id) == ("variable.deliver", runner_id)
    assert (found.actors.of_actor(entry), found.actors.of_stream(entry)) == ("ci", "ci")


async def test_an_organization_ends_with_the_histories_of_its_runners(
    own_calls: Calls, runner_id: str
) -> None:
    owner, name = caller(own_calls.tenant, "owner"), own_calls.tenant.organization
    await own_calls.services.organizations.delete(owner, name, force=True)
    rows = await dump(own_calls.services.database)
    assert not rows["runners"]
    assert not rows["runner_tokens"]
    assert runner_id not in {row[0] for row in rows["streams"]}
    assert await own_calls.node.audit_holds()
    assert await losses(own_calls) == []


async def test_a_workspace_goes_that_a_runner_names_and_the_runner_stays_approved_for_the_others(
    own_calls: Calls,
) -> None:
    ids, owner = own_calls.tenant.workspaces, caller(own_calls.tenant, "owner")
    both = ids["network"], ids["payments"]
    await approve(own_calls.tenant, await propose(own_calls.tenant, workspace_ids=both))
    await own_calls.services.workspaces.delete(owner, ids["payments"], only_unlocked=False)
    job = Job(own_calls.tenant, JobKey.generate())
    await job.deliver(await job.exchange())
    assert await own_calls.node.audit_holds()


async def test_a_history_without_its_runner_is_a_loss(own_calls: Calls, runner_id: str) -> None:
    assert await losses(own_calls) == []
    await execute(own_calls.services.database, runner_id, "DELETE FROM runners WHERE id = $1")
    (lost,) = await losses(own_calls)
    assert runner_id in lost


async def test_a_receipt_that_was_touched_breaks_the_history_of_the_runner_alone(
    own_calls: Calls, runner_id: str
) -> None:
    touch = "UPDATE audit_entries SET details = '{}' WHERE stream_id = $1"
    await execute(own_calls.services.database, runner_id, touch)
    _, (found,) = await own_calls.services.audit.verify()
    assert found.stream_id == runner_id
    owner = caller(own_calls.tenant, "owner")
    await own_calls.services.runners.update(owner, runner_id, RunnerDraft(description="goes on"))


async def test_what_has_expired_of_jobs_is_forgotten_and_nothing_else(
    own_calls: Calls, runner_id: str
) -> None:
    services = own_calls.services

    async def left() -> tuple[int, int]:
        rows = await dump(services.database)
        return len(rows["runner_tokens"]), len(rows["used_assertions"])

    await services.deliveries.forget_expired()
    assert await left() == (1, 1)
    past = (f"UPDATE {one} SET expires_at = 1 WHERE $1 <> ''" for one in EXPIRING)  # noqa: S608 - a table
    await execute(services.database, runner_id, *past)
    await services.deliveries.forget_expired()
    assert await left() == (0, 0)
