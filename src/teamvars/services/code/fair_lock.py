"""A lock that is fair to principals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from teamvars.domain.errors import busy, too_many_requests

WAITERS_LIMIT = 64
"""How many principals wait in one worker, each with a value of up to 256 KiB."""


class FairLock:
    """Mutual exclusion, first come, first served, with at most one waiter for each principal.

    So whoever releases it and acquires it again queues behind all other principals.
    """

    def __init__(self) -> None:
        self._is_locked = False
        self._waiters: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def held_by(self, principal: str) -> AsyncIterator[None]:
        """Acquires the lock for the block.

        Refuses: too many requests, when the principal waits already; busy, when `WAITERS_LIMIT`
        others do.
        """
        await self._acquire(principal)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, principal: str) -> None:
        if not self._is_locked:
            self._is_locked = True
            return
        if principal in self._waiters:
            raise too_many_requests("Another value of yours waits to be read. Send it after that.")
        if len(self._waiters) >= WAITERS_LIMIT:
            raise busy()
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[principal] = waiter
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                # Woken, and cancelled before it resumed: it holds the lock, and must pass it on.
                self._release()
            elif self._waiters.get(principal) is waiter:
                del self._waiters[principal]
            raise

    def _release(self) -> None:
        """Hands the lock to the first waiter, without unlocking: so nobody can barge in between."""
        while self._waiters:
            waiter = self._waiters.pop(next(iter(self._waiters)))
            if not waiter.done():
                waiter.set_result(None)
                return
        self._is_locked = False
