"""Projects in a directory file: their names, the workspaces in them, and who has access."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    ProjectAccess,
    ProjectEntry,
    TagsEntry,
    TeamEntry,
)
from teamvars.domain.errors import Code, Refusal
from teamvars.domain.names import Origin
from teamvars.domain.project_grants import SETS, ProjectAccessType
from teamvars.domain.projects import DEFAULT_NAME, ProjectDraft
from teamvars.domain.tags import MAX_TAGS
from teamvars.services.directory_files.files import Options
from tests.services.calls import AS_WRITTEN, Calls, caller, dump
from tests.support.deployment import operator

READ, WRITE = ProjectAccess(ProjectAccessType.READ), ProjectAccess(ProjectAccessType.WRITE)
SPACES = ("network", "payments")
TEAMS = ("owners", "readers", "writers", "crew")
PRUNING = Options(prune=True, delete_variables=True)


async def apply(
    calls: Calls,
    *projects: ProjectEntry,
    teams: Sequence[TeamEntry] = (),
    options: Options = AS_WRITTEN,
    **entry: Any,
) -> tuple[str, ...]:
    """Applies a file with these projects, of which a dry run tells the same; returns the changes
    without the organization's name.
    """
    entry = {"workspaces": SPACES, **entry, "projects": projects}
    dry = await calls.apply(*teams, options=replace(options, dry_run=True), **entry)
    assert await calls.apply(*teams, options=options, **entry) == dry
    assert await calls.node.audit_holds()
    return tuple(line.replace(f"{calls.tenant.organization}/", "") for line in dry)


async def refused(calls: Calls, *projects: ProjectEntry, **entry: Any) -> list[str]:
    """What is wrong with the file, which changes nothing."""
    before = await dump(calls.services.database)
    with pytest.raises(Refusal) as raised:
        await apply(calls, *projects, **entry)
    assert await dump(calls.services.database) == before
    return [fault.detail for fault in raised.value.faults]


async def exported(calls: Calls) -> OrganizationEntry:
    """The organization as a file, whose application changes nothing."""
    found = await calls.services.directory.export([calls.tenant.organization])
    again = await calls.services.directory.apply(operator(), found.directory, PRUNING)
    assert again.changes == ()
    return found.directory.organizations[0]


async def projects_of(calls: Calls) -> Mapping[str, Any]:
    """The projects as the owner sees them, by name."""
    where = f"/organizations/{calls.tenant.organization}/projects"
    answer = await calls.tenant.call("owner", "GET", where)
    return {one["attributes"]["name"]: one for one in answer.json()["data"]}


async def events(calls: Calls, where: str) -> list[tuple[str, Any]]:
    """The newest events first."""
    answer = await calls.tenant.call("owner", "GET", f"{where}/audit-events")
    said = [one["attributes"] for one in answer.json()["data"]]
    return [(one["action"], one["details"]) for one in said]


async def test_a_file_makes_projects_and_puts_workspaces_there_and_a_second_time_nothing(
    own_calls: Calls,
) -> None:
    shop = ProjectEntry("shop", {"region": "eu"})
    more: dict[str, Any] = {
        "workspaces": (*SPACES, "made"),
        "placed": {"network": "SHOP", "made": "shop"},
        "tags": {"network": TagsEntry(("live",))},
        "teams": (TeamEntry("crew", projects={"shop": WRITE}),),
    }
    assert await apply(own_calls, shop, **more) == (
        "create project shop",
        "change the tags of workspace network",
        "move workspace network to project shop",
        "create workspace made",
        "grant crew write on project shop",
    )
    assert await apply(own_calls, shop, **more) == ()
    found = (await projects_of(own_calls))["shop"]
    assert found["attributes"]["workspace-count"] == 2
    network = own_calls.tenant.workspaces["network"]
    await own_calls.change("add", "plain")
    shown = await own_calls.tenant.call("plain", "GET", f"/workspaces/{network}")
    assert shown.json()["data"]["relationships"]["project"]["data"]["id"] == found["id"]
    assert shown.json()["data"]["attributes"]["tag-names"] == ["live"]
    moves = await events(own_calls, f"/workspaces/{network}")
    assert ("workspace.move", found["id"]) in [(one, said.get("project")) for one, said in moves]
    entry = await exported(own_calls)
    assert entry.projects == (shop,)
    assert entry.placed == {"network": "shop", "made": "shop"}
    access = {team.name: team.projects for team in entry.teams}
    assert (access["owners"], access["readers"], access["crew"]) == (None, {}, {"shop": WRITE})


async def test_access_to_projects_is_exact_where_the_file_names_it(own_calls: Calls) -> None:
    await apply(own_calls, ProjectEntry("shop"), placed={"payments": "shop"})
    await own_calls.change("add", "plain")
    where = own_calls.tenant.vars_path("payments")
    assert (await own_calls.tenant.call("plain", "GET", where)).status_code == 404
    accesses: tuple[tuple[Mapping[str, ProjectAccess], set[str]], ...] = (
        ({"shop": READ, DEFAULT_NAME: WRITE}, {"grant crew read on project shop"}),
        ({"SHOP": WRITE}, {"grant crew write on project shop"}),
        ({}, {"revoke the grant of crew on project shop"}),
    )
    for said, told in accesses:
        team = TeamEntry("crew", projects=said)
        assert told <= set(await apply(own_calls, teams=(team,)))
        assert await apply(own_calls, teams=(team, TeamEntry("readers"))) == ()
        seen = await own_calls.tenant.call("plain", "GET", where)
        assert seen.is_success == bool(said)


async def test_a_file_has_words_for_every_access_to_a_project(own_calls: Calls) -> None:
    tenant = own_calls.tenant
    custom = ProjectAccess(ProjectAccessType.CUSTOM, Level.READ, {SETS: "write"})
    other = replace(custom, custom={SETS: "read"})
    words = (ProjectAccessType.MAINTAIN, ProjectAccessType.ADMIN)
    for said in (*map(ProjectAccess, words), custom, other, READ):
        team = TeamEntry("crew", projects={DEFAULT_NAME: said})
        told = (f"grant crew {said.access} on project {DEFAULT_NAME}",)
        assert await apply(own_calls, teams=(team,)) == told
        assert await apply(own_calls, teams=(team,)) == ()
        (crew,) = [one for one in (await exported(own_calls)).teams if one.name == "crew"]
        assert crew.projects == {DEFAULT_NAME: said}
    shown = await tenant.call(
        "owner", "GET", f"/team-projects?filter[project][id]={tenant.project}"
    )
    (one,) = shown.json()["data"]
    assert one["attributes"]["access"] == "read"
    assert one["attributes"]["project-access"]["variable-sets"] == "none"


async def test_projects_are_renamed_and_tagged_on_purpose_and_a_second_time_nothing(
    own_calls: Calls,
) -> None:
    await apply(own_calls, ProjectEntry("shop", {"a": "1"}), placed={"network": "shop"})
    store = ProjectEntry("store", {"b": "2"}, origin=Origin("shop"))
    main = ProjectEntry("main", origin=Origin(DEFAULT_NAME))
    more: dict[str, Any] = {"placed": {"network": "main", "payments": "store"}}
    assert await apply(own_calls, store, main, **more) == (
        "rename project shop to store",
        f"rename project {DEFAULT_NAME} to main",
        "change the tags of project store",
        "move workspace network to project main",
        "move workspace payments to project store",
    )
    assert await apply(own_calls, store, main, **more) == ()
    entry = await exported(own_calls)
    assert entry.projects == (main, ProjectEntry("store", {"b": "2"}))
    assert entry.placed == {"payments": "store"}
    assert set(await projects_of(own_calls)) == {"main", "store"}


async def test_what_was_renamed_over_http_is_not_made_again(own_calls: Calls) -> None:
    await apply(own_calls, ProjectEntry("shop"))
    tenant, shop = own_calls.tenant, (await projects_of(own_calls))["shop"]["id"]
    draft = ProjectDraft(name="store")
    await own_calls.services.projects.update(caller(tenant, "owner"), shop, draft)
    old, place = ProjectEntry("shop", at="f:3"), f"{tenant.organization}/"
    (told,) = await refused(own_calls, old)
    assert told == (
        f"f:3: Project {place}shop is called store now: write that name. To rename it, add "
        "'former-name: store'; to make another one, add 'new: true'."
    )
    team = TeamEntry("crew", projects={"shop": READ}, project_at={"shop": "f:9"})
    at = {"network": "f:5"}
    assert await refused(own_calls, placed={"network": "shop"}, workspace_at=at, teams=(team,)) == [
        f"f:5: Workspace {place}network: there is no project shop. It is called store now.",
        f"f:9: Team {place}crew: there is no project {place}shop. It is called store now.",
    ]
    assert await apply(own_calls, replace(old, origin=Origin(new=True))) == ("create project shop",)


async def test_pruning_removes_other_projects_and_refuses_those_that_workspaces_stay_in(
    own_calls: Calls,
) -> None:
    shop, members = ProjectEntry("shop"), (await exported(own_calls)).members
    more: dict[str, Any] = {"teams": tuple(map(TeamEntry, TEAMS)), "members": members}
    await apply(own_calls, shop, ProjectEntry("idle"), placed={"network": "shop"})
    assert await apply(own_calls) == ()
    (told,) = await refused(own_calls, options=PRUNING, at="f:1", **more)
    assert told.startswith(f"f:1: Project {own_calls.tenant.organization}/shop is not in the file")
    assert "Workspaces that are in it: 1." in told
    placed = {"network": DEFAULT_NAME}
    told_all = await apply(own_calls, options=PRUNING, placed=placed, **more)
    assert [line for line in told_all if "project" in line] == [
        f"move workspace network to project {DEFAULT_NAME}",
        "delete project idle",
        "delete project shop",
    ]
    assert set(await projects_of(own_calls)) == {DEFAULT_NAME}
    await apply(own_calls, shop, placed={"payments": "shop"})
    gone = await apply(own_calls, options=PRUNING, **{**more, "workspaces": ("network",)})
    assert {"delete workspace payments", "delete project shop"} <= set(gone)


async def test_a_new_organization_has_its_default_project_however_the_file_calls_it(
    calls: Calls,
) -> None:
    name = f"org-{uuid4().hex}"
    main = ProjectEntry("main", {"k": "v"}, origin=Origin(DEFAULT_NAME))
    entry = OrganizationEntry(
        name,
        workspaces=("one", "two"),
        projects=(main, ProjectEntry("shop")),
        placed={"one": "main", "two": "shop"},
    )
    file = Directory(organizations=(entry,))
    applied = await calls.services.directory.apply(operator(), file, AS_WRITTEN)
    ids = applied.organizations[name]
    assert ids.projects["main"] == f"prj-{ids.id.removeprefix('org-')}"
    assert (await calls.services.directory.apply(operator(), file, AS_WRITTEN)).changes == ()
    found = await calls.services.directory.export([name])
    (again,) = found.directory.organizations
    assert (again.projects, again.placed) == (entry.projects, {"two": "shop"})
    assert await calls.node.audit_holds()


async def test_a_project_with_too_many_tags_is_refused_at_its_line(calls: Calls) -> None:
    tags = {f"k{number}": "" for number in range(MAX_TAGS + 1)}
    with pytest.raises(Refusal) as raised:
        await apply(calls, ProjectEntry("shop", tags, at="f:4"))
    (fault,) = raised.value.faults
    assert (fault.code, fault.detail[:4]) == (Code.TOO_MANY_ITEMS, "f:4:")


async def test_a_workspace_in_a_project_of_another_organization_is_exported_without_it(
    own_calls: Calls,
) -> None:
    other = OrganizationEntry(f"org-{uuid4().hex}", projects=(ProjectEntry("theirs"),))
    file = Directory(organizations=(other,))
    applied = await own_calls.services.directory.apply(operator(), file, AS_WRITTEN)
    theirs = applied.organizations[other.name].projects["theirs"]
    network = own_calls.tenant.workspaces["network"]
    await own_calls.services.database.write(
        lambda tx: tx.execute(
            "UPDATE workspaces SET project_id = $1 WHERE id = $2", theirs, network
        )
    )
    assert (await exported(own_calls)).placed == {}
    placed = {"network": DEFAULT_NAME}
    assert await apply(own_calls, placed=placed) == (
        f"move workspace network to project {DEFAULT_NAME}",
    )
