"""What is said to servers, and what counts as their answer."""

import re
from urllib.parse import urlsplit

import pytest

from teamvars.security.answers import Answer, CutShort, HungUp, NoAnswer, Talk

PLACE = urlsplit("https://somebody@id.example.com:8443/token?a=b")
MOST = 1024
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
PIECES = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n{}"


def asked() -> Talk:
    """One in which something was asked."""
    talk = Talk(MOST)
    talk.ask("GET", PLACE, {})
    return talk


def test_a_request_says_whom_it_asks_and_for_what() -> None:
    said = Talk(MOST).ask("POST", PLACE, {"Accept": "a/b"}, b"code=c")
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /token?a=b HTTP/1.1\r\n")
    assert {b"Host: id.example.com:8443", b"Content-Length: 6", b"Accept: a/b"} <= {
        *head.split(b"\r\n")
    }
    assert body == b"code=c"
    assert Talk(MOST).ask("GET", urlsplit("http://localhost"), {}).startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize("place", [PLACE, urlsplit("https://id.example.com/a b")])
def test_what_cannot_be_said_is_in_no_error(place: object) -> None:
    with pytest.raises(NoAnswer) as refused:
        Talk(MOST).ask("GET", place, {"X-Token": "hunter2\nA: b"})  # type: ignore[arg-type]
    assert "hunter2" not in repr(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("said", "status", "may_go_on"),
    [
        (WHOLE, 200, True),
        (WHOLE.replace(b"Con", b"con"), 200, True),
        (PIECES + b"\r\n", 200, True),
        (PIECES + b"A: b\r\n\r\n", 200, True),
        (b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + WHOLE, 200, True),
        (WHOLE.replace(b"200 OK", b"200 OK\r\nConnection: Keep-Alive, Close"), 200, False),
        (WHOLE.replace(b"1.1", b"1.0"), 200, False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, True),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, True),
    ],
    ids=str,
)
def test_an_answer_is_whole_once_its_last_byte_has_come(
    said: bytes, status: int, may_go_on: bool
) -> None:
    talk = asked()
    for byte in said:
        assert talk.answer() is None
        talk.hear(bytes([byte]))
    found = talk.answer()
    assert found is not None
    assert (found.status, found.content) == (status, b"{}" if status == 200 else b"")
    assert talk.may_go_on is may_go_on
    if may_go_on:
        talk.ask("GET", PLACE, {})
        assert talk.answer() is None
        talk.hear(WHOLE)
        assert talk.answer() == Answer(200, b"{}", {"content-length": "2"})


@pytest.mark.parametrize("more", [b"", b"more", WHOLE])
def test_nothing_else_is_asked_where_a_server_says_more_or_hangs_up(more: bytes) -> None:
    talk = asked()
    talk.hear(WHOLE)
    assert talk.answer() is not None
    talk.hear(more)
    assert not talk.may_go_on
    with pytest.raises(NoAnswer):
        talk.ask("GET", PLACE, {})


def test_an_answer_that_does_not_say_how_long_it_is_ends_with_its_connection() -> None:
    talk = asked()
    talk.hear(ENDLESS)
    assert talk.answer() is None
    talk.hear(b"")
    assert talk.answer() == Answer(200, b"{}", {})
    assert not talk.may_go_on


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_server_that_hangs_up_before_has_said_nothing_or_not_all(length: int) -> None:
    talk = asked()
    for said in (WHOLE[:length], b""):
        if said:
            talk.hear(said)
            assert talk.answer() is None
    talk.hear(b"")
    with pytest.raises(CutShort if length else HungUp):
        talk.answer()


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 999999999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n{}",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * MOST,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"b" * MOST,
    ],
    ids=lambda said: re.sub(rb"b{9,}", b"...", said).decode(),
)
def test_what_is_no_http_or_too_much_is_no_answer(said: bytes) -> None:
    talk = asked()
    talk.hear(said)
    with pytest.raises(NoAnswer):  # noqa: PT012 - at the latest once it has hung up
        talk.answer()
        talk.hear(b"")
        talk.answer()
