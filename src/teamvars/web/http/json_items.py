"""Documents whose `data` is a long list of items, which are found and parsed one by one.

The scanner says where each item begins and ends, and stops at the first that breaks a limit, before
anything is built. It judges nothing else: each item, and the document without its items, must be
JSON to the parser.
"""

import json
import re
from collections.abc import Iterator

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.pace import Pace
from teamvars.web.http.json_body import MAX_DEPTH, malformed, not_json, parse, too_deep

MAX_ITEM_MEMBERS = 32
"""Of all objects of an item together."""
MAX_ITEM_BYTES = 2 * 1024 * 1024
"""More than a variable with the longest value takes, all of it escaped."""
MAX_OTHER_BYTES = 64 * 1024
"""Of a document besides its items."""

_MAX_DEPTH = MAX_DEPTH - 2
"""Of an item, which is in an array that is in an object."""
_MAX_ITEM_TOKENS = 4 * MAX_ITEM_MEMBERS
"""Brackets and commas of an item."""
# Up to the next bracket, comma or colon, with one string before it at most: there are never two in
# JSON, and a MiB of them would be one long step.
_TOKEN = re.compile(
    rb'[^"\[\]{},:]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{},:]*+)?+[\[\]{},:]', re.DOTALL
)
_OPENING, _CLOSING = b"[{", b"]}"


async def parse_items(body: bytes, max_items: int) -> object:
    """The document. Between its items other tasks have the event loop.

    Refuses: what `parse` does, too many items, and one with too many members, too long or nested
    too deep.
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
            detail = f"A request has at most {max_items} items."
            raise Refusal(Fault(Code.TOO_MANY_ITEMS, detail, pointer="/data"))
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
        if depth > _MAX_DEPTH:
            raise too_deep()


def _short(document: bytes) -> bytes:
    if len(document) > MAX_OTHER_BYTES:
        raise malformed(f"Besides its items a document has at most {MAX_OTHER_BYTES} bytes.")
    return document
