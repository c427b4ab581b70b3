"""Grants: a team's access to a workspace, in the words of HCP Terraform, and the rules that grants
on projects share with them.

Of what an access type lets a team do, only the level of the workspace's variables counts here. The
other permissions are what clients show of it: kept where the access is `custom`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.errors import ONLY_CUSTOM, Fault, not_offered, other_id, unknown_word
from teamvars.domain.linked import ResourceDraft
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


_LOCKS = "Whoever writes variables may lock, and nobody else."
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

LEVELS: Mapping[str, GrantLevel] = {level.word: level for level in GRANT_LEVELS}
"""By what they are called in requests and answers."""


class AnyGrant(Protocol):
    """A team's access to something."""

    @property
    def access(self) -> StrEnum: ...
    @property
    def level(self) -> GrantLevel: ...
    @property
    def custom(self) -> Values: ...


G = TypeVar("G", bound=AnyGrant)


class Terms(msgspec.Struct, frozen=True):
    """What accesses of one kind are called, and what each lets a team do.

    They are to a `place`, and `action` is what their changes are called by in the audit trail.
    `levels` and `implied` have the level and the permissions of each type but `custom`, which says
    its own; `variables` and `locking` are the names of the attributes for the level and for that.
    """

    place: str
    action: str
    types: type[StrEnum]
    levels: Mapping[Any, GrantLevel]
    permissions: Settings
    implied: Mapping[Any, Values]
    variables: str
    locking: str

    def permitted(self, grant: AnyGrant) -> Values:
        """What a grant permits: those of the permissions that are no defaults."""
        locks = {self.locking: grant.level is Level.WRITE}
        return self.implied.get(grant.access) or self.permissions.changed(grant.custom, locks)


class AccessDraft(ResourceDraft, frozen=True):
    """What a request says of a grant; None where it says nothing usable.

    `variables` is the level, and `settings` are those of the permissions that it names. Where the
    access is not `custom` they may say what it says.
    """

    terms: ClassVar[Terms]

    team_id: str | None = None
    access: str | None = None
    variables: str | None = None
    settings: Values = msgspec.field(default_factory=dict)

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        terms = self.terms
        return [
            *self.faults,
            *unknown_word("access", self.access, terms.types, "'access'"),
            *unknown_word(terms.variables, self.variables, LEVELS, "'variables'"),
            *terms.permissions.faults(self.settings),
        ]

    def contradictions(self, former: AnyGrant) -> list[Fault]:
        """A fault for each permission that is not that of the access type, or that says of locking
        what does not follow from the level.

        Those of a draft with faults of its own are not told.
        """
        if self.all_faults():
            return []
        terms, said = self.terms, self.settings
        access = terms.types(self.access or former.access)
        if access not in terms.implied:
            locks = (self.variables or former.level.word) == Level.WRITE.word
            is_other = said.get(terms.locking, locks) is not locks
            return [not_offered(terms.locking, _LOCKS)] if is_other else []
        permitted = terms.implied[access]
        others = [name for name in said if said[name] != terms.permissions.value(permitted, name)]
        if self.variables not in (None, terms.levels[access].word):
            others.append(terms.variables)
        return [_only_custom(name, access) for name in sorted(others)]

    def conflicts(self, id_: str) -> list[Fault]:
        """A fault when the document is about another grant than the path."""
        return other_id(self.id, id_, "access")

    def applied_to(self, grant: G) -> G:
        """The grant as a draft without faults makes it."""
        terms = self.terms
        access = grant.access if self.access is None else terms.types(self.access)
        level = grant.level if self.variables is None else LEVELS[self.variables]
        said = {**self.settings, terms.locking: False}  # which follows from the level
        custom = terms.permissions.changed(terms.permitted(grant), said)
        return replace(  # type: ignore[type-var]  # every grant is a struct
            grant,
            access=access,
            level=terms.levels.get(access, level),
            custom={} if access in terms.implied else custom,
        )


TERMS = Terms(
    "workspace", "grant", AccessType, LEVEL_OF, PERMISSIONS, PERMISSIONS_OF, "variables", LOCKING
)


class Grant(msgspec.Struct, frozen=True):
    """A team's access to a workspace of the same organization. Its level is that of the access
    type, where that has one. `custom` are those of `PERMISSIONS` that are no defaults; empty where
    the access type says them. Whether it locks follows from the level.
    """

    terms: ClassVar = TERMS

    id: str
    organization_id: str
    team_id: str
    workspace_id: str
    access: AccessType
    level: GrantLevel
    custom: Values = {}

    @property
    def place_id(self) -> str:
        """The id of the workspace."""
        return self.workspace_id

    @property
    def permissions(self) -> Values:
        """Those of `PERMISSIONS` that are no defaults."""
        return TERMS.permitted(self)


class NamedGrant(msgspec.Struct, Generic[G], frozen=True):
    """A grant, and what its team and the workspace or project that it is on are called."""

    grant: G
    team: str
    visibility: Visibility
    place: str


class GrantDraft(AccessDraft, frozen=True):
    """What a request says of a grant on a workspace."""

    terms = TERMS

    workspace_id: str | None = None


def _only_custom(name: str, access: str) -> Fault:
    """A permission is given that the access type says itself."""
    called = name.rpartition("/")[2].replace("-", " ").capitalize()
    return ONLY_CUSTOM.filled(called=called, access=access).at(f"/data/attributes/{name}")
