"""Answers that are asked for and not read."""

import asyncio
import time

from tests.faults.hostile.attack import BOTH, GAVE_UP, Attack
from tests.faults.hostile.target import Target
from tests.faults.hostile.wire import CLOSED, UNANSWERED, Answer, Connection, together

CONNECTIONS = 20
_SMALL_BUFFER = 4096
_SIP = 1024
_LEAST_SECONDS = 2.0
"""It takes longer than a moment until there is anything to hold."""


async def unread(target: Target, seconds: float) -> list[Answer]:
    """Nothing of them is read until the end of the attack."""
    seconds = max(seconds, _LEAST_SECONDS)
    return await _ask(target, seconds, pause=seconds)


async def sipped(target: Target, seconds: float) -> list[Answer]:
    """20 KiB a second are read of each."""
    return await _ask(target, seconds, pause=0.05)


async def _ask(target: Target, seconds: float, pause: float) -> list[Answer]:
    sent = target.request("GET", target.heavy, target.owner)
    end = time.monotonic() + seconds

    async def one() -> list[Answer]:
        try:
            async with Connection(target.port, _SMALL_BUFFER) as connection:
                await connection.send(sent)
                status = UNANSWERED
                while time.monotonic() < end:
                    await asyncio.sleep(pause)
                    status = max(status, await _status(connection))
                return [Answer(status)]
        except ConnectionError:
            return [Answer(CLOSED)]

    return await together(CONNECTIONS, one)


async def _status(connection: Connection) -> int:
    """Of the answer that begins here, if it does."""
    try:
        async with asyncio.timeout(0.01):
            head = await connection.receive(_SIP)
    except TimeoutError:
        return UNANSWERED
    return int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else UNANSWERED


_ALLOWED = frozenset({200, 429, 503, CLOSED}) | GAVE_UP

ATTACKS = [
    Attack("20 lists of 94 MB, unread", unread, _ALLOWED, engines=BOTH),
    Attack("20 lists of 94 MB, sipped", sipped, _ALLOWED),
]
