"""Values while an expression is evaluated: content with its type, and the conversions."""

from typing import Any

from teamvars.hcl.numbers import NumberError, read_number, write_number
from teamvars.hcl.types import (
    BOOL,
    DYNAMIC,
    MAPPINGS,
    NUMBER,
    SEQUENCES,
    STRING,
    Type,
    object_of,
    tuple_of,
)

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
        return self.content is None

    @property
    def is_sequence(self) -> bool:
        return self.type.kind in SEQUENCES and self.content is not None

    @property
    def is_mapping(self) -> bool:
        return self.type.kind in MAPPINGS and self.content is not None


NULL = Value(DYNAMIC, None)
TRUE = Value(BOOL, True)
FALSE = Value(BOOL, False)


def text(content: str) -> Value:
    return Value(STRING, content, 1 + len(content) // CHARACTERS_PER_UNIT)


def tuple_value(items: list[Value]) -> Value:
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
    """`value` as a value of type `want`, or None when it has no such form."""
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
    parts = want.parts if want.kind == "tuple" else want.parts * len(value.content)
    if len(parts) != len(value.content):
        return None
    items = [converted(item, part) for item, part in zip(value.content, parts, strict=True)]
    found = [item for item in items if item is not None]
    if len(found) != len(items):
        return None
    weight = max(want.size, 1 + sum([item.weight for item in found]))
    return Value(want, tuple(found), weight)


def _converted_mapping(value: Value, want: Type) -> Value | None:
    names = tuple(value.content)
    if want.kind == "object" and want.names != names:
        return None
    parts = want.parts if want.kind == "object" else want.parts * len(names)
    found: dict[str, Value] = {}
    for (name, item), part in zip(value.content.items(), parts, strict=True):
        new = converted(item, part)
        if new is None:
            return None
        found[name] = new
    return Value(want, found, max(want.size, value.weight - _sum(value.content) + _sum(found)))


def equal(left: Value, right: Value) -> bool:
    """Whether both are the same value; values of different types never are, two nulls are."""
    if left.is_null or right.is_null:
        return left.is_null and right.is_null
    return left.type == right.type and _same_content(left, right)


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
