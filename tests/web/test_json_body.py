"""Reading a document and finding the strings in it."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from teamvars.domain.errors import Refusal
from teamvars.web import json_body
from teamvars.web.reader import Reader

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["\0", "a\0", r"\u0000"]
)
documents = st.recursive(
    st.none() | st.booleans() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def at(document: Any, pointer: str) -> Any:
    """What a JSON pointer points at (RFC 6901)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def texts_of(value: Any) -> list[str]:
    """Every string, in the document's order, names first."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    if isinstance(value, dict):
        return [text for name in value for text in (name, *texts_of(value[name]))]
    return []


@given(document=documents)
def test_what_was_written_is_read(document: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(document, ensure_ascii=ascii_only)
        assert json_body.parse(text.encode()) == document


@given(document=documents)
def test_every_string_is_found_once_in_order_and_where_its_pointer_says(document: Any) -> None:
    found = list(json_body.strings(document))
    assert [text for _, text in found] == texts_of(document)
    for pointer, text in found:
        value = at(document, pointer)
        assert text == value or pointer.endswith("/" + json_body.pointer_token(text))


@given(body=st.binary(max_size=64))
def test_any_bytes_are_a_document_or_refused(body: bytes) -> None:
    words = []
    try:
        json_body.parse(body)
    except Refusal as refusal:
        words = [fault.code.word for fault in refusal.faults]
    assert words in ([], ["malformed_document"])


@pytest.mark.parametrize("text", ['"\\ud83d"', '"\\ud83d\\ud83d\\ude00"', '{"a": ["\\ude00"]}'])
def test_half_of_a_pair_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        json_body.parse(text.encode())


@example(depth=json_body.MAX_DEPTH, width=0, text="")
@example(depth=json_body.MAX_DEPTH + 1, width=0, text="")
@given(depth=st.integers(1, 40), width=st.integers(0, 40), text=st.sampled_from(["", "[" * 40]))
def test_only_depth_counts_not_how_many_brackets_there_are(
    depth: int, width: int, text: str
) -> None:
    innermost = ",".join([*(["[]", "{}"] * width), json.dumps(text)])
    body = "[" * depth + innermost + "]" * depth
    levels = depth + (1 if width else 0)
    if levels <= json_body.MAX_DEPTH:
        assert json_body.parse(body.encode()) == json.loads(body)
    else:
        with pytest.raises(Refusal):
            json_body.parse(body.encode())


@given(document=documents)
def test_no_nul_is_overlooked(document: Any) -> None:
    places = {fault.pointer for fault in Reader(document).faults}
    texts = json_body.strings(document)
    assert places == {pointer for pointer, text in texts if "\0" in text}
