"""Values while an expression is evaluated: content with its type, and the conversions.

The rules of types are terraform 1.11's: `[1, "a"]` is a tuple with a type for every element and
`{a = 1}` an object with a type for every attribute; a conditional whose branches differ in shape
makes lists and maps, which have one type for all their elements.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from teamvars.hcl.numbers import NumberError, read_number, write_number


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

PRIMITIVES = frozenset({"string", "number", "bool"})
SEQUENCES = frozenset({"tuple", "list"})
MAPPINGS = frozenset({"object", "map"})


def tuple_of(parts: Iterable[Type]) -> Type:
    """The tuple type whose elements have these types."""
    return _collection("tuple", (), tuple(parts))


def list_of(element: Type) -> Type:
    """The type of lists whose elements all have that type."""
    return _collection("list", (), (element,))


def object_of(names: Iterable[str], parts: Iterable[Type]) -> Type:
    """The object type with these attributes; `names` come sorted."""
    return _collection("object", tuple(names), tuple(parts))


def map_of(element: Type) -> Type:
    """The type of maps whose values all have that type."""
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
    # A string can stand for any primitive; a number and a bool have nothing in common.
    if known <= PRIMITIVES and ("string" in known or len(known) == 1):
        return STRING if "string" in known else Type(known.pop())
    if "dynamic" in kinds:
        return None if {"tuple", "object"} <= known else DYNAMIC
    if not (known <= SEQUENCES or known <= MAPPINGS):
        return None
    if known == {"tuple"} and len({len(each.parts) for each in types}) == 1:
        parts = _unified_columns(types)
        return None if parts is None else tuple_of(parts)
    if known == {"object"} and len({each.names for each in types}) == 1:
        parts = _unified_columns(types)
        return None if parts is None else object_of(first.names, parts)
    element = unified([part for each in types for part in each.parts])
    if element is None or (element == DYNAMIC and not all(map(_has_element_type, types))):
        return None
    return list_of(element) if known <= SEQUENCES else map_of(element)


def _has_element_type(collection: Type) -> bool:
    """Whether it becomes a list or map of elements of one type, when any type will do."""
    element = unified(collection.parts) if collection.parts else DYNAMIC
    if element == DYNAMIC and collection.kind == "tuple":
        return all(part == DYNAMIC for part in collection.parts)
    return element is not None


def _unified_columns(types: Sequence[Type]) -> list[Type] | None:
    """What the first parts of all types unify to, the second parts, and so on."""
    columns = [unified(column) for column in zip(*(each.parts for each in types), strict=True)]
    found = [column for column in columns if column is not None]
    return found if len(found) == len(columns) else None


CHARACTERS_PER_UNIT = 8
"""So many characters of a string weigh as much as one value."""

BOOL_WORDS = {"true": True, "1": True, "false": False, "0": False}
"""The strings that convert to a bool (terraform 1.11)."""


class Value:
    """An immutable value.

    `content` is None for a null, else bool, int or Decimal, str, a tuple of values for a tuple or
    list, or a dict of values in sorted order of its keys for an object or map. `weight` grows
    with the size of the value written out, however often its parts are shared in memory, and is
    no less than the size of its type: comparing two types costs that, also of nulls.
    """

    __slots__ = ("content", "type", "weight")

    def __init__(self, of: Type, content: Any, weight: int = 1) -> None:
        self.type = of
        self.content = content
        self.weight = weight

    @property
    def is_null(self) -> bool:
        """Whether it is null, of whatever type."""
        return self.content is None

    @property
    def is_sequence(self) -> bool:
        """Whether it is a tuple or list, and not null."""
        return self.type.kind in SEQUENCES and self.content is not None

    @property
    def is_mapping(self) -> bool:
        """Whether it is an object or map, and not null."""
        return self.type.kind in MAPPINGS and self.content is not None


NULL = Value(DYNAMIC, None)
TRUE = Value(BOOL, True)
FALSE = Value(BOOL, False)


def text(content: str) -> Value:
    """The string with these characters, which are in normal form already."""
    return Value(STRING, content, 1 + len(content) // CHARACTERS_PER_UNIT)


def tuple_value(items: list[Value]) -> Value:
    """The tuple of these elements."""
    of = tuple_of([item.type for item in items])
    return Value(of, tuple(items), 1 + sum([item.weight for item in items]))


def object_value(attributes: dict[str, Value]) -> Value:
    """The object with these attributes, in whatever order they come."""
    ordered = {name: attributes[name] for name in sorted(attributes)}
    of = object_of(ordered, [value.type for value in ordered.values()])
    return Value(of, ordered, 1 + sum(text(name).weight for name in ordered) + _sum(ordered))


def _sum(ordered: dict[str, Value]) -> int:
    return sum([value.weight for value in ordered.values()])


def converted(value: Value, want: Type) -> Value | None:
    """`value` as a value of type `want`, which is what its own has in common with others, or a
    primitive; None when it has no such form.
    """
    if want == DYNAMIC or value.type == want:
        return value
    if value.is_null:
        return Value(want, None, want.size)
    if want.kind in SEQUENCES:
        return _converted_sequence(value, want) if value.is_sequence else None
    if want.kind in MAPPINGS:
        return _converted_mapping(value, want) if value.is_mapping else None
    return _converted_primitive(value, want)


def _converted_primitive(value: Value, want: Type) -> Value | None:
    content = value.content
    if want == STRING and value.type == BOOL:
        return text("true" if content else "false")
    if want == STRING and value.type == NUMBER:
        return text(write_number(content))
    if want == BOOL and value.type == STRING and content in BOOL_WORDS:
        return TRUE if BOOL_WORDS[content] else FALSE
    if want == NUMBER and value.type == STRING:
        try:
            return Value(NUMBER, read_number(content))
        except NumberError:
            return None
    return None


def _converted_sequence(value: Value, want: Type) -> Value | None:
    of = list_of(_element_type(value, want)) if want.kind == "list" else want
    parts = of.parts if of.kind == "tuple" else of.parts * len(value.content)
    items = [converted(item, part) for item, part in zip(value.content, parts, strict=True)]
    found = [item for item in items if item is not None]
    if len(found) != len(items) or (of.kind == "list" and not _are_alike(found)):
        return None
    weight = max(of.size, 1 + sum([item.weight for item in found]))
    return Value(of, tuple(found), weight)


def _converted_mapping(value: Value, want: Type) -> Value | None:
    of = map_of(_element_type(value, want)) if want.kind == "map" else want
    parts = of.parts if of.kind == "object" else of.parts * len(value.content)
    found: dict[str, Value] = {}
    for (name, item), part in zip(value.content.items(), parts, strict=True):
        new = converted(item, part)
        if new is None:
            return None
        found[name] = new
    if of.kind == "map" and not _are_alike(found.values()):
        return None
    return Value(of, found, max(of.size, value.weight - _sum(value.content) + _sum(found)))


def _element_type(value: Value, want: Type) -> Type:
    """What the elements of `value` become in the list or map `want`.

    That may leave it open: then it is their one type beside nulls, or what they have in common.
    """
    known = set(value.type.parts) - {DYNAMIC}
    if want.parts[0] != DYNAMIC or not known:
        return want.parts[0]
    return known.pop() if len(known) == 1 else unified(value.type.parts) or DYNAMIC


def _are_alike(elements: Iterable[Value]) -> bool:
    """Whether all have one type, but for nulls of any."""
    return len({element.type for element in elements} - {DYNAMIC}) < 2


def equal(left: Value, right: Value) -> bool:
    """Whether both are the same value; values of different types never are, two nulls are."""
    return (left.is_null or left.type == right.type) and _same_content(left, right)


def _same_content(left: Value, right: Value) -> bool:
    if left.is_null or right.is_null:
        return left.is_null and right.is_null
    if left.is_sequence:
        pairs = zip(left.content, right.content, strict=False)
        same_length = len(left.content) == len(right.content)
        return same_length and all(_same_content(one, other) for one, other in pairs)
    if left.is_mapping:
        return left.content.keys() == right.content.keys() and all(
            _same_content(one, right.content[name]) for name, one in left.content.items()
        )
    return bool(left.content == right.content)


def plain(value: Value) -> Any:
    """`value` as what JSON can carry; a fraction is a float when that is the same number."""
    if value.is_sequence:
        return [plain(item) for item in value.content]
    if value.is_mapping:
        return {name: plain(item) for name, item in value.content.items()}
    if value.type == NUMBER and value.content is not None and not isinstance(value.content, int):
        nearest = float(value.content)
        return nearest if read_number(repr(nearest)) == value.content else value.content
    return value.content
