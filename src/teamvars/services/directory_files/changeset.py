"""What applying a directory file changes, gathered before any of it is written."""

from collections.abc import Mapping, Sequence

import msgspec

from teamvars.decisions import (
    Decision,
    Found,
    grants,
    memberships,
    organizations,
    teams,
    users,
    workspaces,
)
from teamvars.decisions.rows import together
from teamvars.domain.access import WrappedKey
from teamvars.domain.grants import Grant
from teamvars.domain.memberships import Membership
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import Workspace, WorkspaceDetails, WorkspaceRecord
from teamvars.services.directory_files.people import People


class Overtaken(Exception):
    """A concurrent change took a name or address, or changed a user: the decisions are void."""


class Changeset(msgspec.Struct):
    """Changes of each kind, and the report of them, a line each. `now` in µs UTC.

    A pair is what something was and what it becomes, a team and ids of its memberships, or
    the id of a team and its grants.
    """

    now: int
    told: list[str] = msgspec.field(default_factory=list)
    organizations: list[Organization] = msgspec.field(default_factory=list)
    organizations_renamed: list[tuple[Organization, Organization]] = msgspec.field(
        default_factory=list
    )
    members_added: list[Membership] = msgspec.field(default_factory=list)
    members_changed: list[tuple[Membership, Membership]] = msgspec.field(default_factory=list)
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
    grants_removed: list[tuple[str, Sequence[Grant]]] = msgspec.field(default_factory=list)

    def end_invitation(self, before: Membership) -> None:
        """The membership is removed or made active, and with that a link to it is void."""
        if before.invitation is not None:
            self.invitations_ended.append(before)

    def decided(
        self,
        found: Found,
        people: People,
        keys: Mapping[str, WrappedKey],
        details: Mapping[str, WorkspaceDetails],
    ) -> Decision[None]:
        """All of it, what is referred to before what refers to it, and what gives up a name before
        what takes it.

        `keys` are the data keys of new organizations, and `details` those of renamed workspaces.
        """
        return together(
            None,
            *(organizations.changed(found, *pair) for pair in self.organizations_renamed),
            *(teams.changed(found, *pair) for pair in self.teams_renamed),
            *(
                workspaces.changed(found, *(_record(one, details) for one in pair))
                for pair in self.workspaces_renamed
            ),
            *(organizations.created(found, one, keys[one.id]) for one in self.organizations),
            *(memberships.left(found, *pair) for pair in self.left),
            *(memberships.invitation(found, one, "revoke") for one in self.invitations_ended),
            *(users.changed(found, *pair) for pair in people.changed),
            *(users.created(found, user) for user in people.made.values()),
            *(memberships.created(found, one) for one in self.members_added),
            memberships.changed(found, self.members_changed),
            *(workspaces.created(found, WorkspaceRecord(one)) for one in self.workspaces),
            *(teams.created(found, team) for team in self.teams),
            *(teams.changed(found, *pair) for pair in self.teams_changed),
            *(memberships.joined(found, *pair) for pair in self.joined),
            *(grants.created(found, grant) for grant in self.grants),
            *(grants.changed(found, *pair) for pair in self.grants_changed),
            *(grants.deleted(found, *pair) for pair in self.grants_removed),
            *(workspaces.deleted(found, one) for one in self.workspaces_removed),
            *(teams.deleted(found, team) for team in self.teams_removed),
            *(memberships.deleted(found, one) for one in self.members_removed),
        )


def _record(workspace: Workspace, details: Mapping[str, WorkspaceDetails]) -> WorkspaceRecord:
    known = details[workspace.id]
    return WorkspaceRecord(workspace, known.settings, known.locked_by)
