"""Long answers to clients that take them, and to those that do not."""

import asyncio
from typing import Any

import pytest

from teamvars.domain.errors import Refusal
from teamvars.services.rendered import Rendered
from teamvars.time_limits import TimeLimits
from teamvars.web.http import sending
from teamvars.web.http.request import Bodies, Message, Receive, Request
from teamvars.web.http.sending import PIECE_BYTES, Response, Sender
from tests.support.patience import HANGS

PIECES = (b"a" * (2 * PIECE_BYTES + 1), b"b" * PIECE_BYTES)
SCOPE = {
    "http_version": "1.1",
    "method": "GET",
    "path": "/",
    "query_string": b"",
    "headers": [],
}


async def staying() -> Message:
    """Of a client that sends nothing more and does not go."""
    await asyncio.Event().wait()
    raise AssertionError


async def gone() -> Message:
    return {"type": "http.disconnect"}


def request(receive: Receive = staying) -> Request:
    return Request(SCOPE, receive, TimeLimits(), Bodies())


class Client:
    """Takes so many messages, and then none."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self.taken: list[dict[str, Any]] = []

    async def __call__(self, message: Message) -> None:
        if len(self.taken) == self._most:
            await asyncio.Event().wait()
        self.taken.append(dict(message))

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.taken)


async def test_a_long_answer_comes_in_pieces_and_is_whole() -> None:
    client = Client()
    assert await Sender(TimeLimits()).send(client, request(), Response(200, Rendered("t", PIECES)))
    assert client.body == b"".join(PIECES)
    assert max(len(message.get("body", b"")) for message in client.taken) <= PIECE_BYTES
    assert dict(client.taken[0]["headers"])[b"Content-Length"] == str(len(client.body)).encode()
    assert [message.get("more_body") for message in client.taken[1:]] == [True] * 3 + [False]


async def test_an_answer_that_the_server_takes_without_a_wait_is_one_message() -> None:
    client = Client()
    answer = Response(200, Rendered("t", (b"a" * PIECE_BYTES, b"b" * PIECE_BYTES)))
    assert await Sender(TimeLimits()).send(client, request(gone), answer)
    assert [len(message.get("body", b"")) for message in client.taken] == [0, 2 * PIECE_BYTES]


async def test_nothing_more_is_sent_to_a_client_that_has_gone() -> None:
    client = Client()
    assert not await Sender(TimeLimits()).send(client, request(gone), Response(200, b"x" * 2**24))
    assert len(client.body) == PIECE_BYTES


async def test_long_answers_leave_the_loop_to_others_between_pieces() -> None:
    others = 0
    sender, pieces = Sender(TimeLimits()), 20

    async def long() -> None:
        await sender.send(Client(), request(), Response(200, b"x" * pieces * PIECE_BYTES))

    sending = [asyncio.create_task(long()) for _ in range(3)]
    while not all(one.done() for one in sending):
        await asyncio.sleep(0)
        others += 1
    assert others > pieces


async def test_only_very_long_answers_wait_for_one_another_unless_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "PIECES_A_SECOND", 0.001)
    sender = Sender(TimeLimits())

    def several(size: int) -> "list[asyncio.Task[bool]]":
        answer = Response(200, b"x" * size)
        return [asyncio.create_task(sender.send(Client(), request(), answer)) for _ in range(3)]

    monkeypatch.setattr(sending, "UNPACED_RESPONSES", 6)
    waiting = several(sending.PACED_BYTES + 1)
    assert (
        await asyncio.wait_for(asyncio.gather(*several(sending.PACED_BYTES)), HANGS) == [True] * 3
    )
    waiting += several(sending.PACED_BYTES + 1)
    await asyncio.sleep(0)
    waiting += several(sending.PACED_BYTES)
    await asyncio.sleep(0.05)
    assert not any(one.done() for one in waiting)
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)


async def test_an_answer_that_nobody_takes_is_given_up_and_its_room_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "PIECE_SECONDS", 0.05)
    sender, answer = Sender(TimeLimits()), Response(200, b"x" * 50 * 1024 * 1024)
    assert not await sender.send(Client(3), request(), answer)
    other = Response(200, b"y" * 50 * 1024 * 1024)
    assert not await sender.send(Client(0), request(), other)


async def test_who_does_not_take_one_long_answer_gets_no_other() -> None:
    sender = Sender(TimeLimits())
    first = asyncio.create_task(
        sender.send(Client(3), request(), Response(200, b"x" * 50 * 1024 * 1024))
    )
    await asyncio.sleep(0)
    client = Client()
    with pytest.raises(Refusal):
        await sender.send(client, request(), Response(200, b"y" * 50 * 1024 * 1024))
    assert client.taken == []
    assert await sender.send(client, request(), Response(200, b"short"))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
