"""`directory apply`: makes users, organizations, workspaces and teams what a file says they are.

One transaction. Every stream concerned is locked before anything is decided, in id order: an
organization's id sorts before `system`, and that before the ids of teams and workspaces.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.directory import (
    Applied,
    Directory,
    OrganizationEntry,
    OrganizationIds,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.teams import OWNERS, Status, Visibility
from teamvars.domain.workspaces import Workspace
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.services import Clock
from teamvars.services.changes import organizations as organization_changes
from teamvars.services.changes import teams as team_changes
from teamvars.services.changes import workspaces as workspace_changes
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import organizations, teams, users, workspaces
from teamvars.storage.database import Database, Taken, Transaction
from teamvars.storage.organizations import MembershipRow
from teamvars.storage.teams import TeamRow
from teamvars.storage.users import UserRow

T = TypeVar("T")


class Options(msgspec.Struct, frozen=True):
    """How to apply. `prune` removes what the named organizations have besides the file;
    `delete_variables` lets it remove workspaces that hold some."""

    dry_run: bool = False
    prune: bool = False
    delete_variables: bool = False


class DirectoryFiles:
    """What an operator does with a directory file."""

    def __init__(self, database: Database, sealer: Sealer, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._sealer = sealer
        self._chain = chain
        self._clock = clock

    async def apply(self, caller: Caller, directory: Directory, options: Options) -> Applied:
        """Applies the file whole, or not at all; applying it again changes nothing.

        Refuses: an unknown user, member or workspace, a taken e-mail address, an organization
        that would lose its last active owner, with `prune` a workspace that has variables.
        """

        async def body(tx: Transaction) -> Applied:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            applied = await _Application(ledger, self._sealer, options).run(directory)
            if options.dry_run:
                raise _Undo(applied)
            return applied

        try:
            return await self._database.write(body)
        except _Undo as undo:
            return undo.applied


class _Undo(Exception):
    """Takes the result of a dry run out of the transaction that must not be committed."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


class _Organization(msgspec.Struct):
    """One organization as the transaction has it by now; keys are folded names."""

    id: str
    name: str
    members: dict[str, MembershipRow] = msgspec.field(default_factory=dict)
    workspaces: dict[str, Workspace] = msgspec.field(default_factory=dict)
    teams: dict[str, TeamRow] = msgspec.field(default_factory=dict)
    had_owner: bool = False


class _Application:
    """One run over one file, inside one transaction."""

    def __init__(self, ledger: Ledger, sealer: Sealer, options: Options) -> None:
        self._ledger = ledger
        self._tx = ledger.tx
        self._sealer = sealer
        self._options = options
        self._users: dict[str, UserRow] = {}
        self._changes: list[str] = []

    async def run(self, directory: Directory) -> Applied:
        existing = await self._lock(directory)
        self._users = await users.find_all(self._tx, _usernames(directory))
        for user in directory.users:
            await self._apply_user(user)
        ids = {}
        for entry in directory.organizations:
            organization = existing.get(fold(entry.name)) or await self._create(entry.name)
            await self._apply_members(entry, organization)
            await self._apply_workspaces(entry, organization)
            for team in sorted(entry.teams, key=lambda team: fold(team.name) != OWNERS):
                await self._apply_team(team, organization)
            if self._options.prune:
                await self._prune(entry, organization)
            await self._require_owner(organization)
            ids[entry.name] = _ids(entry, organization)
        named = {user.username: self._users[fold(user.username)].id for user in directory.users}
        return Applied(ids, named, tuple(self._changes))

    async def _lock(self, directory: Directory) -> dict[str, _Organization]:
        """Locks and loads all that exists of the organizations the file names."""
        names = [fold(entry.name) for entry in directory.organizations]
        await self._find_and_lock(names)
        # Once more, for what another file created while this one waited for the system's stream.
        found = await self._find_and_lock(names)
        loaded = {
            name: await self._load(*organization)
            for name, organization in found.items()
            if organization
        }
        children: list[str] = []
        for organization in loaded.values():
            children += (workspace.id for workspace in organization.workspaces.values())
            children += (team.id for team in organization.teams.values())
        await self._ledger.lock(children)
        for organization in loaded.values():
            organization.had_owner = await self._has_owner(organization)
        return loaded

    async def _find_and_lock(self, names: Iterable[str]) -> dict[str, tuple[str, str] | None]:
        found = {name: await organizations.find(self._tx, name) for name in names}
        roots = [organization[0] for organization in found.values() if organization]
        await self._ledger.lock([SYSTEM_STREAM, *roots])
        return found

    async def _load(self, id_: str, name: str) -> _Organization:
        members = await organizations.memberships_of(self._tx, id_)
        names = await workspaces.of_organization(self._tx, id_)
        spaces = [Workspace(space, title, id_, name) for space, title in names.items()]
        return _Organization(
            id_,
            name,
            {fold(member.username): member for member in members},
            {fold(space.name): space for space in spaces},
            {fold(team.name): team for team in await teams.of_organization(self._tx, id_)},
        )

    async def _create(self, name: str) -> _Organization:
        made, owners = await organization_changes.create(self._ledger, self._sealer, name)
        self._changes.append(f"create organization {name}")
        return _Organization(made.id, name, teams={OWNERS: owners})

    async def _apply_user(self, entry: UserEntry) -> None:
        before = self._users.get(fold(entry.username))
        base = before or UserRow(new_id("user"), entry.username, None, site_admin=False)
        user = replace(
            base,
            email=_or(entry.email, base.email),
            site_admin=_or(entry.site_admin, base.site_admin),
        )
        self._users[fold(entry.username)] = user
        if user == before:
            return
        try:
            if before is None:
                await organization_changes.create_user(self._ledger, user)
            else:
                await organization_changes.update_user(self._ledger, user)
        except Taken:
            raise _invalid(f"The e-mail address of user {user.username} is taken.") from None
        self._changes.append(f"{'update' if before else 'create'} user {user.username}")

    async def _apply_members(self, entry: OrganizationEntry, organization: _Organization) -> None:
        for username, status in entry.members.items():
            user = self._users.get(fold(username))
            if user is None:
                raise _invalid(f"There is no user {username}; name them under users.")
            before = organization.members.get(fold(username))
            if before is not None and before.status is status:
                continue
            if before is None:
                after = await organization_changes.add_membership(
                    self._ledger, organization.id, user, status
                )
            else:
                after = replace(before, status=status)
                await organization_changes.set_status(self._ledger, organization.id, after)
            organization.members[fold(username)] = after
            self._changes.append(
                f"{'change' if before else 'add'} member {user.username} of "
                f"{organization.name}: {status.value}"
            )

    async def _apply_workspaces(
        self, entry: OrganizationEntry, organization: _Organization
    ) -> None:
        for name in entry.workspaces:
            if fold(name) in organization.workspaces:
                continue
            workspace = Workspace(new_id("ws"), name, organization.id, organization.name)
            await workspace_changes.create(self._ledger, workspace)
            organization.workspaces[fold(name)] = workspace
            self._changes.append(f"create workspace {organization.name}/{name}")

    async def _apply_team(self, entry: TeamEntry, organization: _Organization) -> None:
        path = f"{organization.name}/{entry.name}"
        before = organization.teams.get(fold(entry.name))
        base = before or TeamRow(
            id=new_id("team"),
            organization_id=organization.id,
            name=entry.name,
            visibility=Visibility.ORGANIZATION,
            manage_membership=False,
            is_owners=False,
        )
        team = replace(
            base,
            visibility=_or(entry.visibility, base.visibility),
            manage_membership=_or(entry.manage_membership, base.manage_membership),
        )
        if before is None:
            await team_changes.create(self._ledger, team)
            self._changes.append(f"create team {path}")
        elif team != before:
            await team_changes.update(self._ledger, team)
            self._changes.append(f"update team {path}")
        organization.teams[fold(entry.name)] = team
        if entry.members is not None:
            await self._apply_team_members(entry.members, team, organization)
        if entry.workspaces is not None:
            await self._apply_grants(entry, team, organization)

    async def _apply_team_members(
        self, usernames: tuple[str, ...], team: TeamRow, organization: _Organization
    ) -> None:
        path = f"{organization.name}/{team.name}"
        named = {name: organization.members.get(fold(name)) for name in usernames}
        for name, membership in named.items():
            if membership is None:
                raise _invalid(f"Team {path}: {name} is no member of {organization.name}.")
        wanted = {membership.id for membership in named.values() if membership}
        present = {member.id for member in await teams.find_members(self._tx, team.id)}
        usernames_by_id = {m.id: m.username for m in organization.members.values()}
        if added := sorted(wanted - present, key=usernames_by_id.__getitem__):
            await team_changes.add_members(self._ledger, team, added)
        if removed := sorted(present - wanted, key=usernames_by_id.__getitem__):
            await team_changes.remove_members(self._ledger, team, removed)
        self._changes += [f"add {usernames_by_id[id_]} to team {path}" for id_ in added]
        self._changes += [f"remove {usernames_by_id[id_]} from team {path}" for id_ in removed]

    async def _apply_grants(
        self, entry: TeamEntry, team: TeamRow, organization: _Organization
    ) -> None:
        path = f"{organization.name}/{team.name}"
        wanted = {}
        for name, grant in (entry.workspaces or {}).items():
            workspace = organization.workspaces.get(fold(name))
            if workspace is None:
                raise _invalid(f"Team {path}: there is no workspace {organization.name}/{name}.")
            wanted[workspace.id] = grant
        names = {space.id: space.name for space in organization.workspaces.values()}
        present = await teams.grants_of(self._tx, team.id)
        for id_, grant in wanted.items():
            if present.get(id_) != grant.word:
                await team_changes.put_grant(self._ledger, team, id_, grant)
                self._changes.append(f"grant {path} {grant.word} on {names[id_]}")
        if removed := sorted(present.keys() - wanted.keys()):
            await team_changes.remove_grants(self._ledger, team, removed)
            self._changes += [f"revoke the grant of {path} on {names[id_]}" for id_ in removed]

    async def _prune(self, entry: OrganizationEntry, organization: _Organization) -> None:
        """Removes the organization's teams, workspaces and members that the file does not name."""
        for team in _unnamed(organization.teams, (team.name for team in entry.teams)):
            if not team.is_owners:
                await team_changes.delete(self._ledger, team)
                self._changes.append(f"delete team {organization.name}/{team.name}")
        for workspace in _unnamed(organization.workspaces, entry.workspaces):
            path = f"{organization.name}/{workspace.name}"
            held = self._ledger.variables_in(workspace.id)
            if held and not self._options.delete_variables:
                raise _invalid(
                    f"Workspace {path} is not in the file and has {held} variables. "
                    "Say --delete-variables to remove it with them."
                )
            await workspace_changes.delete(self._ledger, workspace)
            self._changes.append(f"delete workspace {path}")
        for member in _unnamed(organization.members, entry.members):
            await organization_changes.remove_membership(self._ledger, organization.id, member)
            self._changes.append(f"remove member {member.username} of {organization.name}")

    async def _has_owner(self, organization: _Organization) -> bool:
        members = await teams.find_members(self._tx, organization.teams[OWNERS].id)
        return any(member.status is Status.ACTIVE for member in members)

    async def _require_owner(self, organization: _Organization) -> None:
        """Refuses a file that takes an organization's last active owner away."""
        if organization.had_owner and not await self._has_owner(organization):
            detail = f"Organization {organization.name} would have no active owner left."
            raise Refusal(Fault(Code.LAST_OWNER, detail))


def _usernames(directory: Directory) -> list[str]:
    members = (name for entry in directory.organizations for name in entry.members)
    return [*(user.username for user in directory.users), *members]


def _ids(entry: OrganizationEntry, organization: _Organization) -> OrganizationIds:
    return OrganizationIds(
        organization.id,
        {name: organization.workspaces[fold(name)].id for name in entry.workspaces},
        {team.name: organization.teams[fold(team.name)].id for team in entry.teams},
        {name: organization.members[fold(name)].id for name in entry.members},
    )


def _unnamed(existing: Mapping[str, T], named: Iterable[str]) -> list[T]:
    kept = {fold(name) for name in named}
    return [thing for name, thing in existing.items() if name not in kept]


def _or(said: T | None, otherwise: T) -> T:
    return otherwise if said is None else said


def _invalid(detail: str) -> Refusal:
    return Refusal(Fault(Code.INVALID_VALUE, detail))
