"""Grants: a team's access to a workspace, in the words of HCP Terraform.

Of what an access type lets a team do, only the level of the workspace's variables counts here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.errors import Code, Fault, unknown_word
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

_WORDS = {level.word: level for level in GRANT_LEVELS}


class Grant(msgspec.Struct, frozen=True):
    """A team's access to a workspace of the same organization. Its level is that of the access
    type, where that has one."""

    id: str
    organization_id: str
    team_id: str
    workspace_id: str
    access: AccessType
    level: GrantLevel


class NamedGrant(msgspec.Struct, frozen=True):
    """A grant, and what its team and its workspace are called."""

    grant: Grant
    team: str
    visibility: Visibility
    workspace: str


class GrantDraft(msgspec.Struct, frozen=True):
    """What a request says of a grant; None where it says nothing usable.

    `variables` counts where the access is `custom`, and nowhere else.
    """

    id: str | None = None
    team_id: str | None = None
    workspace_id: str | None = None
    access: str | None = None
    variables: str | None = None
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *unknown_word("access", self.access, AccessType, "'access'"),
            *unknown_word("variables", self.variables, _WORDS, "'variables'"),
        ]

    def conflicts(self, id_: str) -> list[Fault]:
        """A fault when the document is about another grant than the path."""
        if self.id in (None, id_):
            return []
        return [Fault(Code.ID_CONFLICT, "This is not the id in the path.", pointer="/data/id")]

    def applied_to(self, grant: Grant) -> Grant:
        """The grant as a draft without faults makes it."""
        access = grant.access if self.access is None else AccessType(self.access)
        custom = grant.level if self.variables is None else _WORDS[self.variables]
        return replace(grant, access=access, level=LEVEL_OF.get(access, custom))
