"""Grants on projects: a team's access to all workspaces of one, in the words of HCP Terraform; and
who gains and who loses when workspaces come into another project.

Besides the level of the workspaces' variables, only that of the project's variable sets counts. A
permission that would be another right in the project or in its workspaces is not offered: those are
rights in the organization here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Level, level_of
from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.pages import IdsDraft
from teamvars.domain.team_access import LEVELS, AccessDraft, Grant, GrantLevel, Terms, words
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import WorkspaceRecord

IN_PROJECT, IN_WORKSPACES = "project-access", "workspace-access"
SETS = f"{IN_PROJECT}/variable-sets"
VARIABLES, LOCKING = f"{IN_WORKSPACES}/variables", f"{IN_WORKSPACES}/locking"
_BY_RIGHT = "Who may do this has '{}' in the organization, or is an owner of it."
_WORKSPACES = _BY_RIGHT.format("manage-workspaces")
_PROJECTS = _BY_RIGHT.format("manage-projects")


class ProjectAccessType(StrEnum):
    """What a grant on a project is called; `custom` alone says its level apart."""

    READ = "read"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"
    CUSTOM = "custom"


LEVEL_OF: Mapping[ProjectAccessType, GrantLevel] = {
    ProjectAccessType.READ: Level.READ,
    ProjectAccessType.WRITE: Level.WRITE,
    ProjectAccessType.MAINTAIN: Level.WRITE,
    ProjectAccessType.ADMIN: Level.WRITE,
}
"""The level of each access type but `custom`."""


def _never(name: str, why: str) -> Setting:
    return Setting(f"{IN_WORKSPACES}/{name}", False, why, not_offered=why)


PERMISSIONS = Settings(
    Setting(
        f"{IN_PROJECT}/settings",
        "read",
        "What of the project's settings.",
        words={"read": "", "update": _PROJECTS, "delete": _PROJECTS},
    ),
    Setting(
        f"{IN_PROJECT}/teams",
        "none",
        "What of others' access to it; who sees the team and the project sees it.",
        words={"none": "", "read": "", "manage": "Only owners give access to a project."},
    ),
    Setting(
        SETS,
        "none",
        "What of the project's own variable sets.",
        words=words("none", "read", "write"),
    ),
    Setting(
        f"{IN_WORKSPACES}/runs",
        "read",
        "What of runs; there are none.",
        words=words("read", "plan", "apply"),
    ),
    Setting(
        f"{IN_WORKSPACES}/sentinel-mocks",
        "none",
        "What of mocks of policies; there are none.",
        words=words("none", "read"),
    ),
    Setting(
        f"{IN_WORKSPACES}/state-versions",
        "none",
        "What of states; there are none.",
        words=words("none", "read-outputs", "read", "write"),
    ),
    _never("create", _WORKSPACES),
    Setting(LOCKING, False, "Whether it locks: so does who writes variables, and nobody else."),
    _never("delete", _WORKSPACES),
    _never("move", _BY_RIGHT.format("manage-workspaces' and 'manage-projects")),
    Setting(f"{IN_WORKSPACES}/run-tasks", False, "Whether it manages tasks of runs."),
    Setting(f"{IN_WORKSPACES}/policy-overrides", False, "Whether it overrides policies."),
)
"""What a `custom` access says besides the level of variables."""

_READING: Values = {f"{IN_WORKSPACES}/state-versions": "read"}
_WRITING: Values = {
    f"{IN_WORKSPACES}/runs": "apply",
    f"{IN_WORKSPACES}/state-versions": "write",
    f"{IN_WORKSPACES}/sentinel-mocks": "read",
    LOCKING: True,
}
_MANAGING: Values = {**_WRITING, f"{IN_WORKSPACES}/run-tasks": True}
PERMISSIONS_OF: Mapping[ProjectAccessType, Values] = {
    ProjectAccessType.READ: _READING,
    ProjectAccessType.WRITE: _WRITING,
    ProjectAccessType.MAINTAIN: _MANAGING,
    ProjectAccessType.ADMIN: {**_MANAGING, SETS: "write"},
}
"""The same of each access type but `custom`, those of them that are no defaults."""

TERMS = Terms(
    "project",
    "project-grant",
    ProjectAccessType,
    LEVEL_OF,
    PERMISSIONS,
    PERMISSIONS_OF,
    VARIABLES,
    LOCKING,
)


class ProjectGrant(msgspec.Struct, frozen=True):
    """A team's access to a project of the same organization, as a `Grant` on a workspace."""

    terms: ClassVar = TERMS

    id: str
    organization_id: str
    team_id: str
    project_id: str
    access: ProjectAccessType
    level: GrantLevel
    custom: Values = {}

    @property
    def place_id(self) -> str:
        """The id of the project."""
        return self.project_id

    @property
    def permissions(self) -> Values:
        """Those of `PERMISSIONS` that are no defaults."""
        return TERMS.permitted(self)

    @property
    def set_level(self) -> GrantLevel:
        """What the team may do with the project's own variable sets."""
        return LEVELS[str(PERMISSIONS.value(self.permissions, SETS))]


class ProjectGrantDraft(AccessDraft, frozen=True):
    """What a request says of a grant on a project."""

    terms = TERMS

    project_id: str | None = None

    def applied_to(self, grant: ProjectGrant) -> ProjectGrant:
        """The grant as a draft without faults makes it."""
        return replace(grant, **self.changes(grant))


class MoveDraft(IdsDraft, frozen=True):
    """Workspaces that a request puts into a project, or asks what would come of it."""

    dry_run: bool = False


class AccessChange(msgspec.Struct, frozen=True):
    """What the members of a team may do in so many workspaces before, and afterwards."""

    team: Team
    before: Level
    after: Level
    workspaces: int


class Foreseen(msgspec.Struct, frozen=True):
    """What would come of a move: how many workspaces come from elsewhere, and whose access changes,
    by the names of teams. `unseen`: of how many teams that the caller does not see.

    By their names, `gained` are the variable sets that would come to some of them, and `lost` those
    that would not reach some any more; `runners` would be handed sensitive values that come.
    """

    workspaces: int
    changes: Sequence[AccessChange]
    unseen: int
    gained: Sequence[str] = ()
    lost: Sequence[str] = ()
    runners: Sequence[str] = ()


class Access(msgspec.Struct, frozen=True):
    """The teams of an organization, and what they have on some workspaces and projects."""

    teams: Sequence[Team]
    grants: Sequence[Grant]
    project_grants: Sequence[ProjectGrant]

    def changes(self, coming: Sequence[WorkspaceRecord], project_id: str) -> list[AccessChange]:
        """What the teams gain and lose when the workspaces come into a project.

        Each grant is looked at once: there may be thousands of teams, and of workspaces.
        """
        places = {one.workspace.id: one.in_project for one in coming}
        inside = Counter(places.values())
        on: dict[str, dict[str, Level]] = {}
        by_project: dict[str, dict[str, Level]] = {}
        for grant in self.grants:
            on.setdefault(grant.team_id, {})[grant.workspace_id] = grant.level
        for given in self.project_grants:
            by_project.setdefault(given.team_id, {})[given.project_id] = given.level
        found = []
        for team in self.teams:
            its = by_project.get(team.id)
            if its is None or team.is_owners:
                continue
            least, will_be = level_of(team.rights), its.get(project_id, Level.NONE)
            # How many workspaces have which level by their project, and what they have besides.
            counted: Counter[tuple[Level, Level]] = Counter()
            for place, level in its.items():
                counted[level, least] += inside[place]
            counted[Level.NONE, least] += len(coming) - counted.total()
            for id_, level in on.get(team.id, {}).items():
                was = its.get(places[id_], Level.NONE)
                counted[was, least] -= 1
                counted[was, max(level, least)] += 1
            changes: Counter[tuple[Level, Level]] = Counter()
            for (was, own), count in counted.items():
                changes[max(was, own), max(will_be, own)] += count
            found += [
                AccessChange(team, before, after, count)
                for (before, after), count in sorted(changes.items())
                if count and before != after
            ]
        return found
