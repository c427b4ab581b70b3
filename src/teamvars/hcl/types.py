"""The types of values, and the one type two branches of a conditional are brought to.

The rules are terraform 1.11's: `[1, "a"]` is a tuple with a type for every element and `{a = 1}`
an object with a type for every attribute; a conditional whose branches differ in shape makes
lists and maps, which have one type for all their elements.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Type(NamedTuple):
    """A type. `names` are an object's attributes, sorted; `parts` the types of what is inside.

    `depth` counts the collections inside each other, and is 0 for a primitive. `size` counts the
    types it is made of, written out: one that is shared in memory counts wherever it stands.
    """

    kind: str
    names: tuple[str, ...] = ()
    parts: "tuple[Type, ...]" = ()
    depth: int = 0
    size: int = 1


DYNAMIC = Type("dynamic")
"""The type of a bare `null`: any type will do."""

STRING = Type("string")
NUMBER = Type("number")
BOOL = Type("bool")

SEQUENCES = ("tuple", "list")
MAPPINGS = ("object", "map")


def tuple_of(parts: Iterable[Type]) -> Type:
    return _collection("tuple", (), tuple(parts))


def list_of(element: Type) -> Type:
    return _collection("list", (), (element,))


def object_of(names: Iterable[str], parts: Iterable[Type]) -> Type:
    """The object type with these attributes; `names` come sorted."""
    return _collection("object", tuple(names), tuple(parts))


def map_of(element: Type) -> Type:
    return _collection("map", (), (element,))


def _collection(kind: str, names: tuple[str, ...], parts: tuple[Type, ...]) -> Type:
    depth = 1 + max((part.depth for part in parts), default=0)
    return Type(kind, names, parts, depth, 1 + sum([part.size for part in parts]))


def unified(types: Sequence[Type]) -> Type | None:
    """The type that values of all of `types` can be converted to, or None when there is none."""
    first = types[0]
    if all(each == first for each in types):
        return first
    kinds = {each.kind for each in types}
    known = kinds - {"dynamic"}
    if known <= {"string", "number", "bool"}:
        return _unified_primitives(known)
    if not (known <= set(SEQUENCES) or known <= set(MAPPINGS)):
        return None
    if "dynamic" in kinds:
        return DYNAMIC
    if known == {"tuple"} and len({len(each.parts) for each in types}) == 1:
        parts = _unified_columns(types)
        return None if parts is None else tuple_of(parts)
    if known == {"object"} and len({each.names for each in types}) == 1:
        parts = _unified_columns(types)
        return None if parts is None else object_of(first.names, parts)
    element = unified([part for each in types for part in each.parts])
    if element is None:
        return None
    return list_of(element) if known <= set(SEQUENCES) else map_of(element)


def _unified_primitives(kinds: set[str]) -> Type | None:
    """A string can stand for any primitive; a number and a bool have nothing in common."""
    if "string" in kinds:
        return STRING
    return Type(kinds.pop()) if len(kinds) == 1 else None


def _unified_columns(types: Sequence[Type]) -> list[Type] | None:
    """What the first parts of all types unify to, the second parts, and so on."""
    columns = [unified(column) for column in zip(*(each.parts for each in types), strict=True)]
    found = [column for column in columns if column is not None]
    return found if len(found) == len(columns) else None
