"""A body that takes its time, without a server that does the same."""

import asyncio
from collections.abc import Iterator
from itertools import repeat
from typing import NoReturn

import pytest

from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Refusal
from teamvars.time_limits import TimeLimits
from teamvars.web.http import request as requests
from teamvars.web.http.request import CALLER_BODY_BYTES, Bodies, Message, Receive, Request, Scope
from tests.support.patience import HANGS

LIMIT = 0.05
MEGABYTE = 2**20
SCOPE: Scope = {
    "http_version": "1.1",
    "method": "POST",
    "path": "/",
    "query_string": b"",
    "headers": [(b"content-length", b"2")],
}


@pytest.fixture(autouse=True)
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", LIMIT)


async def body_of(receive: Receive) -> bytes:
    return await Request(SCOPE, receive, TimeLimits(), Bodies()).read_body()


def in_pieces(pieces: Iterator[bytes]) -> Receive:
    """A body in pieces, of which the server says that it has ended with an empty one."""

    async def receive() -> Message:
        piece = next(pieces)
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    return receive


async def never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_body_that_does_not_come_in_time_is_refused_and_the_task_goes_on() -> None:
    with pytest.raises(Refusal) as refused:
        await body_of(never)
    assert [fault.code.word for fault in refused.value.faults] == ["request_timeout"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_the_limit_is_for_the_whole_body_and_not_for_each_piece() -> None:
    async def trickle() -> Message:
        await asyncio.sleep(LIMIT / 4)
        return {"type": "http.request", "body": b"", "more_body": True}

    with pytest.raises(Refusal) as refused:
        await asyncio.wait_for(body_of(trickle), HANGS)
    assert [fault.code.word for fault in refused.value.faults] == ["request_timeout"]


async def test_after_a_body_in_time_the_limit_is_forgotten() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    assert await body_of(receive) == b"{}"
    await asyncio.sleep(LIMIT * 2)


async def test_a_body_as_long_as_announced_is_whole_and_nothing_more_is_waited_for() -> None:
    pieces = iter([b"{", b"}"])

    async def receive() -> Message:
        for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        return await never()

    request = Request(SCOPE, receive, TimeLimits(), Bodies())
    assert await request.read_body() == b"{}"
    assert not request.body_pending


async def test_who_has_used_up_their_share_of_bodies_is_not_read_any_further() -> None:
    bodies, unread = Bodies(), 2 * 1024 * 1024
    scope = {**SCOPE, "headers": [(b"content-length", b"%d" % unread)]}

    def request() -> Request:
        made = Request(scope, in_pieces(iter([b" " * unread, b""])), TimeLimits(), bodies)
        made.caller = Caller(b"", "r", Actor("user", "user-1"))
        return made

    under_way = [request() for _ in range(CALLER_BODY_BYTES // unread)]
    for one in under_way:
        one.require_room()
    assert not await request().drain()
    release = under_way[0].release
    assert release is not None
    release()
    assert await request().drain()


async def test_a_body_that_comes_at_once_gives_way_to_nobody_however_many_begin_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", HANGS)
    monkeypatch.setattr(requests, "UNDISTURBED_SECONDS", HANGS)
    bodies, size = Bodies(), requests.UNAUTHENTICATED_BODY_BYTES
    scope = {**SCOPE, "headers": [(b"content-length", b"%d" % size)]}
    most = requests.UNAUTHENTICATED_BODIES_BYTES // size

    async def whole() -> Message:
        for _ in range(most):
            await asyncio.sleep(0)
        return {"type": "http.request", "body": b" " * size, "more_body": False}

    async def read(receive: Receive) -> bytes:
        request = Request(scope, receive, TimeLimits(), bodies)
        await request.require_room_unauthenticated(size)
        return await request.read_body()

    job = asyncio.create_task(read(whole))
    flood = [asyncio.create_task(read(never)) for _ in range(2 * most)]
    assert await job == b" " * size
    for one in flood:
        one.cancel()
    await asyncio.wait(flood)


async def test_a_body_of_unknown_length_ends_where_the_server_says() -> None:
    pieces = iter([b"{", b"}", b""])
    scope = {**SCOPE, "headers": [*SCOPE["headers"], (b"transfer-encoding", b"chunked")]}
    assert await Request(scope, in_pieces(pieces), TimeLimits(), Bodies()).read_body() == b"{}"
    assert next(pieces, None) is None


async def test_of_what_comes_after_the_answer_no_more_is_discarded_than_a_body_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("DRAIN_SECONDS", "DRAIN_SILENCE_SECONDS"):
        monkeypatch.setattr(requests, name, HANGS)
    pieces = repeat(b" " * MEGABYTE)
    scope = {**SCOPE, "headers": [(b"transfer-encoding", b"chunked")]}
    bodies = Bodies()
    request = Request(scope, in_pieces(pieces), TimeLimits(), bodies)
    await request.linger()
    assert request.body_bytes == requests.LARGE_BODY_BYTES
    assert not bodies.lingering


async def test_no_answer_waits_for_the_pace_of_bodies_that_come_after_theirs() -> None:
    bodies = Bodies()
    bodies.lingering = int(HANGS * requests.LINGERING_PIECES_A_SECOND)
    request = Request(SCOPE, in_pieces(iter([b"{", b"}"])), TimeLimits(), bodies)
    assert await request.drain()


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        (b"[fe80::1%eth0]:8080", True),
        (b"[FE80::1%25en-0]", True),
        (b"api_gateway.internal:443", True),
        (b"[::1", False),
        (b"[::1%]", False),
        (b"x, y", False),
    ],
)
async def test_a_host_is_whatever_clients_call_one(host: bytes, is_one: bool) -> None:
    scope = {**SCOPE, "headers": [(b"host", host)]}
    with pytest.raises(Refusal) as refused:
        Request(scope, never, TimeLimits(), Bodies()).require_caller()
    (fault,) = refused.value.faults
    assert (fault.code.word == "unauthenticated") is is_one


@pytest.mark.parametrize("field", [(b"expect", b"100-continue"), (b"transfer-encoding", b"gzip")])
async def test_what_nobody_is_to_read_is_not_discarded_either(field: tuple[bytes, bytes]) -> None:
    async def receive() -> Message:
        raise AssertionError

    scope = {**SCOPE, "headers": [*SCOPE["headers"], field]}
    await Request(scope, receive, TimeLimits(), Bodies()).linger()


async def test_zeros_before_a_length_do_not_make_it_shorter() -> None:
    scope = {**SCOPE, "headers": [(b"content-length", b"0" * 19 + b"213")]}
    receive = in_pieces(iter([b"{}", b" ", b""]))
    assert await Request(scope, receive, TimeLimits(), Bodies()).read_body() == b"{} "


async def test_who_cancels_a_request_that_waits_for_its_body_ends_it() -> None:
    task = asyncio.create_task(body_of(never))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_cancels_a_request_just_as_its_time_is_over_ends_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0)

    async def cancelled() -> NoReturn:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await never()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(body_of(cancelled))
