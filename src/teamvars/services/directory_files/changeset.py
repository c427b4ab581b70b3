"""What applying a directory file changes, gathered before any of it is written."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from teamvars.domain.errors import Code, Refusal
from teamvars.domain.grants import Grant
from teamvars.domain.memberships import Membership
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.users import User
from teamvars.domain.workspaces import Workspace
from teamvars.security.sealing import Sealer
from teamvars.services.directory import grants as grant_changes
from teamvars.services.directory import invitations as invitation_changes
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory import organizations as organization_changes
from teamvars.services.directory import teams as team_changes
from teamvars.services.directory import users as user_changes
from teamvars.services.directory import workspaces as workspace_changes
from teamvars.services.directory.ledger import GatheringLedger
from teamvars.services.directory_files.people import People
from teamvars.storage import users, workspaces
from teamvars.storage.database import MissingReference, Taken


class Overtaken(Exception):
    """A concurrent change took a name or address, or changed a user: the decisions are void."""


class Changeset(msgspec.Struct):
    """Changes of each kind, and the report of them, a line each. `now` in µs UTC.

    A pair is what something was and what it becomes, or a team and ids of its memberships or
    workspaces.
    """

    now: int
    told: list[str] = msgspec.field(default_factory=list)
    organizations: list[Organization] = msgspec.field(default_factory=list)
    organizations_renamed: list[tuple[Organization, Organization]] = msgspec.field(
        default_factory=list
    )
    members_added: list[Membership] = msgspec.field(default_factory=list)
    members_changed: list[Membership] = msgspec.field(default_factory=list)
    members_removed: list[Membership] = msgspec.field(default_factory=list)
    invitations_ended: list[Membership] = msgspec.field(default_factory=list)
    workspaces: list[Workspace] = msgspec.field(default_factory=list)
    workspaces_renamed: list[tuple[Workspace, Workspace]] = msgspec.field(default_factory=list)
    workspaces_removed: list[Workspace] = msgspec.field(default_factory=list)
    teams: list[Team] = msgspec.field(default_factory=list)
    teams_changed: list[tuple[Team, Team]] = msgspec.field(default_factory=list)
    teams_renamed: list[tuple[Team, Team]] = msgspec.field(default_factory=list)
    teams_removed: list[Team] = msgspec.field(default_factory=list)
    joined: list[tuple[Team, Sequence[str]]] = msgspec.field(default_factory=list)
    left: list[tuple[Team, Sequence[str]]] = msgspec.field(default_factory=list)
    grants: list[Grant] = msgspec.field(default_factory=list)
    grants_changed: list[tuple[Grant, Grant]] = msgspec.field(default_factory=list)
    grants_removed: list[tuple[Team, Sequence[str]]] = msgspec.field(default_factory=list)

    def end_invitation(self, before: Membership) -> None:
        """The membership is removed or made active, and with that a link to it is void."""
        if before.invitation is not None:
            self.invitations_ended.append(before)

    async def write(self, ledger: GatheringLedger, sealer: Sealer, people: People) -> None:
        """Writes all rows, referenced ones before those that refer to them, and then the entries.

        What gives up a name does so before something else takes it, users too. Raises Overtaken.
        """
        before: dict[str, User] = {}
        for user, _ in people.changed:
            before.setdefault(user.id, user)
        if before and await users.lock_all(ledger.tx, before) != before:
            raise Overtaken
        try:
            await self._write(ledger, sealer, people)
        except (Taken, MissingReference):  # such as a user who was only invited, and is gone
            raise Overtaken from None
        except Refusal as refusal:
            if any(fault.code is not Code.NAME_TAKEN for fault in refusal.faults):
                raise
            raise Overtaken from None

    async def _write(self, ledger: GatheringLedger, sealer: Sealer, people: People) -> None:
        steps: tuple[tuple[Callable[..., Awaitable[None]], Sequence[Any]], ...] = (
            (user_changes.update, people.changed),
            (user_changes.create, list(people.made.values())),
            (membership_changes.create, self.members_added),
            (membership_changes.update, self.members_changed),
            (workspace_changes.create_all, self.workspaces),
            (team_changes.create, self.teams),
            (team_changes.update, self.teams_changed),
            (membership_changes.add_to_teams, self.joined),
            (grant_changes.create, self.grants),
            (grant_changes.update, self.grants_changed),
            (_remove_grants, self.grants_removed),
            (workspace_changes.delete, self.workspaces_removed),
            (team_changes.delete, self.teams_removed),
            (membership_changes.delete, self.members_removed),
        )
        for before, after in self.organizations_renamed:
            await organization_changes.update(ledger, before, after)
        for former, team in self.teams_renamed:
            await team_changes.rename(ledger, former, team)
        await _rename_workspaces(ledger, self.workspaces_renamed)
        for organization in self.organizations:
            await organization_changes.add(ledger, sealer, organization)
        for team, ids in self.left:
            await membership_changes.remove_from_team(ledger, team, ids)
        for membership in self.invitations_ended:
            await invitation_changes.record(ledger, membership, "revoke")
        for step, rows in steps:
            if rows:
                await step(ledger, rows)
        await ledger.write()


async def _rename_workspaces(
    ledger: GatheringLedger, renamed: Sequence[tuple[Workspace, Workspace]]
) -> None:
    details = await workspaces.find_details(ledger.tx, [before.id for before, _ in renamed])
    for before, after in renamed:
        settings = details[before.id].settings
        await workspace_changes.update(ledger, (before, settings), (after, settings))


async def _remove_grants(
    ledger: GatheringLedger, removed: Sequence[tuple[Team, Sequence[str]]]
) -> None:
    for team, ids in removed:
        await grant_changes.delete(ledger, team.id, ids)
