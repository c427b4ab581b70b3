"""Who may do what with the variables of a workspace, for reviewers of access."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from teamvars.domain.access import Level

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
