"""Pages, and their links and meta: numbered ones, by `page[number]` and `page[size]`, and those by
cursor, `page[after]`, of which nothing is counted.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

import msgspec

from teamvars.domain.pages import Page
from teamvars.web.http.parameters import Parameter, number_of, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Path

DEFAULT_SIZE = 20
MAX_SIZE = 100
MAX_NUMBER = 1_000_000_000
NUMBER = Parameter(
    "page[number]",
    "Which page; the first is 1, and so is 0.",
    {"type": "integer", "minimum": 0, "maximum": MAX_NUMBER},
)
SIZE = Parameter(
    "page[size]",
    f"Items on a page: {DEFAULT_SIZE} unless said; more than {MAX_SIZE} counts as {MAX_SIZE}.",
    {"type": "integer", "minimum": 1, "maximum": MAX_SIZE},
    is_capped=True,
)
PARAMETERS = (NUMBER, SIZE)
MAX_CURSOR_CHARACTERS = 3840
"""Of the longest: a key and the name of a variable set, all of four bytes, make 1,216, and which of
10,000 sets have been listed twice as many."""
AFTER = Parameter(
    "page[after]",
    "Where the page begins, from `links.next` of the page before; without it, the first page.",
    {"type": "string", "maxLength": MAX_CURSOR_CHARACTERS},
)
BY_CURSOR = (AFTER, SIZE)


class Pagination(msgspec.Struct, rename="kebab"):
    """`meta.pagination` of a paged list; a page that there is not is null."""

    current_page: int
    page_size: int
    prev_page: int | None
    next_page: int | None
    total_pages: int
    total_count: int


class PageMeta(msgspec.Struct):
    """`meta` of a paged list."""

    pagination: Pagination


class PageLinks(msgspec.Struct):
    """`links` of a paged list; a page that there is not is null."""

    self: Path
    first: Path
    prev: Path | None
    next: Path | None
    last: Path


def requested_page(request: Request) -> Page:
    """The page the query asks for; there is none before the first, and none is larger than most."""
    return Page(max(number_of(request, NUMBER, 1), 1), number_of(request, SIZE, DEFAULT_SIZE))


def path_of(request: Request, said: Mapping[str, object], instead_of: Iterable[Parameter]) -> str:
    """The path and query of the request, with what is said in the place of some parameters."""
    names = {parameter.name for parameter in instead_of}
    rest = [(name, value) for name, value in request.query if name not in names]
    return f"{quote(request.full_path)}?{urlencode([*rest, *said.items()])}"


def meta(page: Page, total: int) -> PageMeta:
    """`meta` of the page; one past the end is empty, echoes its number and comes after the last."""
    pages = max(-(-total // page.size), 1)
    return PageMeta(
        Pagination(
            current_page=page.number,
            page_size=page.size,
            prev_page=min(page.number - 1, pages) if page.number > 1 else None,
            next_page=page.number + 1 if page.number < pages else None,
            total_pages=pages,
            total_count=total,
        )
    )


def links_and_meta(request: Request, page: Page, total: int) -> tuple[PageLinks, PageMeta]:
    """`links` and `meta` of the page. The links have the rest of the query as it was asked."""
    said = meta(page, total)
    return _links(request, page, said.pagination), said


def _links(request: Request, page: Page, said: Pagination) -> PageLinks:
    def path(number: int) -> str:
        return path_of(request, {NUMBER.name: number, SIZE.name: page.size}, PARAMETERS)

    return PageLinks(
        self=path(page.number),
        first=path(1),
        prev=None if said.prev_page is None else path(said.prev_page),
        next=None if said.next_page is None else path(said.next_page),
        last=path(said.total_pages),
    )


class CursorLinks(msgspec.Struct):
    """`links` of a page; `next` is null at the end. A page may be short, or empty, before that."""

    self: Path
    first: Path
    next: Path | None


def requested_cursor(request: Request) -> tuple[str | None, int]:
    """The cursor after which the page begins, None for the first, and how large it may be."""
    return text_of(request, AFTER), number_of(request, SIZE, DEFAULT_SIZE)


def cursor_links(request: Request, size: int, here: str | None, further: str | None) -> CursorLinks:
    """The links of a page from its own cursor and the next one's, with the rest of the query."""

    def path(cursor: str | None) -> str:
        after = {} if cursor is None else {AFTER.name: cursor}
        return path_of(request, {**after, SIZE.name: size}, BY_CURSOR)

    return CursorLinks(path(here), path(None), None if further is None else path(further))
