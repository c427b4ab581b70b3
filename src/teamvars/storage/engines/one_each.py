"""One at a time of each name: those that wait hold nothing but their place."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class OneEach:
    """A lock for each name that somebody holds or waits for; first come, first served."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        """Holds the lock of the name for the block."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]
