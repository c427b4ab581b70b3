"""Grants: a team's access to a workspace, in the words of HCP Terraform.

Of what an access type lets a team do, only the level of the workspace's variables counts here. The
other permissions are what clients show of it: kept where the access is `custom`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.errors import ONLY_CUSTOM, Code, Fault, not_offered, unknown_word
from teamvars.domain.teams import Visibility


class AccessType(StrEnum):
    """What a grant is called; `custom` alone says its level apart."""

    READ = "read"
    PLAN = "plan"
    WRITE = "write"
    ADMIN = "admin"
    CUSTOM = "custom"


GrantLevel = Literal[Level.NONE, Level.READ, Level.WRITE]
"""The levels a grant may give: nobody is made an owner by one."""

GRANT_LEVELS: tuple[GrantLevel, ...] = (Level.NONE, Level.READ, Level.WRITE)

LEVEL_OF: Mapping[AccessType, GrantLevel] = {
    AccessType.READ: Level.READ,
    AccessType.PLAN: Level.READ,
    AccessType.WRITE: Level.WRITE,
    AccessType.ADMIN: Level.WRITE,
}
"""The level of each access type but `custom`."""


def words(*offered: str) -> Mapping[str, str]:
    """What a permission may be, all of which is kept."""
    return dict.fromkeys(offered, "")


LOCKS = "Whoever writes variables may lock, and nobody else."
LOCKING = "workspace-locking"

PERMISSIONS = Settings(
    Setting("runs", "read", "What of runs; there are none.", words=words("read", "plan", "apply")),
    Setting(
        "state-versions",
        "none",
        "What of states; there are none.",
        words=words("none", "read-outputs", "read", "write"),
    ),
    Setting(
        "sentinel-mocks",
        "none",
        "What of mocks of policies; there are none.",
        words=words("none", "read"),
    ),
    Setting(LOCKING, False, "Whether it locks: so does who writes variables, and nobody else."),
    Setting("run-tasks", False, "Whether it manages tasks of runs; there are none."),
    Setting("policy-overrides", False, "Whether it overrides policies; there are none."),
)
"""What a `custom` access says besides the level of variables."""

_WRITING: Values = {
    "runs": "apply",
    "state-versions": "write",
    "sentinel-mocks": "read",
    LOCKING: True,
}
PERMISSIONS_OF: Mapping[AccessType, Values] = {
    AccessType.READ: {"state-versions": "read"},
    AccessType.PLAN: {"runs": "plan", "state-versions": "read"},
    AccessType.WRITE: _WRITING,
    AccessType.ADMIN: {**_WRITING, "run-tasks": True},
}
"""The same of each access type but `custom`, those of them that are no defaults."""

_WORDS = {level.word: level for level in GRANT_LEVELS}


class Grant(msgspec.Struct, frozen=True):
    """A team's access to a workspace of the same organization. Its level is that of the access
    type, where that has one. `custom` are those of `PERMISSIONS` that are no defaults; empty where
    the access type says them. Whether it locks follows from the level.
    """

    id: str
    organization_id: str
    team_id: str
    workspace_id: str
    access: AccessType
    level: GrantLevel
    custom: Values = {}

    @property
    def permissions(self) -> Values:
        """Those of `PERMISSIONS` that are no defaults."""
        locking = {LOCKING: self.level is Level.WRITE}
        return PERMISSIONS_OF.get(self.access) or PERMISSIONS.changed(self.custom, locking)


class NamedGrant(msgspec.Struct, frozen=True):
    """A grant, and what its team and its workspace are called."""

    grant: Grant
    team: str
    visibility: Visibility
    workspace: str


class GrantDraft(msgspec.Struct, frozen=True):
    """What a request says of a grant; None where it says nothing usable.

    `variables` is the level, and `settings` are those of `PERMISSIONS` that it names. Where the
    access is not `custom` they may say what it says.
    """

    id: str | None = None
    team_id: str | None = None
    workspace_id: str | None = None
    access: str | None = None
    variables: str | None = None
    settings: Values = {}
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *unknown_word("access", self.access, AccessType, "'access'"),
            *unknown_word("variables", self.variables, _WORDS, "'variables'"),
            *PERMISSIONS.faults(self.settings),
        ]

    def contradictions(self, former: Grant) -> list[Fault]:
        """A fault for each permission that is not that of the access type, or that says of locking
        what does not follow from the level.

        Those of a draft with faults of its own are not told.
        """
        if self.all_faults():
            return []
        access = AccessType(self.access or former.access)
        if access is AccessType.CUSTOM:
            locks = (self.variables or former.level.word) == Level.WRITE.word
            is_other = self.settings.get(LOCKING, locks) is not locks
            return [not_offered(LOCKING, LOCKS)] if is_other else []
        said, level = dict(self.settings), LEVEL_OF[access]
        permitted = PERMISSIONS_OF[access]
        others = [name for name in said if said[name] != PERMISSIONS.value(permitted, name)]
        if self.variables not in (None, level.word):
            others.append("variables")
        return [only_custom(name, access) for name in sorted(others)]

    def conflicts(self, id_: str) -> list[Fault]:
        """A fault when the document is about another grant than the path."""
        if self.id in (None, id_):
            return []
        return [Fault(Code.ID_CONFLICT, "This is not the id in the path.", pointer="/data/id")]

    def applied_to(self, grant: Grant) -> Grant:
        """The grant as a draft without faults makes it."""
        access = grant.access if self.access is None else AccessType(self.access)
        level = grant.level if self.variables is None else _WORDS[self.variables]
        custom = PERMISSIONS.changed(grant.permissions, {**self.settings, LOCKING: False})
        return replace(
            grant,
            access=access,
            level=LEVEL_OF.get(access, level),
            custom={} if access in PERMISSIONS_OF else custom,
        )


def only_custom(name: str, access: str) -> Fault:
    """A permission is given that the access type says itself."""
    called = name.rpartition("/")[2].replace("-", " ").capitalize()
    return ONLY_CUSTOM.filled(called=called, access=access).at(f"/data/attributes/{name}")
