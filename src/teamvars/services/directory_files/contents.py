"""What a directory file makes of one organization: determined in memory, written later."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from teamvars.domain.directory import OrganizationEntry, OrganizationIds, TeamEntry
from teamvars.domain.errors import Code, Fault
from teamvars.domain.grants import LEVEL_OF, Grant
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Membership
from teamvars.domain.names import fold
from teamvars.domain.teams import OWNERS, Team, Visibility
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files import renaming
from teamvars.services.directory_files.actual import OrganizationState
from teamvars.services.directory_files.changeset import Changeset
from teamvars.services.directory_files.people import People, fault

T = TypeVar("T")


class Contents:
    """Compares the entry of one organization with its `state`, which follows what is decided."""

    def __init__(
        self,
        entry: OrganizationEntry,
        state: OrganizationState,
        people: People,
        changeset: Changeset,
    ) -> None:
        self.faults: list[Fault] = []
        self._entry = entry
        self._state = state
        self._people = people
        self._changeset = changeset
        self._had_owner = state.has_owner()

    def apply(self) -> None:
        """Adds, changes and renames what the file names."""
        renaming.rename_inside(self._entry, self._state, self._changeset)
        self.faults += renaming.objections_inside(self._entry, self._state)
        self._apply_members()
        self._apply_workspaces()
        for team in sorted(self._entry.teams, key=lambda team: fold(team.name) != OWNERS):
            self._apply_team(team)

    def prune(self, *, delete_variables: bool) -> None:
        """Removes the teams, workspaces and members that the file does not name."""
        state, changeset = self._state, self._changeset
        for team in _unnamed(state.teams, (team.name for team in self._entry.teams)):
            if not team.is_owners:
                changeset.teams_removed.append(team)
                changeset.told.append(f"delete team {state.name}/{team.name}")
        for workspace in _unnamed(state.workspaces, self._entry.workspaces):
            path = f"{state.name}/{workspace.name}"
            held = state.variables[workspace.id]
            if held and not delete_variables:
                detail = (
                    f"Workspace {path} is not in the file and has {held} variables. "
                    "To remove both, add --delete-variables."
                )
                self.faults.append(fault(detail, self._entry.at))
            changeset.workspaces_removed.append(workspace)
            changeset.told.append(f"delete workspace {path}")
        for member in _unnamed(state.members, self._entry.members):
            changeset.members_removed.append(member)
            changeset.end_invitation(member)
            changeset.told.append(f"remove member {member.user.username} of {state.name}")
            del state.members[fold(member.user.username)]

    def require_owner(self) -> None:
        """A file must not remove an organization's last active owner."""
        if self._had_owner and not self._state.has_owner():
            detail = f"Organization {self._state.name} would have no active owner left."
            owners = (team.at for team in self._entry.teams if fold(team.name) == OWNERS)
            self.faults.append(fault(detail, next(owners, self._entry.at), Code.LAST_OWNER))

    def ids(self) -> OrganizationIds:
        """The ids of everything the file names."""
        entry, state = self._entry, self._state
        return OrganizationIds(
            state.id,
            {name: state.workspaces[fold(name)].id for name in entry.workspaces},
            {team.name: state.teams[fold(team.name)].id for team in entry.teams},
            {name: state.members[fold(name)].id for name in entry.members},
        )

    def _apply_members(self) -> None:
        state, changeset = self._state, self._changeset
        for username, status in self._entry.members.items():
            user = self._people.named(username)
            if user is None:
                detail = f"There is no user {username}; name them under users."
                at = self._entry.member_at.get(username, self._entry.at)
                self.faults.append(fault(detail, at))
                continue
            before = state.members.get(fold(username))
            if before is None:
                place = state.id, state.name
                after = Membership(new_id("ou"), *place, user, status, changeset.now)
                changeset.members_added.append(after)
            elif before.status is status:
                continue
            else:
                after = before.with_status(status)
                changeset.members_changed.append((before, after))
                changeset.end_invitation(before)
            state.members[fold(username)] = after
            verb = "change" if before else "add"
            changeset.told.append(f"{verb} member {user.username} of {state.name}: {status.value}")

    def _apply_workspaces(self) -> None:
        state = self._state
        for name in self._entry.workspaces:
            if fold(name) not in state.workspaces:
                workspace = Workspace(new_id("ws"), name, state.id, state.name)
                state.workspaces[fold(name)] = workspace
                self._changeset.workspaces.append(workspace)
                self._changeset.told.append(f"create workspace {state.name}/{name}")

    def _apply_team(self, entry: TeamEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.teams.get(fold(entry.name))
        base = before or Team(
            id=new_id("team"),
            organization_id=state.id,
            name=entry.name,
            visibility=Visibility.ORGANIZATION,
            manage_membership=False,
            is_owners=False,
        )
        team = replace(
            base,
            visibility=_or(entry.visibility, base.visibility),
            manage_membership=_or(entry.manage_membership, base.manage_membership),
            members_manage_token=_or(entry.members_manage_token, base.members_manage_token),
        )
        if before is None:
            changeset.teams.append(team)
            changeset.told.append(f"create team {state.name}/{entry.name}")
        elif team != before:
            changeset.teams_changed.append((before, team))
            changeset.told.append(f"update team {state.name}/{entry.name}")
        state.teams[fold(entry.name)] = team
        if entry.members is not None:
            self._apply_team_members(entry, entry.members, team)
        if entry.workspaces is not None:
            self._apply_grants(entry, team)

    def _apply_team_members(self, entry: TeamEntry, usernames: tuple[str, ...], team: Team) -> None:
        state, changeset = self._state, self._changeset
        path = f"{state.name}/{team.name}"
        wanted: dict[str, str] = {}
        for name in usernames:
            membership = state.members.get(fold(name))
            if membership is None:
                detail = f"Team {path}: {name} is no member of {state.name}."
                self.faults.append(fault(detail, entry.member_at.get(name, entry.at)))
            else:
                wanted[membership.id] = membership.user.username
        present = state.in_team.get(team.id, set())
        names = {member.id: member.user.username for member in state.members.values()}
        if added := sorted(wanted.keys() - present, key=names.__getitem__):
            changeset.joined.append((team, added))
            changeset.told += [f"add {names[id_]} to team {path}" for id_ in added]
        if removed := sorted(present - wanted.keys(), key=names.__getitem__):
            changeset.left.append((team, removed))
            changeset.told += [f"remove {names[id_]} from team {path}" for id_ in removed]
        state.in_team[team.id] = set(wanted)

    def _apply_grants(self, entry: TeamEntry, team: Team) -> None:
        state, changeset = self._state, self._changeset
        path = f"{state.name}/{team.name}"
        names = {space.id: space.name for space in state.workspaces.values()}
        present = state.grants.get(team.id, {})
        wanted = set()
        for name, access in (entry.workspaces or {}).items():
            workspace = state.workspaces.get(fold(name))
            if workspace is None:
                now = state.former_workspaces.present(name)
                hint = f" It is called {now} now." if now else ""
                detail = f"Team {path}: there is no workspace {state.name}/{name}.{hint}"
                self.faults.append(fault(detail, entry.workspace_at.get(name, entry.at)))
                continue
            wanted.add(workspace.id)
            former = present.get(workspace.id)
            if former is None:
                place = state.id, team.id, workspace.id
                changeset.grants.append(Grant(new_id("tws"), *place, access, LEVEL_OF[access]))
            elif former.access is not access:
                changed = replace(former, access=access, level=LEVEL_OF[access])
                changeset.grants_changed.append((former, changed))
            else:
                continue
            changeset.told.append(f"grant {path} {access.value} on {workspace.name}")
        if removed := sorted(present.keys() - wanted):
            changeset.grants_removed.append((team.id, [present[id_] for id_ in removed]))
            changeset.told += [f"revoke the grant of {path} on {names[id_]}" for id_ in removed]


def _unnamed(existing: Mapping[str, T], named: Iterable[str]) -> list[T]:
    kept = {fold(name) for name in named}
    return [thing for name, thing in existing.items() if name not in kept]


def _or(said: T | None, otherwise: T) -> T:
    return otherwise if said is None else said
