"""Cursors, without a route that has them."""

from base64 import urlsafe_b64encode
from typing import NamedTuple, NoReturn
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.errors import Refusal
from teamvars.domain.pages import CursorPage
from teamvars.web.http.budgets import Bodies
from teamvars.web.http.cursors import MAX_CHARACTERS, Order, links, requested_cursor
from teamvars.web.http.request import Request
from teamvars.web.http.time_limits import TimeLimits


class Place(NamedTuple):
    name: str
    number: int


ORDER = Order("places", Place)
SOME = Place("Zürich", 7)


def asked(**said: object) -> Request:
    """A request for /places with `page[NAME]` for each name."""
    query = urlencode([("filter[a]", "b c"), *((f"page[{name}]", v) for name, v in said.items())])
    scope = {"method": "GET", "path": "/places", "query_string": query.encode(), "headers": []}
    return Request(scope, never, TimeLimits(), Bodies())


async def never() -> NoReturn:
    raise AssertionError


def cursor_of(text: str) -> str:
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def refused(text: object) -> bool:
    with pytest.raises(Refusal) as found:
        requested_cursor(asked(after=text), ORDER)
    (fault,) = found.value.faults
    return (fault.code.word, fault.parameter) == ("invalid_parameter", "page[after]")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=128))
def test_a_cursor_leads_to_where_the_page_ended(name: str) -> None:
    for number in (0, -1, 2**63 - 1, -(2**63)):
        cursor = ORDER.cursor(Place(name, number))
        assert cursor.replace("-", "a").replace("_", "a").isalnum()
        found = requested_cursor(asked(after=cursor, size=3), ORDER)
        assert found == CursorPage(3, Place(name, number))


def test_the_first_page_comes_without_one() -> None:
    assert requested_cursor(asked(), ORDER) == CursorPage(20)
    assert requested_cursor(asked(after="", size=1000), ORDER) == CursorPage(100)


def test_what_is_no_cursor_of_the_list_is_refused() -> None:
    good = cursor_of('[1,"places",["a",1]]')
    assert requested_cursor(asked(after=good), ORDER).after == ("a", 1)
    for text in (
        '[1,"people",["a",1]]',  # of another list
        '[2,"places",["a",1]]',  # of another version
        '[1,"places",["a","1"]]',
        '[1,"places",["a",true]]',
        '[1,"places",["a",1.0]]',
        '[1,"places",["a"]]',
        '[1,"places",["a",1,1]]',
        '[1,"places",["a", 1]]',  # the same position written otherwise
        '[1,"places",["\\u0000",1]]',
        '[1,"places",["\\ud800",1]]',
        f'[1,"places",["a",{2**63}]]',
        f'[1,"places",["a",{"9" * 1000}]]',
        f'[1,"places",["{"a" * MAX_CHARACTERS}",1]]',
        "[" * 1000,
        "{}",
        "",
    ):
        assert refused(cursor_of(text) or "-"), text
    for text in (f"{good}=", f"{good}==", good[:-1], f"{good}!", f" {good}", "ä", "\0", "1", "///"):
        assert refused(text), text


def test_the_links_lead_through_the_list_with_the_rest_of_the_query() -> None:
    page = requested_cursor(asked(after=ORDER.cursor(SOME), size=2), ORDER)
    following = Place("z", 1)
    found = links(asked(after=ORDER.cursor(SOME), size=2), ORDER, page, following)
    rest = {"filter[a]": ["b c"], "page[size]": ["2"]}
    for link, after in ((found.self, SOME), (found.first, None), (found.next, following)):
        assert link is not None
        where = urlsplit(link)
        cursor = {} if after is None else {"page[after]": [ORDER.cursor(after)]}
        assert (where.path, parse_qs(where.query)) == ("/places", rest | cursor)
    assert links(asked(), ORDER, CursorPage(20), None).next is None
