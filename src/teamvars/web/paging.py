"""Numbered pages: `page[number]` and `page[size]`, and what an answer says of them."""

from urllib.parse import quote, urlencode

import msgspec

from teamvars.domain.audit import Page
from teamvars.web.exchange import Exchange
from teamvars.web.formats import Path
from teamvars.web.includes import invalid, text_of

DEFAULT_SIZE = 20
MAX_SIZE = 100
PARAMETERS = ("page[number]", "page[size]")
_MAX_NUMBER = 1_000_000_000


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


def requested_page(exchange: Exchange) -> Page:
    """The page the query asks for; a larger size than there may be counts as the largest.

    Refuses numbers below one, and what is no number.
    """
    number = _number(exchange, "page[number]", 1)
    return Page(number, min(_number(exchange, "page[size]", DEFAULT_SIZE), MAX_SIZE))


def meta(page: Page, total: int) -> PageMeta:
    """What the answer says; a page past the end is empty and echoes its number."""
    pages = max(-(-total // page.size), 1)
    return PageMeta(
        Pagination(
            current_page=page.number,
            page_size=page.size,
            prev_page=page.number - 1 if page.number > 1 else None,
            next_page=page.number + 1 if page.number < pages else None,
            total_pages=pages,
            total_count=total,
        )
    )


def links(exchange: Exchange, page: Page, total: int) -> PageLinks:
    """The paths of the pages around this one, with the rest of the query as it was asked."""
    said = meta(page, total).pagination

    rest = [(name, value) for name, value in exchange.query if name not in PARAMETERS]
    before = f"{quote(exchange.full_path)}?{urlencode(rest)}{'&' if rest else ''}"

    def path(number: int) -> str:
        return before + urlencode({"page[number]": number, "page[size]": page.size})

    return PageLinks(
        self=path(page.number),
        first=path(1),
        prev=None if said.prev_page is None else path(said.prev_page),
        next=None if said.next_page is None else path(said.next_page),
        last=path(said.total_pages),
    )


def _number(exchange: Exchange, name: str, default: int) -> int:
    text = text_of(exchange, name)
    if text is None:
        return default
    if text.isascii() and text.isdigit() and 1 <= int(text) <= _MAX_NUMBER:
        return int(text)
    raise invalid(name, f"{name} is a whole number from 1 to {_MAX_NUMBER}.")
