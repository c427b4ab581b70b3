"""Pages by cursor: `page[after]` and `page[size]`, and the links of a page. Nothing is counted."""

import msgspec

from teamvars.web.http.formats import Path
from teamvars.web.http.paging import SIZE, path_of, requested_size
from teamvars.web.http.parameters import Parameter, invalid, only_text_of
from teamvars.web.http.request import Request

MAX_CHARACTERS = 1024
AFTER = Parameter(
    "page[after]",
    "Where the page begins, from `links.next` of the page before; without it, the first page.",
    {"type": "string", "maxLength": MAX_CHARACTERS},
)
PARAMETERS = (AFTER, SIZE)


class CursorLinks(msgspec.Struct):
    """`links` of a page; `next` is null at the end. A page may be short, or empty, before that."""

    self: Path
    first: Path
    next: Path | None


def requested(request: Request) -> tuple[str | None, int]:
    """The cursor after which the page begins, None for the first, and how large it may be.

    Refuses a size as numbered pages do, and what is too long for a cursor.
    """
    cursor = only_text_of(request, AFTER)
    if cursor is not None and len(cursor) > MAX_CHARACTERS:
        raise invalid(AFTER.name, f"A {AFTER.name} has at most {MAX_CHARACTERS} characters.")
    return cursor, requested_size(request)


def links(request: Request, size: int, here: str | None, further: str | None) -> CursorLinks:
    """The links of a page from its own cursor and the next one's, with the rest of the query."""

    def path(cursor: str | None) -> str:
        after = {} if cursor is None else {AFTER.name: cursor}
        return path_of(request, {**after, SIZE.name: size}, PARAMETERS)

    return CursorLinks(path(here), path(None), None if further is None else path(further))
