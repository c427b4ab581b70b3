"""The connections to PostgreSQL: who may have how many, and what is tried again on another."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Any

import asyncpg
from asyncpg import exceptions as pg
from asyncpg.exceptions import ClientConfigurationError

from teamvars.domain.errors import storage_unavailable
from teamvars.storage.database import StorageMisconfigured, T
from teamvars.storage.deadlines import Deadline
from teamvars.storage.servers import Servers, Watched

_ATTEMPTS = 5
_ACQUIRE_SECONDS = 5.0
_CLOSE_SECONDS = 5.0
RUN_AGAIN = (
    pg.SerializationError,
    pg.DeadlockDetectedError,
    # A migration changed a table under a prepared statement, which is then forgotten.
    pg.InvalidCachedStatementError,
)
_LOST = (
    OSError,
    pg.PostgresConnectionError,
    pg.AdminShutdownError,
    pg.CrashShutdownError,
    pg.CannotConnectNowError,
    pg.ReadOnlySQLTransactionError,
    pg.IdleInTransactionSessionTimeoutError,
    asyncpg.TargetServerAttributeNotMatched,
)
_BUSY_OR_BROKEN = (
    TimeoutError,
    pg.InsufficientPrivilegeError,
    pg.InsufficientResourcesError,
    pg.LockNotAvailableError,
    pg.QueryCanceledError,
    pg.InvalidAuthorizationSpecificationError,
    pg.InvalidCatalogNameError,
    pg.PostgresIOError,
    # Such as a file it names that is gone by now.
    ClientConfigurationError,
)
UNUSABLE = (*_LOST, *_BUSY_OR_BROKEN)
DRIVER = (asyncpg.InterfaceError, asyncpg.InternalClientError)

Connection = Any
"""A pooled asyncpg connection; the driver's own types are partial."""


class Lane(Enum):
    """What a connection is for. Each lane has its own, which nobody else takes.

    Whoever writes may have to wait for a lock, and has a connection meanwhile; statements alone,
    reads and the batch never wait for one.
    """

    STATEMENTS = "statements"
    READS = "reads"
    BATCH = "batch"
    WRITES = "writes"


CONNECTIONS: Mapping[Lane, int] = {
    Lane.STATEMENTS: 4,
    Lane.READS: 3,
    Lane.BATCH: 1,
    Lane.WRITES: 4,
}


class Connections:
    """A pool that connects when it is asked to, then and whenever the server is there again."""

    def __init__(self, servers: Servers, **options: Any) -> None:
        """`options` are the driver's, for each connection."""
        self._servers = servers
        self._options = options
        self._free = {lane: asyncio.Semaphore(number) for lane, number in CONNECTIONS.items()}
        self._pool: Any = None

    async def open(self) -> None:
        """Makes the first connection. Refuses when that fails, and can be used all the same.

        Raises StorageMisconfigured when the URL has a parameter that makes no sense.
        """
        self._pool = await asyncpg.create_pool(
            connect=self._servers.connect,
            min_size=0,
            max_size=sum(CONNECTIONS.values()),
            connection_class=Watched,
            max_cached_statement_lifetime=0,
            reset=_keep,
            **self._options,
        )
        try:
            await self._pool.release(await self._pool.acquire(timeout=self._acquire_seconds))
        except ClientConfigurationError as error:
            raise _nonsense(error) from None
        except UNUSABLE as error:
            raise storage_unavailable() from error

    async def close(self) -> None:
        """Says goodbye on all connections, or hangs up where nobody listens."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def attempt(
        self, lane: Lane, run: Callable[[Connection], Awaitable[T]], deadline: Deadline
    ) -> T:
        """Runs the transaction; again, up to five times, while that is certain to be safe.

        Refuses when there is no connection or the deadline passes; `run` lets the deadline cut.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                async with self._connection(lane, deadline) as connection:
                    return await run(connection)
            except RUN_AGAIN as error:
                failure: Exception = error
            except _BUSY_OR_BROKEN as error:  # before the next: a TimeoutError is an OSError
                raise storage_unavailable() from error
            except _LOST as error:
                # Every pooled connection of a server that went away is as dead as this one.
                await self._pool.expire_connections()
                failure = error
            pause = random.uniform(0, 0.02 * 2**attempt)  # noqa: S311 - jitter
            if attempt == _ATTEMPTS or deadline.left < pause:
                raise storage_unavailable() from failure
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def _connection(self, lane: Lane, deadline: Deadline) -> AsyncIterator[Connection]:
        """A connection of the lane. Raises TimeoutError when none is free for too long."""
        limit = Deadline.after(min(self._acquire_seconds, deadline.left))
        async with asyncio.timeout_at(limit.at):
            await self._free[lane].acquire()
        try:
            connection = await self._pool.acquire(timeout=limit.left)
            try:
                yield connection
            finally:
                # The outcome is settled: a connection that breaks only now must not change it.
                with suppress(*UNUSABLE, asyncpg.InterfaceError):
                    await self._pool.release(connection)
        finally:
            self._free[lane].release()

    @property
    def _acquire_seconds(self) -> float:
        return _ACQUIRE_SECONDS + self._servers.further_seconds


def _nonsense(error: ClientConfigurationError) -> StorageMisconfigured:
    """What the driver says of the URL, where it does not quote what stands there."""
    text = str(error).partition("\n")[0]
    told = text if text.startswith("`") else "a parameter after '?' makes no sense to the driver"
    return StorageMisconfigured(f"TEAMVARS_DATABASE_URL: {told}.")


async def _keep(_: Connection) -> None:
    """Saves the pool's round trip after each use: no transaction leaves anything behind."""
