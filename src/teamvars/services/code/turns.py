"""One at a time, and principals in turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from teamvars.domain.errors import busy, too_many_requests

MOST_WAITING = 64
"""Principals that wait in one worker, each with a value of up to 256 KiB."""


class Turns:
    """Hands out one turn after another, to principals in the order in which they came.

    A principal waits once: whoever has had a turn and wants another stands behind all others.
    """

    def __init__(self) -> None:
        self._taken = False
        self._waiting: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def turn(self, principal: str) -> AsyncIterator[None]:
        """Waits for the turn, which ends with the block.

        Refuses: a principal who waits already, more than `MOST_WAITING` of them.
        """
        await self._wait(principal)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, principal: str) -> None:
        if not self._taken:
            self._taken = True
            return
        if principal in self._waiting:
            raise too_many_requests("Another value of yours waits to be read. Send it after that.")
        if len(self._waiting) >= MOST_WAITING:
            raise busy()
        called = asyncio.get_running_loop().create_future()
        self._waiting[principal] = called
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._pass_on()  # it was called in the moment in which it went away
            elif self._waiting.get(principal) is called:
                del self._waiting[principal]
            raise

    def _pass_on(self) -> None:
        """Calls the first who is still there."""
        while self._waiting:
            called = self._waiting.pop(next(iter(self._waiting)))
            if not called.done():
                called.set_result(None)
                return
        self._taken = False
