"""Who may do what (contract §6): callers, levels, permissions, results of access checks, and who
has access to a workspace, for its reviewers.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum, StrEnum
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import forbidden, not_found
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import Project
from teamvars.domain.tags import Binding, bindings_of
from teamvars.domain.teams import BOTH_MANAGE, Right, Rights, Team, whole
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace

Owner = TypeVar("Owner", Workspace, VariableSet)


class Level(IntEnum):
    """What a caller may do with the variables of one workspace or set; each level includes those
    below.
    """

    NONE = 0
    READ = 1
    WRITE = 2
    MANAGE = 3
    OWNER = 4

    @property
    def word(self) -> str:
        """What it is called in requests and answers."""
        return self.name.lower()


class Permission(Enum):
    """What a service asks for."""

    READ_VARIABLES = Level.READ
    WRITE_VARIABLES = Level.WRITE
    MANAGE_WORKSPACE = Level.MANAGE
    SEE_ACCESS = Level.OWNER


_ONLY_OWNERS = "Only owners and the organization's token may do this."
_MOVES = (
    "Only owners, and teams with both 'manage-workspaces' and 'manage-projects', put a workspace "
    "into another project."
)
_REFUSALS = {
    Permission.WRITE_VARIABLES: (
        "You may read the variables of this workspace, but not change or lock anything."
    ),
    Permission.MANAGE_WORKSPACE: "Only owners and teams with 'manage-workspaces' may do this.",
    Permission.SEE_ACCESS: _ONLY_OWNERS,
}
ONLY_WRITERS_OF_SETS = (
    "Only owners and teams with both 'manage-workspaces' and 'manage-projects' change variable "
    "sets; those of a project also teams whose access to it permits that."
)


class Place(msgspec.Struct, frozen=True):
    """What a request is about, for its line in the log: an organization, or a workspace or team in
    it, whose names are read with the caller's rights.
    """

    organization_id: str
    organization: str
    workspace_id: str | UnsetType = UNSET
    workspace: str | UnsetType = UNSET
    team_id: str | UnsetType = UNSET
    team: str | UnsetType = UNSET


class Caller(msgspec.Struct):
    """The sender of one request. `actor` is None until an access check has authenticated it, and
    `organization_id` until one has shown the caller something of that organization. `place` is what
    the last of them has found, whether the caller may see it or not.

    Only the hash of the token is kept, so no `repr` or log can show the token itself. `address` is
    the client's, for the audit trail. `has_key`: the request has an `Idempotency-Key`, and so its
    change has a transaction of its own, in which it is kept. `reach` are the organizations in which
    the token has rights at all, by id; None: wherever its user has.
    """

    token_hash: bytes
    request_id: str
    actor: Actor | None = None
    address: str | None = None
    organization_id: str | None = None
    place: Place | None = None
    has_key: bool = False
    reach: frozenset[str] | None = None

    def reaches(self, organization_id: str) -> bool:
        """Whether the token may have rights in an organization."""
        return self.reach is None or organization_id in self.reach

    @property
    def user_id(self) -> str | None:
        """The user whose token was used; None where it is a team's or an organization's."""
        return None if self.actor is None or self.actor.kind != "user" else self.actor.id


class WrappedKey(msgspec.Struct, frozen=True):
    """An organization's data keys as they are stored: sealed by a master key of the keyring.

    `version` is the generation of the one that seals; the others are there to open what they have
    sealed.
    """

    organization_id: str
    version: int
    master_key_id: str
    wrapped: bytes


class VariablesAccess(msgspec.Struct, Generic[Owner], frozen=True):
    """What a caller may do with what has variables, read in the transaction that acts on it.

    `REFUSALS` are the words for those who see it, and may not do more.
    """

    owner: Owner
    level: Level
    stream: Stream
    key: WrappedKey

    REFUSALS: ClassVar[Mapping[Permission, str]] = {}

    @property
    def may_change(self) -> bool:
        """Whether the caller may write its variables."""
        return self.level >= Level.WRITE

    def require_visible(self) -> None:
        """Refuses as if it were missing when the caller may not even read the variables."""
        if self.level < Level.READ:
            raise not_found()

    def require(self, permission: Permission) -> None:
        """Refuses as not found what the caller may not see, and as forbidden what they may."""
        if self.level < permission.value:
            self.require_visible()
            raise forbidden(self.REFUSALS[permission])


class WorkspaceAccess(VariablesAccess[Workspace], frozen=True):
    """What a caller may do in a workspace."""

    REFUSALS: ClassVar = _REFUSALS

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return self.owner


class SetAccess(VariablesAccess[VariableSet], frozen=True):
    """What a caller may do with a variable set."""

    REFUSALS: ClassVar = {Permission.WRITE_VARIABLES: ONLY_WRITERS_OF_SETS}


class OrganizationAccess(msgspec.Struct, frozen=True):
    """What a caller may do with an organization, read in the transaction that acts on it.

    `team_ids` are the teams of it whose rights the caller has; `rights` are these rights, with
    those that they include. Owners have all.
    """

    organization: Organization
    is_owner: bool
    is_member: bool
    team_ids: frozenset[str]
    rights: Rights
    stream: Stream

    @property
    def sees_secret(self) -> frozenset[str] | None:
        """The ids of the secret teams the caller sees, others among them; None: of all."""
        return None if Right.ACCESS_SECRET_TEAMS in self.rights else self.team_ids

    @property
    def everywhere(self) -> Level:
        """What the caller may do in every workspace, whatever their grants say."""
        return Level.OWNER if self.is_owner else level_of(self.rights)

    @property
    def moves(self) -> bool:
        """Whether the caller puts workspaces into other projects."""
        return self.rights >= BOTH_MANAGE

    def require_visible(self) -> None:
        """Refuses outsiders like a missing organization."""
        if not (self.is_owner or self.is_member):
            raise not_found()

    def require_owner(self) -> None:
        """Refuses members who are not owners as forbidden."""
        self.require_visible()
        if not self.is_owner:
            raise forbidden(_ONLY_OWNERS)

    def require(self, right: Right) -> None:
        """Refuses members without the right as forbidden."""
        self.require_visible()
        if right not in self.rights:
            raise forbidden(f"Only owners and teams with '{right}' may do this.")

    def require_moves(self) -> None:
        """Refuses members who put no workspaces into other projects as forbidden."""
        self.require_visible()
        if not self.moves:
            raise forbidden(_MOVES)


class ProjectAccess(msgspec.Struct, frozen=True):
    """What a caller may do with a project that they see, read in the transaction that acts on it.

    `workspaces` are how many they see of those in it, and `teams` of those with access to it.
    `granted_sets` is what grants let them do with its own variable sets.
    """

    project: Project
    owner: OrganizationAccess
    workspaces: int
    teams: int
    bindings: Mapping[str, str] = {}
    granted_sets: Level = Level.NONE

    @property
    def writes_sets(self) -> bool:
        """Whether the caller makes and changes its own variable sets."""
        return self.owner.moves or self.granted_sets >= Level.WRITE

    @property
    def own_bindings(self) -> list[Binding]:
        """Its tags, by key."""
        return bindings_of(self.project.id, self.bindings)


class Sight(msgspec.Struct, frozen=True):
    """What a caller sees and may do wherever they are in a team, or own: their rights by the ids
    of the organizations, which of these they own, and the ids of their teams.
    """

    rights: Mapping[str, Rights]
    owned: frozenset[str]
    team_ids: frozenset[str]

    def having(self, right: Right) -> list[str]:
        """The organizations where they have a right."""
        return [id_ for id_, rights in self.rights.items() if right in rights]


class TeamAccess(msgspec.Struct, frozen=True):
    """What a caller may do with a team, read in the transaction that acts on it.

    `rights` are those of the caller in the organization, as in `OrganizationAccess`. `lacks_grant`:
    the team may do more in some workspace than the caller, who has `manage-teams`.
    `has_own_token`: it is the caller's own team, which lets its members manage its token.
    """

    team: Team
    organization_name: str
    is_owner: bool
    in_organization: bool
    in_team: bool
    rights: Rights
    lacks_grant: bool
    has_own_token: bool
    stream: Stream

    @property
    def sees(self) -> bool:
        """Whether the caller sees it: outsiders see no team, and only its members a secret one."""
        shown = self.in_team or not self.team.is_secret or Right.ACCESS_SECRET_TEAMS in self.rights
        return self.is_owner or (self.in_organization and shown)

    @property
    def may_manage(self) -> bool:
        """Whether the caller may change and delete it, and make its token.

        No right grows by itself: the team may do nothing that the caller may not.
        """
        manages = Right.MANAGE_TEAMS in self.rights and not self.lacks_grant
        return self.is_owner or (self._is_within_reach and manages)

    @property
    def may_change(self) -> bool:
        """Whether the caller may add and remove its members. Who manages membership may whatever
        grants the team has, but not whatever rights.
        """
        manages = Right.MANAGE_MEMBERSHIP in self.rights and self._is_within_reach
        return self.may_manage or manages

    @property
    def manages_token(self) -> bool:
        """Whether the caller may make, see and revoke its token."""
        return self.may_manage or self.has_own_token

    def require_visible(self) -> None:
        """Refuses like a missing team."""
        if not self.sees:
            raise not_found()

    def require_see_changes(self) -> None:
        """Refuses callers who may see the team but not its changes."""
        self.require_visible()
        if Right.MANAGE_MEMBERSHIP not in self.rights:
            raise forbidden(
                "Only owners and holders of manage-membership may see a team's changes."
            )

    def require_manage(self) -> None:
        """Refuses callers who may see the team but not change it."""
        self.require_visible()
        if not self.may_manage:
            raise forbidden(
                "Only owners may change this team, and holders of manage-teams where it may do "
                "nothing that they may not."
            )

    def require_manage_token(self) -> None:
        """Refuses callers who may see the team but not make, see or revoke its token."""
        self.require_visible()
        if not self.manages_token:
            raise forbidden(
                "Only owners and the organization's token manage this team's token, its members "
                "where the team lets them, and holders of manage-teams where it may do nothing "
                "that they may not."
            )

    def require_manage_membership(self) -> None:
        """Refuses callers who may see the team but not change its members."""
        self.require_visible()
        if self.may_change:
            return
        if self.team.is_owners:
            raise forbidden("Only owners may change the members of the owners team.")
        raise forbidden("You may see this team, but not change its members.")

    @property
    def _is_within_reach(self) -> bool:
        """Whether the caller sees it, and has each right that it has."""
        return self.sees and not self.team.is_owners and whole(self.team.rights) <= self.rights


def level_of(rights: Rights) -> Level:
    """What rights in the organization let a caller do in every workspace."""
    if Right.MANAGE_WORKSPACES in rights:
        return Level.MANAGE
    return Level.READ if Right.READ_WORKSPACES in rights else Level.NONE


PrincipalKind = Literal["user", "team-token", "organization-token"]
"""Who has access: a person, or a token for itself."""


class Standing(StrEnum):
    """Whether a holder can use what they have: an invited or disabled one cannot."""

    ACTIVE = "active"
    INVITED = "invited"
    DISABLED = "disabled"


class Holder(msgspec.Struct, frozen=True):
    """A user, or the token of a team or organization, and what they have through one way.

    `through` is the team, or the organization for its own token.
    """

    kind: str
    id: str
    name: str
    level: Level
    through: str
    standing: Standing = Standing.ACTIVE


class Way(msgspec.Struct, frozen=True):
    """A team through which somebody has access, and how much."""

    team_id: str
    team: str
    level: Level


class Principal(msgspec.Struct, frozen=True):
    """A user, or the live token of a team or organization, that can use what it has.

    `ways` are the teams it has access through, highest first; the organization's token needs none.
    """

    kind: PrincipalKind
    id: str
    name: str
    ways: Sequence[Way]

    @property
    def level(self) -> Level:
        """The highest of all its ways."""
        without = Level.OWNER if self.kind == "organization-token" else Level.NONE
        return max((way.level for way in self.ways), default=without)


class WorkspaceHolders(msgspec.Struct, frozen=True):
    """All who hold rights to a workspace, highest first, then by name."""

    organization: str
    workspace: str
    workspace_id: str
    holders: Sequence[Holder]
