"""The actual state of the organizations and users that a directory file names, locked and read."""

from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    ProjectEntry,
    SetEntry,
    TeamEntry,
)
from teamvars.domain.memberships import LinkageType, Membership, Status
from teamvars.domain.names import FormerNames, fold
from teamvars.domain.organizations import Organization
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.projects import Project, default_project_of
from teamvars.domain.runners import Runner
from teamvars.domain.tags import Tags
from teamvars.domain.team_access import Grant
from teamvars.domain.teams import OWNERS, Team
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files.changeset import Changeset, Named, Names, Overtaken
from teamvars.services.directory_files.people import People
from teamvars.storage import (
    former_names,
    memberships,
    organizations,
    projects,
    runners,
    tags,
    team_access,
    teams,
    users,
    variable_sets,
    workspaces,
)
from teamvars.storage.database import Transaction
from teamvars.storage.former_names import PROJECTS, SETS, TEAMS, WORKSPACES

G = TypeVar("G", Grant, ProjectGrant)
Place = TypeVar("Place", bound=Workspace | Project)
T = TypeVar("T")

Lock = Callable[[Iterable[str]], Coroutine[Any, Any, None]]
_TABLES = {"team": TEAMS, "workspace": WORKSPACES, "project": PROJECTS, "variable set": SETS}


class Changing(msgspec.Struct, frozen=True):
    """The folded names of the workspaces and of the variable sets that may change; None: all."""

    workspaces: Collection[str] | None = ()
    sets: Collection[str] | None = ()


_NOTHING = Changing()


class OrganizationState(msgspec.Struct):
    """One organization as read, then as the entries so far have changed it.

    `former` has the names that teams and what else it has had before, by what it is.

    Keyed by folded name, or by id: `variables`, `tags`, `placed` and `grants` by workspace,
    `bindings` by project, `in_team`, `grants` and `project_grants` by team, `set_variables` and
    `attached` by set. `variables` and `set_variables` count them; `in_team` has ids of memberships,
    `attached` those of workspaces; `placed` has those of projects, and not the default one.
    """

    organization: Organization
    former: defaultdict[str, FormerNames] = msgspec.field(
        default_factory=lambda: defaultdict(FormerNames)
    )
    members: dict[str, Membership] = msgspec.field(default_factory=dict)
    workspaces: dict[str, Workspace] = msgspec.field(default_factory=dict)
    variables: dict[str, int] = msgspec.field(default_factory=dict)
    tags: dict[str, Tags] = msgspec.field(default_factory=dict)
    teams: dict[str, Team] = msgspec.field(default_factory=dict)
    in_team: dict[str, set[str]] = msgspec.field(default_factory=dict)
    grants: dict[str, dict[str, Grant]] = msgspec.field(default_factory=dict)
    runners: dict[str, Runner] = msgspec.field(default_factory=dict)
    projects: dict[str, Project] = msgspec.field(default_factory=dict)
    bindings: dict[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    placed: dict[str, str] = msgspec.field(default_factory=dict)
    project_grants: dict[str, dict[str, ProjectGrant]] = msgspec.field(default_factory=dict)
    sets: dict[str, VariableSet] = msgspec.field(default_factory=dict)
    set_variables: dict[str, int] = msgspec.field(default_factory=dict)
    attached: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)

    @property
    def id(self) -> str:
        """The organization's id."""
        return self.organization.id

    @property
    def name(self) -> str:
        """What it is called, once the file is applied."""
        return self.organization.name

    def project_of(self, workspace_id: str) -> str:
        """The id of the project that a workspace is in."""
        return self.placed.get(workspace_id, default_project_of(self.id))

    def names(
        self,
        kind: str,
        live: dict[str, Named],
        entries: Iterable[ProjectEntry | SetEntry | TeamEntry],
        fixed: str | None = None,
    ) -> Names[Named]:
        """What entries say of the names of a kind of things, which are `live`."""
        named = [(one.name, one.origin, one.at) for one in entries]
        return Names(kind, f"{self.name}/", named, live, self.former[kind], fixed)

    def meant(
        self,
        kind: str,
        live: Mapping[str, Place],
        names: Iterable[str],
        refuse: Callable[[str, str], object],
    ) -> Iterator[tuple[str, Place]]:
        """What of a kind is `live` under each of these names, with the name; `refuse` is given a
        name that nothing has, and what may be meant by it.
        """
        for name in names:
            if (one := live.get(fold(name))) is not None:
                yield name, one
            else:
                refuse(name, self.former[kind].hint(name))

    def active_owners(self) -> dict[str, Membership]:
        """Who is in the owners team and active, by id."""
        owners = self.in_team.get(self.teams[OWNERS].id, set())
        its = self.members.values()
        return {one.id: one for one in its if one.id in owners and one.counts_as_owner}


class Part:
    """A part of an organization's entry, beside its `state`, which follows what is decided."""

    def __init__(
        self, entry: OrganizationEntry, state: OrganizationState, changeset: Changeset
    ) -> None:
        self._entry = entry
        self._state = state
        self._changeset = changeset

    def _refuse_held(self, what: str, held: int) -> None:
        """Refuses to remove what has so many variables, if it has any."""
        if held:
            detail = (
                f"{what} is not in the file and has {held} variables. "
                "To remove both, add --delete-variables."
            )
            self._changeset.refuse(detail, self._entry.at)


def unnamed(existing: Mapping[str, T], named: Iterable[str]) -> list[T]:
    """What there is under other names than these."""
    kept = {fold(name) for name in named}
    return [thing for name, thing in existing.items() if name not in kept]


async def find(
    tx: Transaction, directory: Directory, changeset: Changeset, lock: Lock, *, prune: bool
) -> tuple[People, dict[str, OrganizationState]]:
    """The users after the file's entries, and the organizations that are there, by folded name.

    Everything the decisions rest on is locked: organizations, then teams, runners and what may
    change of workspaces and variable sets, with `prune` all of it. Users are not: those that change
    are locked and compared later. Raises Overtaken when a name is another organization's once that
    is locked.
    """
    origins = (entry.origin.former_name for entry in directory.organizations)
    names = [*(entry.name for entry in directory.organizations), *filter(None, origins)]
    found = await organizations.find_all(tx, names)
    await lock(organization.id for organization in found.values())
    again = await organizations.find_all(tx, names)
    if {one.id for one in again.values()} != {one.id for one in found.values()}:
        raise Overtaken
    people = await _people(tx, directory, changeset)
    loaded = await load(tx, again.values(), people, lock, _changing(directory, prune=prune))
    ids = [state.id for state in loaded.values()]
    for kind, table in _TABLES.items():
        former = await former_names.inside(tx, table, ids)
        for state in loaded.values():
            state.former[kind] = former[state.id]
    return people, loaded


def _changing(directory: Directory, *, prune: bool) -> Changing:
    """The workspaces that may be pruned, renamed, moved or given other tags, and the sets that the
    file names or may prune.
    """
    if prune:
        return Changing(None, None)
    entries = directory.organizations
    origins = (one for entry in entries for one in entry.origins.values())
    named = {fold(one.former_name) for one in origins if one.former_name is not None}
    named |= {fold(name) for entry in entries for name in (*entry.tags, *entry.placed)}
    sets = [one for entry in entries for one in entry.variable_sets]
    of_sets = (name for one in sets for name in (one.name, one.origin.former_name))
    return Changing(named, {fold(name) for name in of_sets if name is not None})


async def _people(tx: Transaction, directory: Directory, changeset: Changeset) -> People:
    """The users the file names, and those who have an e-mail address that it gives to another."""
    members = (name for entry in directory.organizations for name in entry.members)
    names = [*(user.username for user in directory.users), *members]
    emails = [user.email for user in directory.users if user.email]
    named = await users.find_all(tx, names)
    holders = await users.find_all_by_email(tx, emails)
    present = {user.id: user for user in (*named.values(), *holders.values())}
    people = People(present.values(), changeset)
    for entry in directory.users:
        people.apply(entry)
    for organization in directory.organizations:
        for name, status in organization.members.items():
            user = people.named(name)
            if user is not None and status is Status.ACTIVE:
                people.know(user)
    return people


async def no_lock(_: Iterable[str]) -> None:
    """For a dry run and an export, which read a snapshot."""


async def load(
    tx: Transaction,
    found: Iterable[Organization],
    people: People,
    lock: Lock = no_lock,
    changing: Changing = _NOTHING,
) -> dict[str, OrganizationState]:
    """The organizations with their contents, read after their teams and runners are locked, and
    those of their workspaces and variable sets that are `changing`. What refers to rows that
    somebody has deleted by hand is left out.
    """
    loaded = {one.id: OrganizationState(one) for one in found}
    if not loaded:
        return {}
    team_ids = [team.id for team in await teams.of_organizations(tx, loaded)]
    found_runners = await runners.of_organizations(tx, loaded)
    changed = await _changed(tx, loaded, changing)
    await lock([*team_ids, *(runner.id for runner in found_runners), *changed])
    for team in await teams.of_organizations(tx, loaded):  # as they are by now
        loaded[team.organization_id].teams[fold(team.name)] = team
    for runner in found_runners:
        loaded[runner.organization_id].runners[fold(runner.spec.name)] = runner
    spaces = await workspaces.of_organizations(tx, loaded)
    tagged = await tags.of_workspaces(tx, [space.id for space, _ in spaces])
    for space, variables in spaces:
        loaded[space.organization_id].workspaces[fold(space.name)] = space
        loaded[space.organization_id].variables[space.id] = variables
        loaded[space.organization_id].tags[space.id] = tagged.get(space.id, Tags())
    await _load_projects(tx, loaded, team_ids)
    await _load_sets(tx, loaded)
    for member in await memberships.of_organizations(tx, loaded):
        user = people.latest(member.user)
        loaded[member.organization_id].members[fold(user.username)] = replace(member, user=user)
    in_team = await memberships.ids_of_teams(tx, team_ids, LinkageType.ORGANIZATION_MEMBERSHIPS)
    granted = _by_team(await team_access.ON_WORKSPACES.of_teams(tx, team_ids))
    for organization in loaded.values():
        ids = {space.id for space in organization.workspaces.values()}
        members = {member.id for member in organization.members.values()}
        for team in organization.teams.values():
            organization.in_team[team.id] = members.intersection(in_team[team.id])
            its = [grant for grant in granted.get(team.id, ()) if grant.workspace_id in ids]
            organization.grants[team.id] = {grant.workspace_id: grant for grant in its}
    return {fold(organization.name): organization for organization in loaded.values()}


async def _changed(tx: Transaction, loaded: Collection[str], changing: Changing) -> Sequence[str]:
    """The ids of the workspaces and variable sets that may change."""
    kinds = (
        (changing.workspaces, workspaces.of_organizations),
        (changing.sets, variable_sets.of_organizations),
    )
    return [
        one.id
        for named, find_all in kinds
        if named is None or named
        for one, _ in await find_all(tx, loaded)
        if named is None or fold(one.name) in named
    ]


async def _load_sets(tx: Transaction, loaded: Mapping[str, OrganizationState]) -> None:
    """Puts variable sets into their organizations, with what they are attached to."""
    attached = await variable_sets.all_attached(tx, loaded)
    for one, variables in await variable_sets.of_organizations(tx, loaded):
        state = loaded[one.organization_id]
        state.sets[fold(one.name)] = one
        state.set_variables[one.id] = variables
        state.attached[one.id] = attached.get(one.id, frozenset())


async def _load_projects(
    tx: Transaction, loaded: Mapping[str, OrganizationState], team_ids: Sequence[str]
) -> None:
    """Puts projects into their organizations, with their tags, workspaces and grants."""
    found = await projects.of_organizations(tx, loaded)
    tagged = await projects.bindings(tx, [one.id for one in found])
    for one in found:
        loaded[one.organization_id].projects[fold(one.name)] = one
        loaded[one.organization_id].bindings[one.id] = tagged.get(one.id, {})
    placed = await projects.placed(tx, loaded)
    for state in loaded.values():
        ids = (space.id for space in state.workspaces.values() if space.id in placed)
        state.placed = {id_: placed[id_] for id_ in ids}
    granted = _by_team(await team_access.ON_PROJECTS.of_teams(tx, team_ids))
    for state in loaded.values():
        there = {project.id for project in state.projects.values()}
        for team in state.teams.values():
            its = [grant for grant in granted.get(team.id, ()) if grant.project_id in there]
            state.project_grants[team.id] = {grant.project_id: grant for grant in its}


def _by_team(grants: Iterable[G]) -> Mapping[str, Sequence[G]]:
    """Grants by the team that has them."""
    found: dict[str, list[G]] = {}
    for grant in grants:
        found.setdefault(grant.team_id, []).append(grant)
    return found
