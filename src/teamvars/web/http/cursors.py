"""Pages by cursor: `page[after]` and `page[size]`, and the links of such a page.

A cursor is the position in the list where a page ended, so that what comes or goes meanwhile moves
no other item from one page to another. It grants nothing and says nothing that the page has not.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Generic

import msgspec

from teamvars.domain.pages import CursorPage, Position
from teamvars.web.http import paging
from teamvars.web.http.formats import Path
from teamvars.web.http.parameters import Parameter, invalid, only_text_of
from teamvars.web.http.request import Request

MAX_CHARACTERS = 2048
AFTER = Parameter(
    "page[after]",
    "The cursor of the next page, from the links of the one before; without it, the first page.",
    {"type": "string", "maxLength": MAX_CHARACTERS},
)
PARAMETERS = (AFTER, paging.SIZE)

_VERSION = 1
_INTEGERS = range(-(2**63), 2**63)  # that a database takes


class CursorLinks(msgspec.Struct):
    """`links` of a page by cursor; a next page that there is not is null."""

    self: Path
    first: Path
    next: Path | None


class Order(Generic[Position]):
    """One order of one list. Cursors are of the order with this name, and no other takes them.

    `position` is a NamedTuple of texts and integers.
    """

    def __init__(self, name: str, position: type[Position]) -> None:
        self._name = name
        self._decoder = msgspec.json.Decoder(tuple[int, str, position])  # type: ignore[valid-type]

    def cursor(self, position: Position) -> str:
        """The text that stands for the position: the same one each time."""
        said = msgspec.json.encode((_VERSION, self._name, position))
        return urlsafe_b64encode(said).rstrip(b"=").decode()

    def position(self, cursor: str) -> Position | None:
        """The position that a text stands for; None when it is no cursor of this order."""
        try:
            said = urlsafe_b64decode(cursor.encode("ascii") + b"==")
            version, name, position = self._decoder.decode(said)
        except ValueError:
            return None
        if (version, name) != (_VERSION, self._name) or not _is_storable(position):
            return None
        return position if self.cursor(position) == cursor else None


def requested_cursor(request: Request, order: Order[Position]) -> CursorPage[Position]:
    """The page the query asks for. Refuses what `paging` does of a size, and what is no cursor."""
    size = paging.requested_size(request)
    cursor = only_text_of(request, AFTER)
    if cursor is None:
        return CursorPage(size)
    position = order.position(cursor) if len(cursor) <= MAX_CHARACTERS else None
    if position is None:
        raise invalid(AFTER.name, "page[after] is the cursor from a page of this very list.")
    return CursorPage(size, position)


def links(
    request: Request,
    order: Order[Position],
    page: CursorPage[Position],
    following: Position | None,
) -> CursorLinks:
    """`links` of the page, of which the next one comes after `following`.

    They have the rest of the query as it was asked.
    """

    def path(after: Position | None) -> str:
        cursor = {} if after is None else {AFTER.name: order.cursor(after)}
        return paging.path_of(request, {**cursor, paging.SIZE.name: page.size}, PARAMETERS)

    return CursorLinks(
        self=path(page.after), first=path(None), next=None if following is None else path(following)
    )


def _is_storable(position: Iterable[object]) -> bool:
    """Whether each part is one that a statement takes for a parameter."""
    return all(
        "\0" not in part if isinstance(part, str) else part in _INTEGERS for part in position
    )
