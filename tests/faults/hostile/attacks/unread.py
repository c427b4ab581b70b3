"""Answers that are asked for and not read."""

import asyncio
import time

from tests.faults.hostile.attack import BOTH, GAVE_UP, Attack
from tests.faults.hostile.target import Target
from tests.faults.hostile.wire import CLOSED, UNANSWERED, Answer, Connection, together

CONNECTIONS = 20
SEARCHES = 200
_SMALL_BUFFER = 4096
_SIP = 1024
_LEAST_SECONDS = 2.0
"""It takes longer than a moment until there is anything to hold."""


async def unread(target: Target, seconds: float) -> list[Answer]:
    """Nothing of them is read until the end of the attack."""
    seconds = max(seconds, _LEAST_SECONDS)
    return await _ask(target, target.heavy, CONNECTIONS, seconds, pause=seconds)


async def sipped(target: Target, seconds: float) -> list[Answer]:
    """20 KiB a second are read of each."""
    return await _ask(target, target.heavy, CONNECTIONS, seconds, pause=0.05)


async def searched(target: Target, seconds: float) -> list[Answer]:
    """Pages of 6 MB with the values of variables that were searched for."""
    seconds = max(seconds, _LEAST_SECONDS)
    path = f"/api/v2/organizations/{target.tenant.organization}/vars?fields[vars]=value"
    return await _ask(target, path, SEARCHES, seconds, pause=seconds)


async def _ask(
    target: Target, path: str, connections: int, seconds: float, pause: float
) -> list[Answer]:
    sent = target.request("GET", path, target.mate)
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

    return await together(connections, one)


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
    Attack("200 searches for values, unread", searched, _ALLOWED, flood=True, engines=BOTH),
]
