"""Variables: what they are, what may be asked of them, the sensitive rules, and which version a
request demands (RFC 9110, 13.1).
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from teamvars.domain.errors import (
    CHANGED_OR_GONE,
    DAMAGED_VALUE,
    EXISTS_NOW,
    OTHER_VERSION,
    SENSITIVE_IS_PERMANENT,
    Code,
    Fault,
    Refusal,
)
from teamvars.domain.keys import Sealed
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category, key_faults, value_faults

MAX_DESCRIPTION_CHARACTERS = 512
MAX_WORKSPACE_VALUE_BYTES = 16 * 1024 * 1024
MAX_LISTED_IDS = 10_000
"""Of variables of several workspaces or sets together; where there are more, a list has none."""

_ATTRIBUTES = "/data/attributes"
_LONG_DESCRIPTION = f"A description has at most {MAX_DESCRIPTION_CHARACTERS} characters."


class Variable(Discreet, frozen=True, gc=False):
    """A variable as its readers see it: `value` is None when it is sensitive. Times in µs UTC.

    `owner_id` is that of the workspace or of the set that has it.
    """

    id: str
    owner_id: str
    key: str
    value: str | None
    description: str
    category: Category
    hcl: bool
    sensitive: bool
    version_id: str
    created_at: int

    def with_value(self, value: str | None) -> "Variable":
        """The same with another value."""
        return replace(self, value=value)

    def as_shown(self) -> "Variable":
        """A variable just written, as its readers will see it."""
        return self.with_value(None) if self.sensitive else self

    def audited(self) -> dict[str, object]:
        """What the audit trail says of it with every change."""
        return {
            "key": self.key,
            "category": self.category.value,
            "sensitive": self.sensitive,
            "version-id": self.version_id,
        }


class StoredVariable(msgspec.Struct, frozen=True, gc=False):
    """A variable whose value is still sealed (`variable.value` is None); `value_bytes` counts it.

    `sealed` is None where it was not fetched: a sensitive value, unless it was asked for.
    """

    variable: Variable
    sealed: Sealed | None
    value_bytes: int


class SourceCode(Discreet, frozen=True):
    """A value to parse, and the member of the request to blame when it does not."""

    text: str
    pointer: str


class VariableDraft(Discreet, frozen=True, gc=False):
    """What a request asks a variable to be; None where it says nothing (no attribute may be null).

    `faults` are those found while decoding the document. They are carried along, not raised, until
    it is settled that the caller may do this at all (contract §2). `at` points to the attributes.
    """

    key: str | None = None
    value: str | None = None
    description: str | None = None
    category: Category | None = None
    hcl: bool | None = None
    sensitive: bool | None = None
    faults: tuple[Fault, ...] = ()
    at: str = _ATTRIBUTES

    @classmethod
    def like(cls, variable: object, **others: object) -> "VariableDraft":
        """What asks for a variable like that, whoever shows it, but for the `others`."""
        said = {name: getattr(variable, name) for name in ATTRIBUTES}
        return cls(**{**said, **others})

    def build(
        self, owner_id: str, now: int, ids: tuple[str, str], more: Sequence[Fault] = ()
    ) -> Variable:
        """The new variable, with fresh ids of its own and of its version.

        Refuses with every fault of the draft, and those `more`.
        """
        self._require_faultless(more)
        assert self.key is not None and self.category is not None  # decoding requires both
        return Variable(
            id=ids[0],
            owner_id=owner_id,
            key=self.key,
            value=self.value or "",
            description=self.description or "",
            category=self.category,
            hcl=self.hcl or False,
            sensitive=self.sensitive or False,
            version_id=ids[1],
            created_at=now,
        )

    def applied_to(
        self, variable: Variable, version_id: str, more: Sequence[Fault] = ()
    ) -> Variable:
        """The variable as it will be, at that new version.

        Refuses with every fault of the draft, and those `more`.

        `value` stays None where neither side says it: a stored sensitive value is not needed to
        change what surrounds it.
        """
        permanent = variable.sensitive and self.sensitive is False
        last = [SENSITIVE_IS_PERMANENT.at(f"{self.at}/sensitive")] if permanent else []
        self._require_faultless(more, last)
        said = {name: value for name in ATTRIBUTES if (value := getattr(self, name)) is not None}
        return replace(variable, version_id=version_id, **said)

    def renames(self, before: Variable) -> bool:
        """Whether it gives the variable another key or category."""
        name = before.key, before.category
        return (self.key or before.key, self.category or before.category) != name

    def code(self, before: Variable | None) -> SourceCode | None:
        """The value that must parse as configuration-language code, if the request makes it one.

        `before` is the stored variable, None for a create. A stored sensitive value is not asked
        for, and neither is one that the request has no bearing on. Of a request that is at fault
        about one of these, nobody knows what it would make code.
        """
        if self.faults and self._is_unclear():
            return None
        category = self.category or (before and before.category)
        hcl = self.hcl if self.hcl is not None or before is None else before.hcl
        if category is not Category.TOOL or not hcl:
            return None
        if self.value is not None:
            return SourceCode(self.value, f"{self.at}/value")
        value = "" if before is None else before.value
        trigger = "hcl" if self.hcl is not None else "category" if self.category else None
        if value is None or trigger is None:
            return None
        return SourceCode(value, f"{self.at}/{trigger}")

    def changed(self, before: Variable, after: Variable) -> list[str]:
        """The names of the attributes that are others now, for the audit trail.

        Nobody learns from it whether a sensitive value is one that they know: of a variable that is
        sensitive now, a value that is said counts as another.
        """
        hidden = {"value"} if after.sensitive and self.value is not None else set()
        return [
            name
            for name in ATTRIBUTES
            if name in hidden or getattr(before, name) != getattr(after, name)
        ]

    def all_faults(self, more: Sequence[Fault] = (), last: Sequence[Fault] = ()) -> list[Fault]:
        """Those of the document, those `more`, every rule it breaks, and those that come `last`."""
        is_long = len(self.description or "") > MAX_DESCRIPTION_CHARACTERS
        details = {
            "key": [] if self.key is None else key_faults(self.key),
            "value": value_faults(self.value or ""),
            "description": [_LONG_DESCRIPTION] if is_long else [],
        }
        own = [
            Fault(Code.INVALID_VALUE, detail, pointer=f"{self.at}/{name}")
            for name, found in details.items()
            for detail in found
        ]
        return [*self.faults, *more, *own, *last]

    def _require_faultless(self, more: Sequence[Fault], last: Sequence[Fault] = ()) -> None:
        if faults := self.all_faults(more, last):
            raise Refusal(*faults)

    def _is_unclear(self) -> bool:
        """Whether what was sent as value, category or `hcl` could not be read."""
        unclear = {f"{self.at}/{name}" for name in ("value", "category", "hcl")}
        return any(fault.pointer in unclear for fault in self.faults)


ATTRIBUTES = tuple(name for name in VariableDraft.__struct_fields__ if name not in ("faults", "at"))
"""What a request may say of a variable. tests/test_variable_attributes.py has their places."""
UNNOTICED = frozenset(("description",))
"""Attributes that runs are not given."""


class ValueDraft(Discreet, frozen=True):
    """A value that somebody wants to try, and whether as code."""

    value: str | None = None
    hcl: bool = False
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and a value that is too long for any variable."""
        details = value_faults(self.value or "")
        pointer = f"{_ATTRIBUTES}/value"
        return [*self.faults, *(Fault(Code.INVALID_VALUE, one, pointer=pointer) for one in details)]


def damaged_value(variable: Variable, pointer: str | None = None) -> Fault:
    """The stored value of a variable does not open. `pointer`: where a new one would stand."""
    return DAMAGED_VALUE.filled({"id": variable.id, "key": variable.key}).at(pointer)


class Versions(msgspec.Struct, frozen=True):
    """The versions an `If-Match` admits; `any_version` for `*` (RFC 9110, 13.1.1)."""

    version_ids: frozenset[str] = frozenset()
    any_version: bool = False

    def require(self, *version_ids: str) -> None:
        """Refuses when what is to be changed is at another version; it may be known by several."""
        if not self.any_version and self.version_ids.isdisjoint(version_ids):
            raise Refusal(OTHER_VERSION)


ANY_VERSION = Versions(any_version=True)

Expected = str | None | UnsetType
"""The version a variable must be at. None: it must not exist. UNSET: nothing is expected."""


def staleness(expected: Expected, version_id: str | None, at: str) -> list[Fault]:
    """A fault, unless what is there is as expected at that pointer; None where nothing is."""
    if expected is UNSET or expected == version_id:
        return []
    return [(EXISTS_NOW if expected is None else CHANGED_OR_GONE).at(at)]
