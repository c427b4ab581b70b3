"""The encoding of what is authenticated: two different lists of fields never look alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.security import length_prefixed

FIELDS = st.lists(
    st.none()
    | st.integers()
    | st.binary(max_size=20)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    max_size=5,
)


def decoded(encoding: bytes) -> list[str | bytes | int | None]:
    """The fields, read back: that this can be written proves that no two lists share a form."""
    fields: list[str | bytes | int | None] = []
    while encoding:
        kind, length = encoding[:1], int.from_bytes(encoding[1:9])
        content, encoding = encoding[9 : 9 + length], encoding[9 + length :]
        readers: dict[bytes, Any] = {b"n": lambda _: None, b"t": bytes.decode, b"b": bytes}
        fields.append(readers.get(kind, int)(content))
    return fields


@given(FIELDS)
def test_the_fields_can_be_read_back(fields: list[str | bytes | int | None]) -> None:
    again = decoded(length_prefixed(*fields))
    assert again == fields
    assert [type(field) for field in again] == [type(field) for field in fields]


@given(FIELDS, FIELDS)
def test_different_fields_have_different_encodings(
    one: list[str | bytes | int | None], other: list[str | bytes | int | None]
) -> None:
    assert (length_prefixed(*one) == length_prefixed(*other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("ab",), ("a", "b")),
        (("", "a"), ("a", "")),
        (("1",), (1,)),
        (("a",), (b"a",)),
        (("",), (None,)),
        (("",), ()),
        ((1, 0), (10,)),
    ],
)
def test_fields_cannot_be_shifted_into_each_other(
    one: tuple[str | bytes | int | None, ...], other: tuple[str | bytes | int | None, ...]
) -> None:
    assert length_prefixed(*one) != length_prefixed(*other)


@pytest.mark.parametrize("value", [1.5, 1.0, [1], {"a": 1}, object()])
def test_nothing_else_passes_for_a_field(value: Any) -> None:
    with pytest.raises(TypeError):
        length_prefixed("a", value)
