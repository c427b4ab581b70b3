"""Grants on projects: a team's access to all workspaces of one, in the words of HCP Terraform.

Besides the level of the workspaces' variables, only that of the project's variable sets counts. A
permission that would be another right in the project or in its workspaces is not offered: those are
rights in the organization here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

import msgspec

from teamvars.domain.access import Level
from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.team_access import LEVELS, AccessDraft, GrantLevel, Terms, words

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
