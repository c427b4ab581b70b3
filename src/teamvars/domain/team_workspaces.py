"""A team's access to a workspace, in the words of HCP Terraform; what counts are its variables."""

from enum import IntEnum, StrEnum

import msgspec

from teamvars.domain.errors import Code, Fault


class AccessType(StrEnum):
    """What an access is called."""

    READ = "read"
    PLAN = "plan"
    WRITE = "write"
    ADMIN = "admin"
    CUSTOM = "custom"


class VariableLevel(IntEnum):
    """What it lets a team do with the workspace's variables."""

    NONE = 0
    READ = 1
    WRITE = 2

    @property
    def word(self) -> str:
        """What it is called in requests and answers."""
        return self.name.lower()


_LEVELS = {
    AccessType.READ: VariableLevel.READ,
    AccessType.PLAN: VariableLevel.READ,
    AccessType.WRITE: VariableLevel.WRITE,
    AccessType.ADMIN: VariableLevel.WRITE,
}
_WORDS = {level.word: level for level in VariableLevel}
_TEAM = "/data/relationships/team/data/id"
_WORKSPACE = "/data/relationships/workspace/data/id"


class TeamWorkspace(msgspec.Struct, frozen=True):
    """A team's access to a workspace of the same organization."""

    id: str
    team_id: str
    workspace_id: str
    access: AccessType
    level: VariableLevel


class TeamWorkspaceDraft(msgspec.Struct, frozen=True):
    """What a request says of an access; None where it says nothing usable.

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
            *_word_faults("access", self.access, [word.value for word in AccessType]),
            *_word_faults("variables", self.variables, list(_WORDS)),
        ]

    def conflicts(self, id_: str) -> list[Fault]:
        """A fault when the document is about another access than the path."""
        if self.id in (None, id_):
            return []
        return [Fault(Code.ID_CONFLICT, "This is not the id of the path.", pointer="/data/id")]

    def rights(self, access: AccessType, level: VariableLevel) -> tuple[AccessType, VariableLevel]:
        """What a draft without faults makes of an access."""
        if self.access is not None:
            access = AccessType(self.access)
        if access is not AccessType.CUSTOM:
            return access, _LEVELS[access]
        return access, level if self.variables is None else _WORDS[self.variables]


def no_such_team() -> Fault:
    """There is no team with that id, or the caller may not see it."""
    return Fault(Code.NOT_FOUND, "It does not exist, or you may not see it.", pointer=_TEAM)


def no_such_workspace() -> Fault:
    """The team's organization has no workspace with that id."""
    return Fault(Code.NOT_FOUND, "It does not exist, or you may not see it.", pointer=_WORKSPACE)


def owners_need_none() -> Fault:
    """The owners team has every right already."""
    detail = "The owners team may do everything in every workspace, and has no grants."
    return Fault(Code.OWNERS_IS_PERMANENT, detail, pointer=_TEAM)


def taken() -> Fault:
    """The team has an access to the workspace already."""
    detail = "The team has access to this workspace already: change that one."
    return Fault(Code.GRANT_TAKEN, detail, pointer=_TEAM)


def _word_faults(name: str, word: str | None, known: list[str]) -> list[Fault]:
    if word is None or word in known:
        return []
    detail = f"'{name}' is one of {', '.join(known)}."
    return [Fault(Code.INVALID_VALUE, detail, pointer=f"/data/attributes/{name}")]
