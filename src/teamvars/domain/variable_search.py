"""Searching the variables of an organization: what is wanted, and in which order it comes.

Variables of sets come before those of workspaces, and both in the order of code points: by key,
then by the name of the set or workspace as it is compared, then category. Of callers with many
grants those of sets come in portions, each in this order.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple, Self

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import WrappedKey
from teamvars.domain.errors import not_found
from teamvars.domain.names import is_part
from teamvars.domain.variable_sets import Owner
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, Category

MAX_PAGE_VALUE_BYTES = 1024 * 1024
"""The bytes of values on a page; the value that exceeds them is the first of the next page, unless
it is the first of its own."""

_LAST_CHARACTER = "\U0010ffff"
_BEFORE_SURROGATES, _AFTER_SURROGATES = "\ud7ff", "\ue000"
_AFTER_ALL_KEYS = _LAST_CHARACTER * (MAX_KEY_CHARACTERS + 1)
_LEAST_CONTROL = "\x01"  # no key has any
_DIGEST_BYTES = 8


class Place(NamedTuple):
    """A place in the order of variables of sets or of those of workspaces, whether or not one is
    there. The name is that of its set or workspace.
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
        return cls.before(key + _LEAST_CONTROL)

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


class SetWalk(NamedTuple):
    """How far the workspaces of an organization have been gone through, by name, for the sets that
    reach those which somebody reads, and which sets have been listed by then: a bit for each of the
    first ones by id, so many, with a digest of their ids.
    """

    behind: str = ""
    known: int = 0
    digest: bytes = b""
    listed: bytes = b""

    @classmethod
    def on(cls, behind: str, every: Sequence[str], listed: Collection[str]) -> Self:
        """A walk that has listed these of all sets by id."""
        bits = sum(1 << n for n, id_ in enumerate(every) if id_ in listed)
        size = -(-len(every) // 8)
        return cls(behind, len(every), _digest(every), bits.to_bytes(size, "little"))

    def listed_of(self, every: Sequence[str]) -> frozenset[str]:
        """The sets that have been listed, of all by id. Others may have come behind these; if one
        of these is gone, none counts as listed.
        """
        before = every[: self.known]
        if _digest(before) != self.digest:
            return frozenset()
        bits = int.from_bytes(self.listed, "little")
        return frozenset(id_ for n, id_ in enumerate(before) if bits >> n & 1)


class SetPlace(NamedTuple):
    """A place in the order of the variables of sets, and the walk on which these are found."""

    place: Place
    walk: SetWalk


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


class VariableSearch(msgspec.Struct, frozen=True):
    """Which variables are wanted: so many of them, with their values or without, from a place on.

    Those of sets come first: the place is among them as long as there is a `walk`. `workspace` is a
    name, however it is capitalised: then none of a set is wanted. `part` is anywhere in the key, in
    any case.
    """

    keys: KeyRange = KeyRange()
    part: str | None = None
    category: Category | None = None
    sensitive: bool | None = None
    workspace: str | None = None
    after: Place | None = None
    walk: SetWalk | None = SetWalk()
    size: int = 20
    values: bool = False

    def begun_at(self, position: Place | SetPlace | None) -> "VariableSearch":
        """The same from a position on; None: from the beginning."""
        if isinstance(position, SetPlace):
            return replace(self, after=position.place, walk=position.walk)
        return self if position is None else replace(self, after=position, walk=None)

    def behind_sets(self) -> "VariableSearch":
        """The same without variables of sets."""
        return self if self.walk is None else replace(self, after=None, walk=None)

    @property
    def start(self) -> Place:
        """The place after which the page begins."""
        first = Place.before(self.keys.first)
        return first if self.after is None else max(first, self.after)

    @property
    def wants_all(self) -> bool:
        """Whether every variable of the keys is wanted that match."""
        return self.category is None and self.sensitive is None

    def matching(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that have the part in them."""
        part = self.part or ""
        return [key for key in keys if is_part(part, key)]


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


def _digest(ids: Sequence[str]) -> bytes:
    return sha256("".join(ids).encode()).digest()[:_DIGEST_BYTES]


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
