"""Connections that bring no request, or nothing like one."""

import asyncio
import contextlib
import time

from tests.faults.hostile.attack import GAVE_UP, Attack
from tests.faults.hostile.target import Target, forged
from tests.faults.hostile.wire import CLOSED, Answer, Connection, ask, repeat, together

_AT_ONCE = 100
_MOST = 1000
_SLOW = 500
_PIPELINED = 64


async def opened_and_closed(target: Target, seconds: float) -> list[Answer]:
    """1,000 that end as soon as they are there, and as many again."""
    end = time.monotonic() + seconds
    while True:
        for _ in range(_MOST // _AT_ONCE):
            await asyncio.gather(*(_open(target.port) for _ in range(_AT_ONCE)))
        if time.monotonic() >= end:
            return []


async def _open(port: int) -> None:
    with contextlib.suppress(ConnectionError):
        async with Connection(port):
            pass


async def slow_heads(target: Target, seconds: float) -> list[Answer]:
    """500 heads, each a byte at a time."""
    head = target.request("GET", "/healthz", None)
    pieces = [head[n : n + 1] for n in range(len(head) - 1)]

    async def one() -> list[Answer]:
        return [await ask(target.port, *pieces, pause=0.2, patience=seconds)]

    return await together(_SLOW, one)


async def garbage(target: Target, seconds: float) -> list[Answer]:
    """What is no request, one behind the other."""
    return await _pipelines(target, seconds, b"nonsense\r\n\r\n" * 1000)


async def forged_pipelines(target: Target, seconds: float) -> list[Answer]:
    """A hundred requests in one piece."""
    return await _pipelines(target, seconds, target.request("GET", target.vars, forged()) * 100)


async def _pipelines(target: Target, seconds: float, sent: bytes) -> list[Answer]:
    return await together(_PIPELINED, lambda: repeat(seconds, lambda: ask(target.port, sent)))


ATTACKS = [
    Attack("1,000 connections, opened and closed", opened_and_closed, frozenset(), flood=True),
    Attack("500 slow heads", slow_heads, frozenset({408, CLOSED}) | GAVE_UP, flood=True),
    Attack("garbage, pipelined", garbage, frozenset({400, CLOSED}), flood=True),
    Attack(
        "lists, pipelined, forged token", forged_pipelines, frozenset({401, 429, 503}), flood=True
    ),
]
