"""The directory as an operator writes it: users, organizations, and who is in what (contract §7).

None in a field means that the file does not speak of it, and what is there stays. `at` is the file
and line where an entry stands, for messages about it; `member_at`, `workspace_at` and `project_at`
say it of the names in it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.client_settings import Values
from teamvars.domain.memberships import Status
from teamvars.domain.names import Origin, fold
from teamvars.domain.project_grants import LEVEL_OF, ProjectAccessType, ProjectGrant
from teamvars.domain.set_effects import Effect
from teamvars.domain.tags import Tags
from teamvars.domain.team_access import AccessType, GrantLevel
from teamvars.domain.teams import Right, Rights, Visibility

FileAccess = Literal[AccessType.READ, AccessType.WRITE]
"""The access types of workspaces that a file has words for."""

FILE_ACCESS: tuple[FileAccess, ...] = (AccessType.READ, AccessType.WRITE)


class ProjectAccess(msgspec.Struct, frozen=True):
    """A team's access to a project: by its name alone or, where that is custom, with its level and
    with those of the other permissions that are no defaults.
    """

    access: ProjectAccessType
    level: GrantLevel = Level.NONE
    custom: Values = {}

    @classmethod
    def of(cls, grant: ProjectGrant) -> Self:
        """What a file says of that grant."""
        is_custom = grant.access is ProjectAccessType.CUSTOM
        return cls(grant.access, grant.level, grant.custom) if is_custom else cls(grant.access)

    def applied_to(self, grant: ProjectGrant) -> ProjectGrant:
        """The grant as the file makes it."""
        level = LEVEL_OF.get(self.access, self.level)
        return replace(grant, access=self.access, level=level, custom=self.custom)


class UserEntry(msgspec.Struct, frozen=True):
    """A user the file names."""

    username: str
    email: str | None = None
    site_admin: bool | None = None
    at: str = ""


class ProjectEntry(msgspec.Struct, frozen=True):
    """A project the file names. `tag_bindings` are exact when they are present."""

    name: str
    tag_bindings: Mapping[str, str] | None = None
    at: str = ""
    origin: Origin = Origin()


class TeamEntry(msgspec.Struct, frozen=True):
    """A team the file names. `members`, `workspaces` and `projects` are exact when they are
    present.
    """

    name: str
    visibility: Visibility | None = None
    manage_membership: bool | None = None
    members_manage_token: bool | None = None
    members: tuple[str, ...] | None = None
    workspaces: Mapping[str, FileAccess] | None = None
    at: str = ""
    member_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    workspace_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    origin: Origin = Origin()
    read_workspaces: bool | None = None
    manage_workspaces: bool | None = None
    read_projects: bool | None = None
    manage_projects: bool | None = None
    manage_teams: bool | None = None
    manage_organization_access: bool | None = None
    access_secret_teams: bool | None = None
    projects: Mapping[str, ProjectAccess] | None = None
    project_at: Mapping[str, str] = msgspec.field(default_factory=dict)

    def rights_after(self, rights: Rights) -> Rights:
        """The rights of a team that has these, once the file is applied."""
        said = {right: getattr(self, right.replace("-", "_")) for right in Right}
        return frozenset(
            right for right in Right if (right in rights if said[right] is None else said[right])
        )


class RunnerEntry(msgspec.Struct, frozen=True):
    """A runner the file names; `expired_at` in µs UTC. A file proposes, and never approves.

    `conditions`, `workspaces` and `patterns` are exact when they are present. `key_at` says where
    each of its keys stands.
    """

    name: str
    description: str | None = None
    issuer: str | None = None
    conditions: Mapping[str, str] | None = None
    public_key: str | None = None
    workspaces: tuple[str, ...] | None = None
    patterns: tuple[str, ...] | None = None
    include_sensitive: bool | None = None
    allow_unbound: bool | None = None
    max_ttl: int | None = None
    expired_at: int | None = None
    at: str = ""
    key_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    workspace_at: Mapping[str, str] = msgspec.field(default_factory=dict)


class SetEntry(msgspec.Struct, frozen=True):
    """A variable set the file names, and not what is in it. `workspaces` and `projects` are exact
    when they are present; `project` is the one whose it is.
    """

    name: str
    description: str | None = None
    is_global: bool | None = None
    is_priority: bool | None = None
    workspaces: tuple[str, ...] | None = None
    at: str = ""
    workspace_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    origin: Origin = Origin()
    project: str | None = None
    projects: tuple[str, ...] | None = None
    project_at: Mapping[str, str] = msgspec.field(default_factory=dict)


class TagsEntry(msgspec.Struct, frozen=True):
    """The tags of a workspace the file names. Both are exact when they are present."""

    tag_names: tuple[str, ...] | None = None
    tag_bindings: Mapping[str, str] | None = None

    def applied_to(self, tags: Tags) -> Tags:
        """The tags of a workspace that has these, once the file is applied."""
        names, bindings = self.tag_names, self.tag_bindings
        return Tags(
            tags.names if names is None else tuple(sorted(set(map(fold, names)))),
            tags.bindings if bindings is None else dict(sorted(bindings.items())),
        )


class OrganizationEntry(msgspec.Struct, frozen=True):
    """An organization the file names; `members` adds and changes status, and removes nobody.

    `origins`, `tags` and `placed` are of those of its workspaces of which the file says more than
    the name; the last says in which project.
    """

    name: str
    members: Mapping[str, Status] = msgspec.field(default_factory=dict)
    workspaces: tuple[str, ...] = ()
    teams: tuple[TeamEntry, ...] = ()
    runners: tuple[RunnerEntry, ...] = ()
    at: str = ""
    member_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    workspace_at: Mapping[str, str] = msgspec.field(default_factory=dict)
    origin: Origin = Origin()
    origins: Mapping[str, Origin] = msgspec.field(default_factory=dict)
    tags: Mapping[str, TagsEntry] = msgspec.field(default_factory=dict)
    projects: tuple[ProjectEntry, ...] = ()
    placed: Mapping[str, str] = msgspec.field(default_factory=dict)
    variable_sets: tuple[SetEntry, ...] = ()


class Directory(msgspec.Struct, frozen=True):
    """One file."""

    users: tuple[UserEntry, ...] = ()
    organizations: tuple[OrganizationEntry, ...] = ()


class OrganizationIds(msgspec.Struct, frozen=True, rename="kebab"):
    """The ids of everything the file names in one organization."""

    id: str
    workspaces: Mapping[str, str]
    teams: Mapping[str, str]
    memberships: Mapping[str, str]
    runners: Mapping[str, str]
    projects: Mapping[str, str]
    variable_sets: Mapping[str, str]


class Exported(msgspec.Struct, frozen=True):
    """A directory as it is, and what a file cannot say of it, a line each."""

    directory: Directory
    unsaid: Sequence[str]


class Applied(msgspec.Struct, frozen=True):
    """What applying a file did, or would do: the ids it speaks of and the changes, in order.

    `disabled` are the named users who are disabled, and stay so: a file cannot say that.
    `proposed` are the runners, as ORG/NAME, of which a version waits for approval now. `held` says
    for how long, in seconds, it kept writers waiting: on SQLite all of them, on PostgreSQL those of
    the organizations it names. `effects` are of a dry run alone: what becomes of workspaces by way
    of variable sets, by the organization's name.
    """

    organizations: Mapping[str, OrganizationIds]
    users: Mapping[str, str]
    changes: tuple[str, ...]
    disabled: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    held: float = 0.0
    effects: Mapping[str, Sequence[Effect]] = {}
