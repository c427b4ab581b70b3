"""Searching the variables of an organization: what is wanted, and in which order it comes.

The order is that of code points: by key, then variables of sets before those of workspaces, each by
the name of the set or workspace as it is compared, then category.
"""

from typing import NamedTuple, Self

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.errors import not_found
from teamvars.domain.owned_variables import Owner
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, Category

MAX_PAGE_VALUE_BYTES = 1024 * 1024
"""The bytes of values on a page; the value that exceeds them is the first of the next page, unless
it is the first of its own."""

_LAST_CHARACTER = "\U0010ffff"
_BEFORE_SURROGATES, _AFTER_SURROGATES = "\ud7ff", "\ue000"
_AFTER_ALL_KEYS = _LAST_CHARACTER * (MAX_KEY_CHARACTERS + 1)
_AFTER_ALL_NAMES = "~"  # of workspaces: letters of ASCII, digits, '-' and '_'
_LEAST_CONTROL = "\x01"  # no key has any
SET_MARK = "!"
"""What the name of a set in a place begins with: it comes before all names of workspaces."""


class Place(NamedTuple):
    """A place in the order, whether or not a variable is there. The name is that of a workspace or,
    behind `SET_MARK`, of a set.
    """

    key: str
    name: str
    category: str

    @classmethod
    def before(cls, key: str) -> Self:
        """Before the first variable of that key, or of the next one that there is."""
        return cls(key, "", "")

    @classmethod
    def behind(cls, key: str) -> Self:
        """Behind the last variable of that key."""
        return cls(key, _AFTER_ALL_NAMES, "")

    @classmethod
    def between(cls, one: Self, other: Self) -> Self:
        """A place behind the one, at the other or before it, that tells little of either.

        It is made of the first characters by which the other differs. What has all but the
        category alike is told.
        """
        if one.key != other.key:
            return cls(_differing(one.key, other.key), "", "")
        if one.name != other.name:
            return cls(other.key, _differing(one.name, other.name), "")
        return other


class KeyRange(msgspec.Struct, frozen=True):
    """The keys from `first` on that come before `end`."""

    first: str = ""
    end: str = _AFTER_ALL_KEYS

    @classmethod
    def of(cls, pattern: str) -> Self:
        """That key alone or, where the pattern ends with `*`, all that begin with what is before.

        No other character has a meaning.
        """
        if pattern.endswith("*"):
            prefix = pattern[:-1]
            return cls(prefix, _successor(prefix))
        return cls(pattern, pattern + _LEAST_CONTROL)

    def up_to(self, key: str) -> "KeyRange":
        """Those of the keys that do not come behind that one."""
        return KeyRange(self.first, min(self.end, key + _LEAST_CONTROL))


class VariableSearch(msgspec.Struct, frozen=True):
    """Which variables are wanted: so many of them, with their values or without, from a place on.

    `workspace` is a name, however it is capitalised: then none of a set is.
    """

    keys: KeyRange = KeyRange()
    category: Category | None = None
    sensitive: bool | None = None
    workspace: str | None = None
    after: Place | None = None
    size: int = 20
    values: bool = False

    @property
    def start(self) -> Place:
        """The place after which the page begins."""
        first = Place.before(self.keys.first)
        return first if self.after is None else max(first, self.after)

    @property
    def wants_all(self) -> bool:
        """Whether every variable of the keys is wanted."""
        return self.category is None and self.sensitive is None


class SearchAccess(msgspec.Struct, frozen=True):
    """What a caller may search of an organization, read in the transaction that searches.

    `workspace_ids` are all that they may read of what is wanted; None: all of it, where
    the caller reads every workspace, or what the grants of `team_ids` say, which are too many to be
    listed. `changes_sets`: all sets of the organization; others are those that reach a workspace
    which they may read, and those that grants on projects show.
    """

    organization_id: str
    organization_name: str
    reads_all: bool
    changes_sets: bool
    is_member: bool
    team_ids: tuple[str, ...]
    workspace_ids: tuple[str, ...] | None
    key: WrappedKey

    def require_visible(self) -> None:
        """Refuses outsiders like a missing organization."""
        if not (self.reads_all or self.is_member):
            raise not_found()


class FoundVariable(msgspec.Struct, frozen=True):
    """A variable and where it is. `value_bytes` are those of a value that may be shown."""

    variable: Variable
    owner: Owner
    value_bytes: int


def _successor(prefix: str) -> str:
    """What comes right behind everything that begins with the prefix."""
    stem = prefix.rstrip(_LAST_CHARACTER)
    if not stem:
        return _AFTER_ALL_KEYS
    last = stem[-1]
    return stem[:-1] + (_AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))


def _differing(one: str, other: str) -> str:
    """The beginning of the other, which comes later, up to the first character that differs."""
    alike = len(one)  # unless one differs before its end
    for number, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            alike = number
            break
    return other[: alike + 1]
