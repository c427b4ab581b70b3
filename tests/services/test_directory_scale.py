"""`directory apply` of large files: few statements, and nobody elsewhere waits for it."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest
from msgspec.structs import replace

from teamvars.changes import making
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    ProjectAccess,
    ProjectEntry,
    SetEntry,
    TagsEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.domain.memberships import InvitationDraft, Status
from teamvars.domain.project_grants import ProjectAccessType
from teamvars.domain.projects import DEFAULT_NAME
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import Visibility
from teamvars.domain.tokens import OwnerName
from teamvars.security import keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage import organizations, streams, tables, teams
from teamvars.storage.database import Body, Transaction
from teamvars.storage.engines.outages import is_held
from tests.services.calls import AS_WRITTEN, Calls, caller
from tests.support.commands import Host
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.observed_transaction import ObservedTransaction
from tests.support.patience import until
from tests.support.tenant import build_tenant


def large(people: int, organization: str = "") -> Directory:
    """A file of one organization with that many users, and a tenth as many teams, workspaces,
    projects and variable sets. Workspaces and projects have tags; each workspace is in a project,
    and has a set of that.
    """
    mark = uuid4().hex
    names = [f"u{n}-{mark}" for n in range(people)]
    spaces = tuple(f"w{n}" for n in range(people // 10))
    teams = [
        TeamEntry(
            f"t{n}",
            members=tuple(names[n * 10 : n * 10 + 10]),
            workspaces={w: AccessType.WRITE},
            projects={f"p{n}": ProjectAccess(ProjectAccessType.READ)},
        )
        for n, w in enumerate(spaces)
    ]
    if organization:
        teams.append(TeamEntry("crew", members=tuple(names[:1])))
    entry = OrganizationEntry(
        organization or f"large-{mark}",
        dict.fromkeys(names, Status.ACTIVE),
        spaces,
        tuple(teams),
        tags={name: TagsEntry(("eu",), {"region": "eu"}) for name in spaces},
        projects=tuple(ProjectEntry(f"p{n}", {"region": "eu"}) for n in range(len(spaces))),
        placed={name: f"p{n}" for n, name in enumerate(spaces)},
        variable_sets=tuple(
            SetEntry(
                f"s{n}",
                is_priority=n % 2 == 0,
                workspaces=(name,),
                project=f"p{n}",
                projects=(f"p{n}",),
            )
            for n, name in enumerate(spaces)
        ),
    )
    return Directory(tuple(UserEntry(name, f"{name}@example.com") for name in names), (entry,))


async def test_a_file_costs_as_many_statements_however_long_it_is(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, counted = calls.services.database, Counter[int]()
    write = database.write

    async def noting(body: Body[Any], **more: Any) -> Any:
        async def watched(tx: Transaction) -> Any:
            def note(*_: object) -> None:
                counted[number] += 1

            return await body(ObservedTransaction(tx, note))

        return await write(watched, **more)

    monkeypatch.setattr(database, "write", noting)
    monkeypatch.setattr(making, "ROWS_AT_ONCE", 10_000)  # between which others have their turn
    for number in (10, 300):
        directory = large(number)
        await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
        again = await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
        assert again.changes == ()
        (entry,) = directory.organizations
        tags = dict.fromkeys(entry.tags, TagsEntry(("us",)))
        placed = dict.fromkeys(entry.placed, DEFAULT_NAME)
        sets = [
            replace(one, description="d", workspaces=None, projects=())
            for one in entry.variable_sets
        ]
        after = replace(entry, tags=tags, placed=placed, variable_sets=tuple(sets))
        changed = replace(directory, organizations=(after,))
        told = await calls.services.directory.apply(operator(), changed, AS_WRITTEN)
        assert len(told.changes) == number // 10 * 5
    assert counted[10] == counted[300] < 120
    assert await calls.tenant.deployment.audit_holds()


async def test_a_file_that_waits_holds_up_nobody_of_another_organization(
    own_nodes: tuple[Deployment, Deployment],
) -> None:
    """It waits for a team it names. Invitations and tokens elsewhere need the system's stream."""
    deployment, node = own_nodes
    calls = Calls(await build_tenant(deployment), node)
    locked, done = asyncio.Event(), asyncio.Event()

    async def holding(tx: Transaction) -> None:
        await streams.lock(tx, [calls.tenant.teams["crew"]])
        locked.set()
        await done.wait()

    holder = asyncio.ensure_future(node.services.database.write(holding))
    await locked.wait()
    directory = large(20, calls.tenant.organization)
    applying = asyncio.ensure_future(
        deployment.services.directory.apply(operator(), directory, AS_WRITTEN)
    )
    await _until_somebody_waits(node.services.database.read)
    outsider, email = caller(calls.tenant, "outsider"), f"{uuid4().hex}@example.com"
    elsewhere = outsider, calls.tenant.other_organization, InvitationDraft(email)
    await node.services.invitations.invite(*elsewhere)
    (admin,) = calls.named("admin")
    await node.services.tokens.create(operator(), OwnerName(user=admin), None)
    assert not applying.done()
    done.set()
    await holder
    assert len((await applying).changes) > 40
    assert await deployment.audit_holds()


async def test_an_organization_that_is_renamed_while_a_file_waits_for_it_is_not_changed_by_it(
    own_nodes: tuple[Deployment, Deployment],
) -> None:
    deployment, node = own_nodes
    calls = Calls(await build_tenant(deployment), node)
    name, owner = calls.tenant.organization, calls.named("owner")
    locked, done = asyncio.Event(), asyncio.Event()

    async def renaming(tx: Transaction) -> None:
        found = await organizations.find_all(tx, [name])
        (seen,) = found.values()
        await streams.lock(tx, [seen.id])
        before = await organizations.get(tx, seen.id)
        after = replace(before, name=f"new-{name}")
        await tx.write_each(tables.updating(before, after).part)
        locked.set()
        await done.wait()

    holder = asyncio.ensure_future(node.services.database.write(renaming))
    await locked.wait()
    teams = (TeamEntry("owners", members=owner), TeamEntry("late"))
    entry = OrganizationEntry(name, dict.fromkeys(owner, Status.ACTIVE), teams=teams)
    directory = Directory((UserEntry(owner[0]),), (entry,))
    applying = asyncio.ensure_future(
        deployment.services.directory.apply(operator(), directory, AS_WRITTEN)
    )
    await _until_somebody_waits(node.services.database.read)
    done.set()
    await holder
    assert f"create organization {name}" in (await applying).changes
    path = f"/organizations/new-{name}/teams?q=late"
    assert (await calls.tenant.call("owner", "GET", path)).json()["data"] == []


async def test_a_team_that_is_changed_while_a_file_waits_for_it_becomes_what_the_file_says(
    own_nodes: tuple[Deployment, Deployment],
) -> None:
    deployment, node = own_nodes
    calls = Calls(await build_tenant(deployment), node)
    entry = TeamEntry("crew", visibility=Visibility.SECRET)
    await calls.apply(entry)
    locked, done = asyncio.Event(), asyncio.Event()

    async def showing(tx: Transaction) -> None:
        await streams.lock(tx, [calls.tenant.teams["crew"]])
        (before,) = await teams.find_by_ids(tx, [calls.tenant.teams["crew"]])
        after = replace(before, visibility=Visibility.ORGANIZATION)
        await tx.write_each(tables.updating(before, after).part)
        locked.set()
        await done.wait()

    holder = asyncio.ensure_future(deployment.services.database.write(showing))
    await locked.wait()
    file = entry, TeamEntry("late")  # one that changes nothing waits for nobody
    applying = asyncio.ensure_future(calls.apply(*file))
    await _until_somebody_waits(node.services.database.read)
    done.set()
    await holder
    told = ("update team {}/crew", "create team {}/late")
    assert await applying == tuple(one.format(calls.tenant.organization) for one in told)
    assert await calls.apply(*file) == ()


async def test_a_file_that_changes_nothing_or_is_at_fault_waits_for_nobody(own_url: str) -> None:
    async with (
        open_deployment(own_url) as deployment,
        open_deployment(own_url, keys=deployment.keys) as node,
    ):
        calls = Calls(await build_tenant(deployment))
        locked, done = asyncio.Event(), asyncio.Event()

        async def holding(tx: Transaction) -> None:
            found = await organizations.find_all(tx, [calls.tenant.organization])
            await streams.lock(tx, [one.id for one in found.values()])
            locked.set()
            await done.wait()

        holder = asyncio.ensure_future(node.services.database.write_in_turns(holding))
        await locked.wait()
        try:
            assert await calls.apply(TeamEntry("crew"), TeamEntry("owners")) == ()
            with pytest.raises(Refusal) as refused:
                await calls.apply(TeamEntry("crew", members=("nobody",)))
        finally:
            done.set()
            await holder
    assert "nobody is no member of" in refused.value.faults[0].detail


@pytest.mark.parametrize("is_done", [True, False])
async def test_whoever_waits_too_long_looks_whether_others_have_done_what_the_file_says(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    database = calls.services.database
    write, waited = database.write, list[str]()
    entry = TeamEntry("crew", visibility=Visibility.SECRET)

    async def in_vain(*_: Any, **__: Any) -> Any:
        waited.append("in vain")
        if is_done:
            with monkeypatch.context() as others:
                others.setattr(database, "write", write)
                assert len(await calls.apply(entry)) == 1
        raise storage_unavailable(apsw.BusyError())

    monkeypatch.setattr(database, "write", in_vain)
    if is_done:
        assert await calls.apply(entry) == ()
        assert len(waited) == 1
        return
    with pytest.raises(Refusal) as refused:
        await calls.apply(entry)
    assert is_held(refused.value.__cause__)
    assert len(waited) > 1


async def test_what_is_read_anew_is_told_once(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on PostgreSQL after a connection was lost."""
    database = calls.services.database
    read = database.read

    async def twice(body: Body[Any]) -> Any:
        async def again(tx: Transaction) -> Any:
            await body(tx)
            return await body(tx)

        return await read(again)

    monkeypatch.setattr(database, "read", twice)
    told = await calls.apply(TeamEntry("late"), options=Options(dry_run=True))
    assert told == (f"create team {calls.tenant.organization}/late",)


@pytest.mark.long
async def test_others_go_on_while_a_command_applies_1500_entries(
    own_url: str, tmp_path: Path
) -> None:
    """Prints how long each kind of caller waited, at most, before and meanwhile (`-s` shows it)."""
    keys = keyring.generate()
    keyring.save_new(keys, tmp_path / "keys.json")
    host = Host(tmp_path).having(database_url=own_url, keyring=tmp_path / "keys.json")
    (tmp_path / "large.yaml").write_text(_yaml(large(500)))
    async with open_deployment(own_url, keys=keys) as deployment:
        calls, ended = Calls(await build_tenant(deployment)), asyncio.Event()
        tenant = calls.tenant

        async def write() -> None:
            await calls.create(key=uuid4().hex)

        async def read() -> None:
            await calls.list(workspace="payments")

        async def invite() -> None:
            place = caller(tenant, "outsider"), tenant.other_organization
            draft = InvitationDraft(f"{uuid4().hex}@example.com")
            await calls.services.invitations.invite(*place, draft)

        quiet, loud = dict[str, float](), dict[str, float]()
        longest = quiet

        async def again_and_again(call: Callable[[], Awaitable[None]]) -> None:
            while not ended.is_set():
                began = time.monotonic()
                await call()
                took = time.monotonic() - began
                longest[call.__name__] = max(took, longest.get(call.__name__, 0.0))
                await asyncio.sleep(0.002)

        async def all_have_called() -> bool:
            return len(longest) == len(callers)

        callers = [asyncio.ensure_future(again_and_again(call)) for call in (write, read, invite)]
        await asyncio.sleep(2)
        await until(all_have_called)
        longest = loud
        done = await asyncio.to_thread(host.run, "directory", "apply", "large.yaml")
        await until(all_have_called)
        ended.set()
        await asyncio.gather(*callers)
        assert done.code == 0
        engine = own_url.partition(":")[0]
        told = [
            *(f"{name} {quiet[name]:.3f} s, then {loud[name]:.3f} s" for name in quiet),
            f"{len(done.out.splitlines())} changes; {done.err.splitlines()[-1]}",
        ]
        sys.stdout.write("".join(f"{engine}: {line}\n" for line in told))
        assert await deployment.audit_holds()


def _yaml(directory: Directory) -> str:
    """The file that says so; JSON is YAML."""
    (entry,) = directory.organizations
    teams = [
        {
            "name": team.name,
            "members": list(team.members or ()),
            **({"workspaces": dict.fromkeys(team.workspaces, "write")} if team.workspaces else {}),
        }
        for team in entry.teams
    ]
    organization = {
        "name": entry.name,
        "members": {name: status.value for name, status in entry.members.items()},
        "workspaces": list(entry.workspaces),
        "teams": teams,
    }
    people = [{"username": user.username, "email": user.email} for user in directory.users]
    return json.dumps({"users": people, "organizations": [organization]}, indent=1)


async def _until_somebody_waits(read: Any) -> None:
    async def waiting(tx: Transaction) -> Sequence[object]:
        return await tx.fetch(
            "SELECT 1 FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

    await until(lambda: read(waiting))
