"""From bytes to a JSON document; what is none is refused here.

The standard library's parser, since msgspec lets the last of two members win in silence. It holds
the GIL for as long as it takes, in a thread as well, so what it is given is bounded beforehand.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.pace import Pace

MAX_DEPTH = 32
MAX_VALUES = 50_000
MAX_NAME_CHARACTERS = 100
"""Of a member's name as a pointer shows it: a longer one is cut, so that no fault is long."""

SHORT_BYTES = 64 * 1024
"""Too short for so many values, each of which takes two bytes: it is parsed at once."""

MAX_ITEM_MEMBERS = 32
"""Of all objects of an item of a long list together."""
MAX_ITEM_BYTES = 2 * 1024 * 1024
"""More than a variable with the longest value takes, all of it escaped."""
MAX_OTHER_BYTES = 64 * 1024
"""Of a document besides its items."""

_MAX_ITEM_DEPTH = MAX_DEPTH - 2
"""Of an item, which is in an array that is in an object."""
_MAX_ITEM_TOKENS = 4 * MAX_ITEM_MEMBERS
"""Brackets and commas of an item."""
# Up to the next bracket, comma or colon, with one string before it at most: there are never two in
# JSON, and a MiB of them would be one long step.
_TOKEN = re.compile(
    rb'[^"\[\]{},:]*+(?>"[^"\\]*+(?>\\.[^"\\]*+)*+"[^"\[\]{},:]*+)?+[\[\]{},:]', re.DOTALL
)
_OPENING, _CLOSING = b"[{", b"]}"

_MOST_DIGITS = 18
_PIECE_BYTES = SHORT_BYTES

Place = tuple["Place", str | int] | None
"""A place in a document: that of the parent, and the name or number in it. None: all of it."""


class _Duplicate(ValueError):
    """An object has a member twice."""


class Parser:
    """Parses the bodies of one event loop; no iteration of it takes longer than some ms."""

    def __init__(self) -> None:
        self._one_large = asyncio.Lock()

    async def parse(self, body: bytes) -> object:
        """A document that is not short. Refuses what `parse` does, and one of more values than
        there may be.

        Large documents are parsed one at a time, in steps: many of them in one iteration of the
        event loop would block it.
        """
        async with self._one_large:
            pace = Pace()
            values = 1
            for piece in _outside_of_strings(body):
                values += sum(map(piece.count, (b",", b"[", b"{")))
                if values > MAX_VALUES:
                    raise malformed(f"A document has at most {MAX_VALUES} values.")
                await pace.give_way()
            document = _decode(body)
            await pace.give_way()
            _require_readable(body, document)
            await pace.give_way()
            return document


def parse(body: bytes) -> object:
    """The document. Refuses what is none, or not one that every client reads alike."""
    document = _decode(body)
    # Each level takes a bracket, so a document with few of them need not be walked.
    if rb"\u" in body or body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _require_readable(body, document)
    return document


def nul_places(document: object) -> Iterator[Place]:
    """The places of all strings that hold a NUL, names of members included, in their order."""
    if isinstance(document, str) and "\0" in document:
        yield None
    elif isinstance(document, (dict, list)):
        yield from _nul_places_in(document, None)


def pointer(place: Place) -> str:
    """The JSON pointer to a place (RFC 6901), with long names cut short."""
    tokens = []
    while place is not None:
        place, token = place
        tokens.append(pointer_token(str(token)))
    return "".join(f"/{token}" for token in reversed(tokens))


def pointer_token(name: str) -> str:
    """A member's name as it stands in a pointer (RFC 6901, 3)."""
    return shown_name(name).replace("~", "~0").replace("/", "~1")


def shown_name(name: str) -> str:
    """A member's name as far as a pointer shows it."""
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS]}…"


def _outside_of_strings(body: bytes) -> Iterator[bytes]:
    """What of a document stands outside of its strings, a piece at a time."""
    is_inside = False
    torn = b""
    for start in range(0, len(body), _PIECE_BYTES):
        piece = torn + body[start : start + _PIECE_BYTES]
        # An odd backslash at the end belongs to the first character of the next piece.
        whole = len(piece) - (len(piece) - len(piece.rstrip(b"\\"))) % 2
        torn = piece[whole:]
        parts = piece[:whole].replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0


def _decode(body: bytes) -> object:
    try:
        document: object = _DECODER.decode(body.decode())
    except RecursionError:
        raise too_deep() from None
    except _Duplicate:
        raise malformed("An object of the document has the same member twice.") from None
    except ValueError:
        raise not_json() from None
    return document


def _require_readable(body: bytes, document: object) -> None:
    """Refuses a document that is too deep, or has a string that is no Unicode text."""
    # Each level takes a bracket, so a document with few of them need not be walked.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _is_deeper(document, MAX_DEPTH):
        raise too_deep()
    if rb"\u" in body:
        try:
            msgspec.json.encode(document)
        except UnicodeEncodeError:  # the parser has put whole pairs together
            raise malformed("A string of the document has half of a surrogate pair.") from None


def _nul_places_in(parent: dict[str, object] | list[object], at: Place) -> Iterator[Place]:
    # No place is made for a string without one: a long list of them must not cost anything.
    is_object = isinstance(parent, dict)
    children = parent.items() if isinstance(parent, dict) else enumerate(parent)
    for name, child in children:
        if is_object and "\0" in name:  # type: ignore[operator]  # a name
            yield at, name
        if isinstance(child, str):
            if "\0" in child:
                yield at, name
        elif isinstance(child, (dict, list)):
            yield from _nul_places_in(child, (at, name))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _refuse_constant(_: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON


def _integer(text: str) -> int:
    """The integer, or one beyond all that mean anything: long ones cost no more than others."""
    return int(text) if len(text) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _fraction(_: str) -> float:
    """Some number that is no integer: none other is told from it."""
    return 0.5


# Made once: `json.loads` makes one for each document.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_refuse_constant,
    parse_int=_integer,
    parse_float=_fraction,
)


def _is_deeper(document: object, levels: int) -> bool:
    """Whether containers are nested deeper than that."""
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(levels):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
    return bool(level)


def not_json() -> Refusal:
    """It is no document at all. The parser's own text may quote it."""
    return malformed("The document is not JSON in UTF-8.")


def too_deep() -> Refusal:
    """Its objects and arrays are nested too deep."""
    return malformed(f"The document is nested more than {MAX_DEPTH} levels deep.")


def malformed(detail: str) -> Refusal:
    """It is not a document, or not one that is read here."""
    return Refusal(Fault(Code.MALFORMED_DOCUMENT, detail))


async def parse_items(body: bytes, max_items: int) -> object:
    """The document. Between its items other tasks have the event loop.

    Of more than `max_items`, one more is there and nothing else: that there are too many is told in
    its turn, after what comes before the faults of a document. Refuses: what `parse` does, and an
    item with too many members, too long or nested too deep.
    """
    pace = Pace()
    start = await _start_of_items(body, pace)
    if start is None:
        return parse(_short(body))
    spans = []
    end = start
    for span in _spans(body, start):
        spans.append(span)
        end = span[1]
        if len(spans) > max_items:
            return {"data": [None] * len(spans)}
        await pace.keep()
    if len(spans) == 1 and not body[slice(*spans[0])].strip():
        spans = []
    document = parse(_short(body[:start] + body[end:]))
    items = []
    for span in spans:
        items.append(parse(body[slice(*span)]))
        await pace.keep()
    if isinstance(document, dict):
        document["data"] = items
    return document


async def _start_of_items(body: bytes, pace: Pace) -> int | None:
    """Where the items of `data` begin; None where it is no array, or comes too late."""
    depth = at = 0
    # By `match`, for which a document without any token is one attempt, and not one a byte.
    while token := _TOKEN.match(body, at, MAX_OTHER_BYTES):
        text = body[at : token.end() - 1]
        at = token.end()
        sign = body[at - 1]
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign == ord(":") and depth == 1 and _is_data(text):
            value = _TOKEN.match(body, at, MAX_OTHER_BYTES)
            return value.end() if value and body[value.end() - 1] == ord("[") else None
        await pace.keep()
    return None


def _is_data(name: bytes) -> bool:
    try:
        return bool(json.loads(name) == "data")
    except ValueError:
        return False


def _spans(body: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Where each item begins and ends; of no items one that is empty."""
    at = start
    depth = members = tokens = 0
    while True:
        token = _TOKEN.match(body, at, start + MAX_ITEM_BYTES)
        if token is None:
            if start + MAX_ITEM_BYTES < len(body):
                raise malformed(f"An item has at most {MAX_ITEM_BYTES} bytes.")
            raise not_json()
        at = token.end()
        sign = body[at - 1]
        if depth == 0 and sign in b",]":
            yield start, at - 1
            if sign == ord("]"):
                return
            start = at
            members = tokens = 0
            continue
        tokens += sign != ord(":")
        members += sign == ord(":")
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if members > MAX_ITEM_MEMBERS or tokens > _MAX_ITEM_TOKENS:
            raise malformed(f"An item has at most {MAX_ITEM_MEMBERS} members.")
        if depth > _MAX_ITEM_DEPTH:
            raise too_deep()


def _short(document: bytes) -> bytes:
    if len(document) > MAX_OTHER_BYTES:
        raise malformed(f"Besides its items a document has at most {MAX_OTHER_BYTES} bytes.")
    return document
