"""Who may do what with the variables of a workspace, as a reviewer of access wants to see it."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from teamvars.domain.access import Level


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


class WorkspaceHolders(msgspec.Struct, frozen=True):
    """All who hold rights to a workspace, highest first, then by name."""

    organization: str
    workspace: str
    workspace_id: str
    holders: Sequence[Holder]
