"""A lock that is fair to principals."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from teamvars.domain.errors import busy, too_many_requests

WAITERS_LIMIT = 64
"""How many principals wait in one worker, each with a value of up to 256 KiB."""


class FairLock:
    """Mutual exclusion in which principals take turns, each with its own first come, first served.

    So whoever releases it and acquires it again queues behind all other principals.
    """

    def __init__(self, waiters_each: int = 1) -> None:
        """`waiters_each`: how many waiters each principal may have."""
        self._waiters_each = waiters_each
        self._is_locked = False
        self._waiters: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def held_by(self, principal: str, seconds: float | None = None) -> AsyncIterator[None]:
        """Acquires the lock for the block, if it can within so many seconds.

        Refuses: too many requests, when the principal has as many waiters as it may; busy, when
        `WAITERS_LIMIT` others wait, or the time is over.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._acquire(principal)
        except TimeoutError:
            raise busy() from None
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, principal: str) -> None:
        if not self._is_locked:
            self._is_locked = True
            return
        if len(self._waiters.get(principal, ())) >= self._waiters_each:
            raise too_many_requests("Others of yours wait for their turn. Send this after them.")
        if principal not in self._waiters and len(self._waiters) >= WAITERS_LIMIT:
            raise busy()
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(principal, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                # Woken, and cancelled before it resumed: it holds the lock, and must pass it on.
                self._release()
            else:
                self._forget(principal, waiter)
            raise

    def _release(self) -> None:
        """Hands the lock to the first waiter, without unlocking: so nobody can barge in between."""
        while self._waiters:
            principal = next(iter(self._waiters))
            waiters = self._waiters.pop(principal)
            waiter = waiters.popleft()
            if waiters:
                self._waiters[principal] = waiters  # behind all others
            if not waiter.done():
                waiter.set_result(None)
                return
        self._is_locked = False

    def _forget(self, principal: str, waiter: asyncio.Future[None]) -> None:
        waiters = self._waiters.get(principal)
        if waiters is not None and waiter in waiters:
            waiters.remove(waiter)
            if not waiters:
                del self._waiters[principal]
