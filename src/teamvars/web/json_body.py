"""From bytes to a JSON document; whatever is no JSON document at all is refused here.

The standard library's parser, since msgspec lets the last of two members win in silence.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from teamvars.domain.errors import Code, Fault, Refusal

MAX_DEPTH = 32

# Half of a pair: the parser has put whole ones together.
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Duplicate(ValueError):
    """An object has a member twice."""


def parse(body: bytes) -> object:
    """The document. Refuses what is none, or not one that every client reads alike."""
    try:
        document: object = _DECODER.decode(body.decode())
    except RecursionError:
        raise _malformed(f"The document is nested over {MAX_DEPTH} deep.") from None
    except _Duplicate:
        raise _malformed("An object of the document has the same member twice.") from None
    except ValueError:
        # The parser's own text may quote the document.
        raise _malformed("The document is not JSON in UTF-8.") from None
    # Each level takes a bracket, so a document with few of them need not be walked.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _is_deeper(document, MAX_DEPTH):
        raise _malformed(f"The document is nested over {MAX_DEPTH} deep.")
    if rb"\u" in body and any(_SURROGATE.search(text) for _, text in strings(document)):
        raise _malformed("A string of the document has half of a surrogate pair.")
    return document


def strings(document: object) -> Iterator[tuple[str, str]]:
    """Every string of a document in its order, names of members included, with its pointer."""
    # Not by recursion: a string deep down would be handed up through every level.
    open_ = [iter([("", document)])]
    while open_:
        for at, value in open_[-1]:
            if isinstance(value, str):
                yield at, value
            elif isinstance(value, (dict, list)):
                open_.append(_children(value, at))
                break
        else:
            open_.pop()


def _children(parent: dict[str, object] | list[object], at: str) -> Iterator[tuple[str, object]]:
    if isinstance(parent, list):
        for number, item in enumerate(parent):
            yield f"{at}/{number}", item
        return
    for name, member in parent.items():
        here = f"{at}/{pointer_token(name)}"
        yield here, name
        yield here, member


def pointer_token(name: str) -> str:
    """A member's name as it stands in a JSON pointer (RFC 6901, 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Duplicate
    return members


def _refuse_constant(_: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON


# Made once: `json.loads` makes one for each document.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_refuse_constant,
    parse_int=float,  # no number means anything here, so none is too long to read
)


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    if levels == 0:
        return True
    children = value.values() if isinstance(value, dict) else value
    return any(_is_deeper(child, levels - 1) for child in children)


def _malformed(detail: str) -> Refusal:
    return Refusal(Fault(Code.MALFORMED_DOCUMENT, detail))
