"""A pool of connections to PostgreSQL, divided by use, and the retries on another connection."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import asyncpg
from asyncpg import exceptions as pg
from asyncpg.exceptions import ClientConfigurationError

from teamvars.domain.errors import storage_unavailable
from teamvars.storage.database import StorageMisconfigured, T
from teamvars.storage.deadlines import Deadline
from teamvars.storage.servers import KeepaliveConnection, Servers

_ATTEMPTS = 5
_ACQUIRE_SECONDS = 5.0
_CLOSE_SECONDS = 5.0
_RELEASE_SECONDS = 1.0
"""How long a connection that is given up may take to close; it is aborted then."""
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
    """A part of the pool for one use, with a limit of its own: a bulkhead.

    Writes may wait for row locks, each with a connection. Autocommit statements, reads and the
    batch never wait for one, and so must not wait for a connection that does.
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
    """A pool that connects on demand, and so again after the server was unavailable."""

    def __init__(self, servers: Servers, **options: Any) -> None:
        """`options` are the driver's, of each connection."""
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
            connection_class=KeepaliveConnection,
            max_cached_statement_lifetime=0,
            reset=_no_reset,
            **self._options,
        )
        try:
            await self._pool.release(await self._pool.acquire(timeout=self._acquire_seconds))
        except ClientConfigurationError as error:
            raise _misconfigured(error) from None
        except UNUSABLE as error:
            raise storage_unavailable() from error

    async def close(self) -> None:
        """Closes all connections, by force those whose server does not respond in time."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def attempt(
        self, lane: Lane, run: Callable[[Connection], Awaitable[T]], deadline: Deadline
    ) -> T:
        """Runs the transaction; repeats it, up to `_ATTEMPTS` in all, after errors that guarantee
        that it was not committed.

        Refuses when there is no connection or the deadline passes. `run` itself sees to it that
        the deadline ends its statements; see `Deadline.enforced_on`.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                connection = await self._acquire(lane, deadline)
                try:
                    return await run(connection)
                finally:
                    await self._release(lane, connection)
            except RUN_AGAIN as error:
                failure: Exception = error
            except _BUSY_OR_BROKEN as error:  # before _LOST: TimeoutError is an OSError
                raise storage_unavailable() from error
            except _LOST as error:
                # The other connections were to the same server, and are lost as well.
                await self._pool.expire_connections()
                failure = error
            pause = random.uniform(0, 0.02 * 2**attempt)  # noqa: S311 - jitter
            if attempt == _ATTEMPTS or deadline.left < pause:
                raise storage_unavailable() from failure
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _acquire(self, lane: Lane, deadline: Deadline) -> Connection:
        """A connection of the lane. Raises TimeoutError when none becomes free in time."""
        async with asyncio.timeout(min(self._acquire_seconds, deadline.left)):
            await self._free[lane].acquire()
            try:
                # Not with the pool's own timeout, which runs a task for each.
                return await self._pool.acquire()
            except BaseException:
                self._free[lane].release()
                raise

    async def _release(self, lane: Lane, connection: Connection) -> None:
        try:
            # The transaction has ended: an error on release must not replace its outcome.
            with suppress(*UNUSABLE, asyncpg.InterfaceError):
                await self._pool.release(connection, timeout=_RELEASE_SECONDS)
        finally:
            self._free[lane].release()

    @property
    def _acquire_seconds(self) -> float:
        return _ACQUIRE_SECONDS + self._servers.further_seconds


def _misconfigured(error: ClientConfigurationError) -> StorageMisconfigured:
    """The driver's message about the URL, unless it may quote a secret of it."""
    text = str(error).partition("\n")[0]
    told = text if text.startswith("`") else "a parameter after '?' makes no sense to the driver"
    return StorageMisconfigured(f"TEAMVARS_DATABASE_URL: {told}.")


async def _no_reset(_: Connection) -> None:
    """In the place of the pool's reset, a round trip: there is no session state to reset."""
