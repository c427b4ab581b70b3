"""A directory file proposes runners: what it says is exact, and nobody has approved it."""

import random
import time
from functools import partial
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from teamvars.cli.operator.directory_file import document, read
from teamvars.domain.directory import Directory, OrganizationEntry, RunnerEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.runners import MAX_RUNNERS
from teamvars.protocol.bundles import JobKey
from teamvars.services.directory_files.files import Options
from tests.services.altered_trails import execute
from tests.services.calls import AS_WRITTEN, Calls, caller
from tests.services.jobs import Job, approve
from tests.support.deployment import operator
from tests.support.jobs import ISSUER

DAY = 24 * 3600 * 1_000_000
ENDS = time.time_ns() // 1000 + 30 * DAY


def entry(name: str = "ci", **more: object) -> RunnerEntry:
    """A runner of the tests' issuer."""
    said = {"issuer": ISSUER, "conditions": {"sub": "job"}, "workspaces": ("network",)}
    return RunnerEntry(name, **{**said, "expired_at": ENDS, **more})  # type: ignore[arg-type]


async def apply(
    calls: Calls, *runners: RunnerEntry, options: Options = AS_WRITTEN, **more: object
) -> tuple[str, ...]:
    """Applies a file with these runners; returns the changes."""
    return await calls.apply(runners=runners, options=options, **more)


async def exported(calls: Calls) -> OrganizationEntry:
    """The organization as a file."""
    found = await calls.services.directory.export([calls.tenant.organization])
    return found.directory.organizations[0]


async def test_a_file_proposes_and_what_it_proposed_is_handed_out_once_it_is_approved(
    own_calls: Calls,
) -> None:
    name = own_calls.tenant.organization
    assert await apply(own_calls, entry()) == (f"propose runner {name}/ci",)
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    job = Job(own_calls.tenant, JobKey.generate())
    with pytest.raises(Refusal, match="invalid_target"):
        await job.exchange()
    await approve(own_calls.tenant, proposal.view.runner.id)
    await job.deliver(await job.exchange())
    assert await own_calls.node.audit_holds()


async def test_the_same_file_again_changes_nothing_and_another_is_another_version(
    own_calls: Calls,
) -> None:
    name = own_calls.tenant.organization
    await apply(own_calls, entry())
    assert await apply(own_calls, entry()) == ()
    changed = await apply(own_calls, entry(workspaces=("network", "payments")))
    assert changed == (f"propose version 2 of runner {name}/ci",)
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    ids = own_calls.tenant.workspaces
    assert proposal.view.runner.spec.workspace_ids == (ids["network"], ids["payments"])
    assert await own_calls.node.audit_holds()


@pytest.mark.parametrize("what", ["replace(body, '\"job\"', '\"theirs\"')", "'{{'"])
async def test_a_file_proposes_nothing_of_a_version_that_was_altered_since_it_was_proposed(
    own_calls: Calls, what: str
) -> None:
    await apply(own_calls, entry())
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    wrong = f"UPDATE runners SET body = {what} WHERE id = $1"  # noqa: S608
    await execute(own_calls.services.database, proposal.view.runner.id, wrong)
    for dry_run in (True, False):
        with pytest.raises(Refusal, match="other_digest"):
            await apply(own_calls, entry(max_ttl=300), options=Options(dry_run=dry_run))


async def test_what_a_file_does_not_say_of_a_runner_stays(own_calls: Calls) -> None:
    await apply(own_calls, entry(description="of the pipeline", max_ttl=300))
    assert await apply(own_calls, RunnerEntry("ci")) == ()
    assert len(await apply(own_calls, RunnerEntry("CI", allow_unbound=True))) == 1
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    spec = proposal.view.runner.spec
    assert (spec.name, spec.description, spec.max_ttl) == ("ci", "of the pipeline", 300)
    assert spec.allow_unbound


async def test_pruning_removes_the_runners_that_the_file_does_not_name_with_their_history(
    own_calls: Calls,
) -> None:
    await apply(own_calls, entry(), entry("other"))
    whole = await exported(own_calls)
    prune = Options(prune=True)
    only = Directory(organizations=(replace(whole, runners=whole.runners[:1]),))
    done = await own_calls.services.directory.apply(operator(), only, prune)
    assert done.changes == (f"delete runner {own_calls.tenant.organization}/other",)
    assert await own_calls.node.audit_holds()


async def test_what_is_exported_changes_nothing_also_where_a_workspace_is_gone(
    own_calls: Calls,
) -> None:
    patterns = ("prod-*", "pay*")
    both = ("payments", "network")
    await apply(own_calls, entry(workspaces=both, patterns=patterns, include_sensitive=False))
    await apply(
        own_calls, RunnerEntry("host", public_key="A" * 43, patterns=("n*",), expired_at=ENDS)
    )
    owner, gone = caller(own_calls.tenant, "owner"), own_calls.tenant.workspaces["payments"]
    await own_calls.services.workspaces.delete(owner, gone, only_unlocked=False)
    found = await own_calls.services.directory.export([own_calls.tenant.organization])
    options = Options(dry_run=True, prune=True, delete_variables=True)
    again = await own_calls.services.directory.apply(operator(), found.directory, options)
    assert again.changes == ()
    assert [one.name for one in found.directory.organizations[0].runners] == ["ci", "host"]


_TEXTS = (
    "null",
    "true",
    "007",
    "1e3",
    "~",
    "a: b",
    "- x",
    "# no",
    "'\"",
    "é ☃",
    "{}",
    " ",
    "2026-01-01",
)
"""What YAML could take for something else."""


def some(chance: random.Random, number: int) -> RunnerEntry:
    """A runner that says whatever may be said."""
    text = partial(chance.choice, _TEXTS)
    patterns = tuple(chance.sample(("prod-*", "007", "n*", "1_0"), chance.randrange(3)))
    proof: dict[str, object] = {"issuer": None, "conditions": None, "public_key": "A" * 43}
    if chance.random() < 0.7:
        proof = {"conditions": {"sub": text(), text().strip() or "x": text(), "ref": "heads/*"}}
    maybe = {
        "description": text(),
        "include_sensitive": chance.random() < 0.5,
        "allow_unbound": chance.random() < 0.5,
        "max_ttl": chance.randint(60, 3600),
        "workspaces": tuple(chance.sample(("network", "payments"), chance.randint(1, 2))),
    }
    said = {name: each for name, each in maybe.items() if chance.random() < 0.7}
    ends = ENDS + chance.randrange(DAY)
    return entry(f"r-{number}", patterns=patterns, expired_at=ends, **proof, **said)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_runners_there_are_their_export_changes_nothing_as_a_file(
    own_calls: Calls, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    runners = [some(chance, number) for number in range(MAX_RUNNERS)]
    assert len(await apply(own_calls, *runners)) == MAX_RUNNERS
    found = await own_calls.services.directory.export([own_calls.tenant.organization])
    written = yaml.safe_dump(document(found.directory), allow_unicode=True, sort_keys=False)
    (file := tmp_path / "directory.yaml").write_text(written)
    whole = Options(dry_run=True, prune=True, delete_variables=True)
    again = await own_calls.services.directory.apply(operator(), read(file), whole)
    assert again.changes == ()


async def test_a_dry_run_proposes_nothing(own_calls: Calls) -> None:
    assert len(await apply(own_calls, entry(), options=Options(dry_run=True))) == 1
    assert await own_calls.services.approvals.proposals(operator()) == []


async def test_every_fault_of_a_runner_is_told_where_it_stands(own_calls: Calls) -> None:
    at = {"conditions": "f:4", "max-ttl": "f:5", "expired-at": "f:6", "patterns": "f:7"}
    faulty = entry(
        conditions={},
        workspaces=("nowhere",),
        patterns=("*",),
        max_ttl=1,
        expired_at=1,
        at="f:1",
        key_at=at,
        workspace_at={"nowhere": "f:8"},
    )
    with pytest.raises(Refusal) as refused:
        await apply(own_calls, faulty)
    places = sorted(fault.detail.partition(": ")[0] for fault in refused.value.faults)
    assert places == ["f:4", "f:5", "f:6", "f:7", "f:8"]
    assert await own_calls.services.approvals.proposals(operator()) == []


async def test_a_runner_of_a_new_organization_reaches_what_is_made_with_it(
    own_calls: Calls,
) -> None:
    made = OrganizationEntry(
        "fresh", workspaces=("prod-a",), runners=(entry(workspaces=("prod-a",)),)
    )
    applied = await own_calls.services.directory.apply(
        operator(), Directory(organizations=(made,)), AS_WRITTEN
    )
    assert applied.proposed == ("fresh/ci",)
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    assert proposal.reach == ["prod-a"]
    assert await own_calls.node.audit_holds()


async def test_applying_a_file_tells_the_ids_of_its_runners(own_calls: Calls) -> None:
    found = await exported(own_calls)
    file = Directory((), (replace(found, runners=(entry("ci"), entry("Nightly"))),))
    for _ in range(2):
        applied = await own_calls.services.directory.apply(operator(), file, AS_WRITTEN)
        told = applied.organizations[own_calls.tenant.organization].runners
        proposals = await own_calls.services.approvals.proposals(operator())
        there = [one.view.runner for one in proposals]
        assert told == {one.spec.name: one.id for one in there}
        assert told.keys() == {"ci", "Nightly"}
