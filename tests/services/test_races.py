"""Two nodes on one store: of those who want the same thing at once, one gets it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from teamvars.changes import answered, nouns
from teamvars.decisions.runners import RunnerView, RunnerWithId
from teamvars.decisions.variables import ToSet, ToWorkspace
from teamvars.domain.applies import ApplyDraft, ItemDraft
from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.memberships import Status
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.runners import RunnerDraft
from teamvars.domain.teams import TeamDraft
from teamvars.domain.variable_search import VariableSearch
from teamvars.domain.variable_sets import SetDraft
from teamvars.domain.variables import ANY_VERSION, VariableDraft, Versions
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.directory_files.files import Options
from tests.services.calls import Calls, caller, count, draft, once_it_is_looked_up
from tests.services.jobs import propose
from tests.storage.stores import words
from tests.support.deployment import operator
from tests.support.engines import ON_POSTGRES

CALLERS = 16


async def test_of_many_who_create_one_key_one_does(both_nodes: tuple[Calls, Calls]) -> None:
    outcomes = await asyncio.gather(
        *(both_nodes[n % 2].create(value=f"{n}") for n in range(CALLERS)), return_exceptions=True
    )
    assert sorted(words(*outcomes)) == ["done", *["key_taken"] * (CALLERS - 1)]
    winner = words(*outcomes).index("done")
    assert await both_nodes[0].list() == await both_nodes[1].list() == {"region": f"{winner}"}
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def test_of_many_who_update_one_version_one_does(both_nodes: tuple[Calls, Calls]) -> None:
    tenant = both_nodes[0].tenant
    for _ in range(3):
        before = await both_nodes[0].create(key="contended")
        place = ToWorkspace(tenant.workspaces["network"]), before.id
        wanted = Versions(frozenset({before.version_id}))
        outcomes = await asyncio.gather(
            *(
                both_nodes[n % 2].services.variables.update(
                    caller(tenant, "writer"), *place, VariableDraft(value=f"{n}"), wanted
                )
                for n in range(CALLERS)
            ),
            return_exceptions=True,
        )
        assert sorted(words(*outcomes)) == ["done", *["precondition_failed"] * (CALLERS - 1)]
        winner = words(*outcomes).index("done")
        assert await both_nodes[1].list() == {"contended": f"{winner}"}
        owner = caller(tenant, "owner")
        await both_nodes[0].services.variables.delete(owner, *place, ANY_VERSION)


@ON_POSTGRES
@pytest.mark.parametrize(
    ("verb", "said", "left"),
    [
        ("create", "done", {"there": "eu", "first": "eu", "second": "eu"}),
        ("update", "precondition_failed", {"there": "other"}),
        ("delete", "not_found", {}),
    ],
)
async def test_who_is_alone_goes_by_what_another_node_has_changed_since_the_look_up(
    both_nodes: tuple[Calls, Calls],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    said: str,
    left: dict[str, str],
) -> None:
    one, other = both_nodes
    before = await one.create(key="there")
    place = ToWorkspace(one.tenant.workspaces["network"]), before.id
    wanted = Versions(frozenset({before.version_id}))

    async def change(calls: Calls, key: str, value: str) -> None:
        variables, who = calls.services.variables, caller(calls.tenant, "writer")
        if verb == "create":
            await calls.create(key=key)
        elif verb == "update":
            await variables.update(who, *place, VariableDraft(value=value), wanted)
        else:
            await variables.delete(who, *place, ANY_VERSION)

    with once_it_is_looked_up(monkeypatch, lambda: change(other, "first", "other")):
        outcomes = await asyncio.gather(change(one, "second", "one"), return_exceptions=True)
    assert words(*outcomes) == [said]
    assert await one.list() == left
    assert await one.tenant.deployment.audit_holds()


@ON_POSTGRES
async def test_a_runner_that_somebody_changes_just_before_another_does_is_as_proposed(
    both_nodes: tuple[Calls, Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = both_nodes
    id_ = await propose(one.tenant)
    look_ups: Any = nouns.LOOK_UPS
    look_up = look_ups[RunnerWithId]

    def change(calls: Calls, **attributes: Any) -> Awaitable[RunnerView]:
        draft = RunnerDraft(**attributes)
        return calls.services.runners.update(caller(calls.tenant, "owner"), id_, draft)

    async def and_then(*asked: Any) -> Any:
        found = await answered(look_up, *asked)
        monkeypatch.setitem(look_ups, RunnerWithId, look_up)
        await change(other, max_ttl=300)
        return found

    monkeypatch.setitem(look_ups, RunnerWithId, and_then)
    runner = (await change(one, description="both")).runner
    assert (runner.version, runner.spec.max_ttl, runner.spec.description) == (3, 300, "both")
    assert await one.tenant.deployment.audit_holds()


async def test_what_is_created_while_its_workspace_is_renamed_is_found_under_the_last_name(
    both_nodes: tuple[Calls, Calls],
) -> None:
    tenant = both_nodes[0].tenant
    renamed = [
        both_nodes[n % 2].services.workspaces.update(
            caller(tenant, "owner"), tenant.workspaces["network"], WorkspaceDraft(name=f"n{n}")
        )
        for n in range(6)
    ]
    made = [both_nodes[n % 2].create(key=f"key-{n}") for n in range(CALLERS)]
    views = await asyncio.gather(*renamed, *made)
    assert len(views) == len(renamed) + CALLERS
    question = (
        "SELECT count(*) FROM variables JOIN workspaces ON workspaces.id = workspace_id "
        "WHERE workspace_name = name_folded AND workspaces.id = $1"
    )
    database = tenant.deployment.services.database
    assert await count(database, question, tenant.workspaces["network"]) == CALLERS
    found = await both_nodes[1].services.searches.variables(
        caller(tenant, "reader"), tenant.organization, VariableSearch(size=100), None
    )
    assert found is not None
    names = {one.owner.name for batch in found.batches for one in batch}
    assert len(names) == 1
    assert names <= {f"n{n}" for n in range(6)}


async def test_updates_of_one_variable_without_a_condition_all_happen_one_after_another(
    both_nodes: tuple[Calls, Calls],
) -> None:
    tenant = both_nodes[0].tenant
    variable = await both_nodes[0].create()
    place = ToWorkspace(tenant.workspaces["network"]), variable.id
    updated = await asyncio.gather(
        *(
            both_nodes[n % 2].services.variables.update(
                caller(tenant, "writer"), *place, VariableDraft(value="v" * n), ANY_VERSION
            )
            for n in range(CALLERS)
        )
    )
    assert len({one.variable.version_id for one in updated}) == CALLERS
    stream = tenant.workspaces["network"]
    database = tenant.deployment.services.database
    (value,) = (await both_nodes[0].list()).values()
    question = "SELECT value_bytes FROM streams WHERE id = $1"
    assert await count(database, question, stream) == len(value or "")
    question = "SELECT sequence FROM streams WHERE id = $1"
    assert await count(database, question, stream) == 1 + CALLERS
    assert await tenant.deployment.audit_holds()


async def test_two_owners_who_are_removed_at_once_do_not_both_go(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    database, owners = one.services.database, one.tenant.teams["owners"]
    both = TeamEntry("owners", members=one.named("owner", "plain"))
    for _ in range(5):
        await one.apply(both)
        outcomes = await asyncio.gather(
            one.change("remove", "owner", team="owners", who="organization-token"),
            other.change("remove", "plain", team="owners", who="organization-token"),
            return_exceptions=True,
        )
        assert sorted(words(*outcomes)) == ["done", "last_owner"]
        question = "SELECT count(*) FROM team_members WHERE team_id = $1"
        assert await count(database, question, owners) == 1


async def test_an_owner_is_not_removed_while_a_file_makes_the_other_one_invited(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    await one.change("add", "plain", team="owners")
    (plain,) = one.named("plain")
    outcomes = await asyncio.gather(
        one.change("remove", "owner", team="owners", who="organization-token"),
        other.apply(members={plain: Status.INVITED}),
        return_exceptions=True,
    )
    assert sorted(words(*outcomes)) == ["done", "last_owner"]


async def test_a_variable_is_never_left_in_a_workspace_that_is_deleted_meanwhile(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    tenant, (owner,) = one.tenant, one.named("owner")
    creating = [one.create(workspace="payments", key=f"key-{n}") for n in range(CALLERS)]
    deleting = other.apply(
        TeamEntry("owners"),
        members={owner: Status.ACTIVE},
        workspaces=("network",),
        options=Options(prune=True, delete_variables=True),
    )
    half = CALLERS // 2
    outcomes = await asyncio.gather(
        *creating[:half], deleting, *creating[half:], return_exceptions=True
    )
    found = words(*outcomes)
    assert found[half] == "done"
    assert set(found) <= {"done", "not_found"}
    workspace = tenant.workspaces["payments"]
    database = tenant.deployment.services.database
    for table, column in (("variables", "workspace_id"), ("streams", "id"), ("workspaces", "id")):
        question = f"SELECT count(*) FROM {table} WHERE {column} = $1"  # noqa: S608
        assert await count(database, question, workspace) == 0
    assert await tenant.deployment.audit_holds()


async def test_of_files_that_create_one_organization_at_once_one_creates_it(
    both_nodes: tuple[Calls, Calls],
) -> None:
    name, (owner,) = both_nodes[0].tenant.organization + "-new", both_nodes[0].named("owner")
    entry = OrganizationEntry(
        name, {owner: Status.ACTIVE}, ("network",), (TeamEntry("crew", members=(owner,)),)
    )
    users = (UserEntry(f"new-{name}"),)
    directory = Directory(users, (entry,))
    applied = await asyncio.gather(
        *(
            calls.services.directory.apply(operator(), directory, Options())
            for calls in (*both_nodes, *both_nodes)
        )
    )
    assert sorted(bool(one.changes) for one in applied) == [False, False, False, True]
    assert len({one.organizations[name].id for one in applied}) == 1
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def make_team(calls: Calls, number: int) -> object:
    owner, organization = caller(calls.tenant, "owner"), calls.tenant.organization
    return await calls.services.teams.create(owner, organization, TeamDraft(name=f"t{number}"))


async def make_workspace(calls: Calls, number: int) -> object:
    owner, organization = caller(calls.tenant, "owner"), calls.tenant.organization
    made = WorkspaceDraft(name=f"w{number}")
    return await calls.services.workspaces.create(owner, organization, made)


async def apply_one(calls: Calls, number: int) -> object:
    place = caller(calls.tenant, "writer"), ToWorkspace(calls.tenant.workspaces["network"])
    wanted = ApplyDraft([ItemDraft(draft(key=f"key-{number}"))])
    return await calls.services.applies.apply(*place, wanted, ANY_VERSION)


async def create_one(calls: Calls, number: int) -> object:
    return await calls.create("writer", key=f"key-{number}")


async def change_organization(calls: Calls, number: int) -> object:
    owner, organization = caller(calls.tenant, "owner"), calls.tenant.organization
    changed = OrganizationDraft(email=f"{number}@example.com")
    return await calls.services.organizations.update(owner, organization, changed)


@pytest.mark.parametrize(
    "change", [make_team, make_workspace, apply_one, create_one, change_organization]
)
async def test_many_who_change_different_things_in_one_place_at_once_all_do(
    both_nodes: tuple[Calls, Calls], change: Callable[[Calls, int], Awaitable[object]]
) -> None:
    asked = (change(both_nodes[number % 2], number) for number in range(CALLERS))
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert words(*outcomes) == ["done"] * CALLERS
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def test_what_many_apply_at_once_is_planned_by_what_those_before_have_made(
    both_nodes: tuple[Calls, Calls],
) -> None:
    place = ToWorkspace(both_nodes[0].tenant.workspaces["network"])

    async def apply(calls: Calls, number: int) -> object:
        wanted = ApplyDraft([ItemDraft(draft("shared", str(number)))])
        who = caller(calls.tenant, "writer")
        return await calls.services.applies.apply(who, place, wanted, ANY_VERSION)

    asked = (apply(both_nodes[number % 2], number) for number in range(CALLERS))
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert words(*outcomes) == ["done"] * CALLERS
    assert (await both_nodes[0].list()).keys() == {"shared"}
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def test_of_sets_that_become_global_at_once_one_has_the_key(
    both_nodes: tuple[Calls, Calls],
) -> None:
    tenant = both_nodes[0].tenant
    made = [await set_of(both_nodes[0], f"set-{n}") for n in range(CALLERS)]
    for to in made:
        await both_nodes[0].services.variables.create(caller(tenant, "owner"), to, draft("shared"))
    outcomes = await asyncio.gather(
        *(
            both_nodes[n % 2].services.variable_sets.update(
                caller(tenant, "owner"), to.owner_id, SetDraft(is_global=True)
            )
            for n, to in enumerate(made)
        ),
        return_exceptions=True,
    )
    assert sorted(words(*outcomes)) == ["done", *["key_taken"] * (CALLERS - 1)]
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def create_in(calls: Calls, to: ToSet) -> object:
    return await calls.services.variables.create(caller(calls.tenant, "owner"), to, draft("shared"))


async def apply_to(calls: Calls, to: ToSet) -> object:
    wanted = ApplyDraft([ItemDraft(draft("shared"))])
    return await calls.services.applies.apply(
        caller(calls.tenant, "owner"), to, wanted, ANY_VERSION
    )


@pytest.mark.parametrize("add", [create_in, apply_to])
async def test_of_variables_that_are_added_to_global_sets_at_once_one_has_the_key(
    both_nodes: tuple[Calls, Calls], add: Callable[[Calls, ToSet], Awaitable[object]]
) -> None:
    made = [await set_of(both_nodes[0], f"set-{n}", is_global=True) for n in range(CALLERS)]
    outcomes = await asyncio.gather(
        *(add(both_nodes[n % 2], to) for n, to in enumerate(made)), return_exceptions=True
    )
    assert sorted(words(*outcomes)) == ["done", *["key_taken"] * (CALLERS - 1)]
    assert await both_nodes[0].tenant.deployment.audit_holds()


async def set_of(calls: Calls, name: str, *, is_global: bool = False) -> ToSet:
    """A new set."""
    asked = calls.tenant.organization, SetDraft(name=name, is_global=is_global)
    made = await calls.services.variable_sets.create(caller(calls.tenant, "owner"), *asked)
    return ToSet(made.set.id)
