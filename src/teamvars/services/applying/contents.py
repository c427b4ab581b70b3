"""What a directory file makes of one organization: decided in memory, written later."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from teamvars.domain.directory import OrganizationEntry, OrganizationIds, TeamEntry
from teamvars.domain.errors import Code, Fault
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.teams import OWNERS, Visibility
from teamvars.domain.workspaces import Workspace
from teamvars.services.applying.people import People, fault
from teamvars.services.applying.there import Inside
from teamvars.services.applying.work import Work
from teamvars.storage.organizations import MembershipRow
from teamvars.storage.teams import GrantRow, TeamRow

T = TypeVar("T")


class Contents:
    """The members, workspaces and teams of one organization; `inside` is what they are by now."""

    def __init__(
        self, entry: OrganizationEntry, inside: Inside, people: People, work: Work
    ) -> None:
        self.faults: list[Fault] = []
        self._entry = entry
        self._inside = inside
        self._people = people
        self._work = work
        self._had_owner = inside.has_owner()

    def apply(self) -> None:
        """Adds and changes what the file names."""
        self._apply_members()
        self._apply_workspaces()
        for team in sorted(self._entry.teams, key=lambda team: fold(team.name) != OWNERS):
            self._apply_team(team)

    def prune(self, *, delete_variables: bool) -> None:
        """Removes the teams, workspaces and members that the file does not name."""
        inside, work = self._inside, self._work
        for team in _unnamed(inside.teams, (team.name for team in self._entry.teams)):
            if not team.is_owners:
                work.teams_removed.append(team)
                work.told.append(f"delete team {inside.name}/{team.name}")
        for workspace in _unnamed(inside.workspaces, self._entry.workspaces):
            path = f"{inside.name}/{workspace.name}"
            held = inside.variables[workspace.id]
            if held and not delete_variables:
                detail = (
                    f"Workspace {path} is not in the file and has {held} variables. "
                    "Say --delete-variables to remove it with them."
                )
                self.faults.append(fault(detail, self._entry.at))
            work.workspaces_removed.append(workspace)
            work.told.append(f"delete workspace {path}")
        for member in _unnamed(inside.members, self._entry.members):
            work.members_removed.append((inside.id, member))
            work.told.append(f"remove member {member.username} of {inside.name}")
            del inside.members[fold(member.username)]

    def require_owner(self) -> None:
        """A file must not take an organization's last active owner away."""
        if self._had_owner and not self._inside.has_owner():
            detail = f"Organization {self._inside.name} would have no active owner left."
            owners = (team.at for team in self._entry.teams if fold(team.name) == OWNERS)
            self.faults.append(fault(detail, next(owners, self._entry.at), Code.LAST_OWNER))

    def ids(self) -> OrganizationIds:
        """The ids of everything the file names."""
        entry, inside = self._entry, self._inside
        return OrganizationIds(
            inside.id,
            {name: inside.workspaces[fold(name)].id for name in entry.workspaces},
            {team.name: inside.teams[fold(team.name)].id for team in entry.teams},
            {name: inside.members[fold(name)].id for name in entry.members},
        )

    def _apply_members(self) -> None:
        inside, work = self._inside, self._work
        for username, status in self._entry.members.items():
            user = self._people.named(username)
            if user is None:
                detail = f"There is no user {username}; name them under users."
                at = self._entry.member_at.get(username, self._entry.at)
                self.faults.append(fault(detail, at))
                continue
            before = inside.members.get(fold(username))
            if before is None:
                after = MembershipRow(
                    new_id("ou"), user.id, user.username, status, user_disabled=user.disabled
                )
                work.members_added.append((inside.id, after))
            elif before.status is status:
                continue
            else:
                after = replace(before, status=status)
                work.members_changed.append((inside.id, after))
            inside.members[fold(username)] = after
            verb = "change" if before else "add"
            work.told.append(f"{verb} member {user.username} of {inside.name}: {status.value}")

    def _apply_workspaces(self) -> None:
        inside = self._inside
        for name in self._entry.workspaces:
            if fold(name) not in inside.workspaces:
                workspace = Workspace(new_id("ws"), name, inside.id, inside.name)
                inside.workspaces[fold(name)] = workspace
                self._work.workspaces.append(workspace)
                self._work.told.append(f"create workspace {inside.name}/{name}")

    def _apply_team(self, entry: TeamEntry) -> None:
        inside, work = self._inside, self._work
        before = inside.teams.get(fold(entry.name))
        base = before or TeamRow(
            id=new_id("team"),
            organization_id=inside.id,
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
            work.teams.append(team)
            work.told.append(f"create team {inside.name}/{entry.name}")
        elif team != before:
            work.teams_changed.append((before, team))
            work.told.append(f"update team {inside.name}/{entry.name}")
        inside.teams[fold(entry.name)] = team
        if entry.members is not None:
            self._apply_team_members(entry, entry.members, team)
        if entry.workspaces is not None:
            self._apply_grants(entry, team)

    def _apply_team_members(
        self, entry: TeamEntry, usernames: tuple[str, ...], team: TeamRow
    ) -> None:
        inside, work = self._inside, self._work
        path = f"{inside.name}/{team.name}"
        wanted: dict[str, str] = {}
        for name in usernames:
            membership = inside.members.get(fold(name))
            if membership is None:
                detail = f"Team {path}: {name} is no member of {inside.name}."
                self.faults.append(fault(detail, entry.member_at.get(name, entry.at)))
            else:
                wanted[membership.id] = membership.username
        present = inside.in_team.get(team.id, set())
        names = {member.id: member.username for member in inside.members.values()}
        if added := sorted(wanted.keys() - present, key=names.__getitem__):
            work.joined.append((team, added))
            work.told += [f"add {names[id_]} to team {path}" for id_ in added]
        if removed := sorted(present - wanted.keys(), key=names.__getitem__):
            work.left.append((team, removed))
            work.told += [f"remove {names[id_]} from team {path}" for id_ in removed]
        inside.in_team[team.id] = set(wanted)

    def _apply_grants(self, entry: TeamEntry, team: TeamRow) -> None:
        inside, work = self._inside, self._work
        path = f"{inside.name}/{team.name}"
        names = {space.id: space.name for space in inside.workspaces.values()}
        present = inside.grants.get(team.id, {})
        wanted = set()
        for name, grant in (entry.workspaces or {}).items():
            workspace = inside.workspaces.get(fold(name))
            if workspace is None:
                detail = f"Team {path}: there is no workspace {inside.name}/{name}."
                self.faults.append(fault(detail, entry.workspace_at.get(name, entry.at)))
                continue
            wanted.add(workspace.id)
            former = present.get(workspace.id)
            if former != grant.word:
                row = GrantRow(new_id("tws"), team, workspace.id, grant)
                work.grants.append((former, row))
                work.told.append(f"grant {path} {grant.word} on {workspace.name}")
        if removed := sorted(present.keys() - wanted):
            work.grants_removed.append((team, removed))
            work.told += [f"revoke the grant of {path} on {names[id_]}" for id_ in removed]


def _unnamed(existing: Mapping[str, T], named: Iterable[str]) -> list[T]:
    kept = {fold(name) for name in named}
    return [thing for name, thing in existing.items() if name not in kept]


def _or(said: T | None, otherwise: T) -> T:
    return otherwise if said is None else said
