"""What a directory file renames on purpose, and names that may mean something else by now."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from teamvars.domain.directory import OrganizationEntry
from teamvars.domain.errors import Fault
from teamvars.domain.former_names import FormerName, FormerNames, Origin, objection, to_rename
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import OWNERS, Team
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files.actual import OrganizationState
from teamvars.services.directory_files.changeset import Changeset
from teamvars.services.directory_files.people import fault

_NO_ORIGIN = Origin()


T = TypeVar("T", Organization, Team, Workspace)


def rename_organizations(
    entries: Iterable[OrganizationEntry],
    existing: dict[str, OrganizationState],
    former: FormerNames,
    changeset: Changeset,
) -> None:
    """Gives organizations the names that their entries say, in `existing` by folded name."""
    live = {name: state.organization for name, state in existing.items()}
    wanted = [(entry.name, entry.origin) for entry in entries]
    for before, after in _renamed(wanted, live, former):
        state = existing.pop(fold(before.name))
        state.organization = after
        existing[fold(after.name)] = state
        changeset.organizations_renamed.append((before, after))
        changeset.told.append(f"rename organization {before.name} to {after.name}")


def rename_inside(entry: OrganizationEntry, state: OrganizationState, changeset: Changeset) -> None:
    """The same for teams and workspaces of one organization; owners stays what it is."""
    wanted = [
        (team.name, team.origin)
        for team in entry.teams
        if OWNERS not in (fold(team.name), fold(team.origin.former_name or ""))
    ]
    for former_team, team in _renamed(wanted, state.teams, state.former_teams):
        changeset.teams_renamed.append((former_team, team))
        changeset.told.append(f"rename team {state.name}/{former_team.name} to {team.name}")
    for before, after in _renamed(entry.origins.items(), state.workspaces, state.former_workspaces):
        changeset.workspaces_renamed.append((before, after))
        changeset.told.append(f"rename workspace {state.name}/{before.name} to {after.name}")


def objections(
    entries: Iterable[OrganizationEntry],
    existing: Mapping[str, OrganizationState],
    former: FormerNames,
) -> list[Fault]:
    """Organizations that the file would make, and that are called otherwise by now."""
    return [
        fault(f"Organization {entry.name} {doubt}.", entry.at)
        for entry in entries
        if (doubt := objection(entry.name, entry.origin, existing, former)) is not None
    ]


def objections_inside(entry: OrganizationEntry, state: OrganizationState) -> list[Fault]:
    """The same of teams and workspaces of one organization."""
    faults = []
    for name in entry.workspaces:
        origin = entry.origins.get(name, _NO_ORIGIN)
        doubt = objection(name, origin, state.workspaces, state.former_workspaces)
        if doubt is not None:
            at = entry.workspace_at.get(name, entry.at)
            faults.append(fault(f"Workspace {state.name}/{name} {doubt}.", at))
    for team in entry.teams:
        doubt = objection(team.name, team.origin, state.teams, state.former_teams)
        if doubt is not None:
            faults.append(fault(f"Team {state.name}/{team.name} {doubt}.", team.at))
    return faults


def _renamed(
    wanted: Iterable[tuple[str, Origin]],
    live: dict[str, T],
    former: FormerNames,
) -> list[tuple[T, T]]:
    """Renames in `live`, by folded name, what each of these says; what it was, and what it is.

    In an order in which each name is free, if there is one.
    """
    pairs: list[tuple[T, T]] = []
    left = list(wanted)
    while True:
        ready = ((one, there) for one in left if (there := to_rename(*one, live)) is not None)
        found = next(ready, None)
        if found is None:
            return pairs
        wish, before = found
        left.remove(wish)
        after = replace(before, name=wish[0])
        del live[fold(before.name)]
        live[fold(after.name)] = after
        former.add(FormerName(before.id, before.name, after.name))
        pairs.append((before, after))
