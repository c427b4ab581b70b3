"""Reading a document and finding the strings in it."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from teamvars.domain.errors import MOST_FAULTS, Code, Refusal
from teamvars.web.http import json_body
from teamvars.web.http.json_body import Parser, parse_items
from teamvars.web.http.reader import Reader
from tests.support.turns import turns_of_others

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["\0", "a\0", r"\u0000"]
)
documents = st.recursive(
    st.none() | st.booleans() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


TOO_MANY = ("malformed_document", "A document has at most 50000 values.")


def nul_pointers(document: Any, at: str = "") -> list[str]:
    """Where a string holds a NUL, in the document's order, names first."""
    if isinstance(document, str):
        return [at] * ("\0" in document)
    if isinstance(document, list):
        return [one for n, item in enumerate(document) for one in nul_pointers(item, f"{at}/{n}")]
    found = []
    for name, member in document.items() if isinstance(document, dict) else ():
        here = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
        found += [here] * ("\0" in name) + nul_pointers(member, here)
    return found


async def verdict_of(body: bytes) -> tuple[str, Any]:
    """What becomes of a body: a document, or the code and detail it is refused with."""
    try:
        return "read", await json_body.Parser().parse(body)
    except Refusal as refusal:
        (fault,) = refusal.faults
        return fault.code.word, fault.detail


@given(document=documents)
def test_what_was_written_is_read(document: Any) -> None:
    for ascii_only in (True, False):
        text = json.dumps(document, ensure_ascii=ascii_only)
        assert json_body.parse(text.encode()) == document


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
def test_every_nul_is_found_in_order_and_where_its_pointer_says(document: Any) -> None:
    assert [fault.pointer for fault in Reader(document).faults] == nul_pointers(document)


def test_the_pointer_to_a_long_name_shows_its_beginning() -> None:
    (fault,) = Reader({"a" * 10_000: ["\0"]}).faults
    assert fault.pointer == "/" + "a" * json_body.MAX_NAME_CHARACTERS + "…/0"


def test_more_faults_than_are_kept_are_counted() -> None:
    faults = Reader(["\0"] * (MOST_FAULTS + 7)).faults
    assert len(faults) == MOST_FAULTS
    assert faults[-1].omitted == 7


# Some beside what a piece of a large body holds, so that its border comes everywhere.
@given(
    document=st.lists(documents, min_size=1, max_size=3),
    long=st.text(st.sampled_from('\\",[{:é'), min_size=1, max_size=9),
    times=st.integers(7_000, 40_000),
)
async def test_a_large_body_is_read_as_a_small_one_is(
    document: list[Any], long: str, times: int
) -> None:
    body = json.dumps([*document, long * times]).encode()
    assert await verdict_of(body) == ("read", json.loads(body))


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b",".join([b"[]"] * 500_000) + b"]",
        b"[" + b",".join([b'{"a":1}'] * 250_000) + b"]",
        b"[" * 1_000_000,
        b"," * 1_000_000,
        json.dumps({f"unknown-{n}": n for n in range(140_000)}).encode(),
        json.dumps({"a" * 1_000_000: ["A", *[0] * 500_000]}).encode(),
    ],
    ids=["arrays", "objects", "brackets", "commas", "members", "a long name"],
)
async def test_a_document_of_too_many_values_is_refused_before_it_is_parsed(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_body, "_DECODER", None)
    assert await verdict_of(body) == TOO_MANY


@pytest.mark.parametrize("text", ["", ",", '\\"', "\\", "["])
async def test_what_stands_in_strings_is_not_counted(text: str) -> None:
    many = json_body.MAX_VALUES
    body = json.dumps([text * many, *[0] * (many - 3)]).encode()
    assert (await verdict_of(body))[0] == "read"
    body = json.dumps([text * many, *[0] * many]).encode()
    assert await verdict_of(body) == TOO_MANY


async def test_looking_for_items_leaves_the_loop_to_others() -> None:
    body = b'{"meta":[' + b"0," * 30_000 + b"0]}"

    async def read() -> object:
        return await parse_items(body, 5)

    document, turns = await turns_of_others(read())
    assert document == json.loads(body)
    assert turns > 0


@pytest.mark.parametrize(
    "items",
    ['"a" "b"', '"a""b"', '"a"1', '{"a" "b":1}', '{"a":"b""c"}', r'"a\"', '"a', '{"a":"]"} x "'],
)
async def test_what_is_no_json_among_the_items_is_refused(items: str) -> None:
    with pytest.raises(Refusal) as refused:
        await parse_items(f'{{"data":[1,{items}],"meta":{{}}}}'.encode(), 5)
    assert {fault.code for fault in refused.value.faults} == {Code.MALFORMED_DOCUMENT}


@given(st.lists(documents.filter(lambda item: len(json.dumps(item)) < 200), max_size=5), texts)
async def test_a_list_of_items_is_read_as_a_whole_document_is(items: list[Any], name: str) -> None:
    document = {name + "x": 1, "data": items, "meta": {}}
    for indent in (None, 2):
        body = json.dumps(document, indent=indent).encode()
        assert await parse_items(body, 5) == await Parser().parse(body)
