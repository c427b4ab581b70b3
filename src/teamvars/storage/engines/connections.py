"""A pool of connections to PostgreSQL, divided by use, and the retries on another connection."""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any

import asyncpg
from asyncpg import exceptions as pg
from asyncpg.exceptions import ClientConfigurationError

from teamvars.domain.diagnosis import Pooler
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.metrics import Gauge, Look
from teamvars.storage.database import StorageMisconfigured, T
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines.poolers import (
    NOT_PREPARED_HERE,
    PREPARED,
    Passage,
    is_through_one,
    keeps_statements,
)
from teamvars.storage.engines.servers import DRIVER, Servers, abandoning, explained, saying

_ATTEMPTS = 5
_ACQUIRE_SECONDS = 5.0
_CLOSE_SECONDS = 5.0
_LIFETIME_SECONDS = 1800.0
"""After how long a connection is made anew: its process on the server keeps growing."""
_IDLE_SECONDS = 300.0
"""For how long connections that nobody needs are kept, at least."""
FRESH_SECONDS = 1.0
"""For how long after its last answer a connection is taken to be there still."""
_GOODBYE_SECONDS = 1.0
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
    # A page or a file of the server's is damaged or gone.
    pg.InternalServerError,
    pg.UndefinedFileError,
    # Such as a file it names that is gone by now.
    ClientConfigurationError,
    # The mode of the pooler in between was changed.
    *NOT_PREPARED_HERE,
)
UNUSABLE = (*_LOST, *_BUSY_OR_BROKEN)
_NO_SETTING = (
    pg.UndefinedObjectError,
    pg.InvalidParameterValueError,
    pg.CantChangeRuntimeParamError,
    pg.PostgresSyntaxError,
)
"""What a server says of a parameter of the URL that the driver does not know, and so takes for a
setting of the session."""

Connection = Any
"""An asyncpg connection; the driver's own types are partial."""


class Lane(Enum):
    """A part of the pool for one use, with a limit of its own: a bulkhead.

    Writes may wait for row locks, each with a connection. Autocommit statements, reads and the
    batch never wait for one, and so must not wait for a connection that does.
    """

    STATEMENTS = "statements"
    READS = "reads"
    BATCH = "batch"
    WRITES = "writes"
    PROBES = "probes"


CONNECTIONS: Mapping[Lane, int] = {
    Lane.STATEMENTS: 4,
    Lane.READS: 3,
    Lane.BATCH: 1,
    Lane.WRITES: 4,
    Lane.PROBES: 1,
}


IN_USE = Gauge("teamvars_pool_connections", "Connections to PostgreSQL in use, by lane.", ("lane",))
WAITING = Gauge("teamvars_pool_waiting", "Who waits for a connection to PostgreSQL.", ("lane",))

_ASK_TIME = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
_MEASURED_NANOSECONDS = 60_000_000_000
"""After so long the server's clock is measured again: no two clocks run alike."""
_BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", None)
_steady: Callable[[], int] = (
    time.monotonic_ns if _BOOT_TIME is None else partial(time.clock_gettime_ns, _BOOT_TIME)
)
"""A clock that no one sets, in ns; on Linux it goes on while the host sleeps."""


class ServerClock:
    """Goes on from what the server said last, by a clock of this host that nobody sets.

    All connections are to one server, or to one that has taken its place: what the newest
    connection has measured counts.
    """

    def __init__(self) -> None:
        self._ahead: int | None = None
        """What is added to `_steady`, in ns."""
        self._measured_at = 0

    @property
    def is_due(self) -> bool:
        """Whether it is to be measured again."""
        return self._ahead is None or _steady() > self._measured_at + _MEASURED_NANOSECONDS

    async def measure(self, connection: Any) -> None:
        """Asks the server, and takes half of the time that takes for the way back."""
        asked = _steady()
        said: int = await connection.fetchval(_ASK_TIME)
        self._measured_at = _steady()
        self._ahead = said * 1000 - (asked + self._measured_at) // 2

    def now(self) -> int:
        """The time in µs UTC. Refuses before the first connection."""
        if self._ahead is None:
            raise storage_unavailable()
        return (_steady() + self._ahead) // 1000


class Connections:
    """A pool that connects on demand, and so again after the server was unavailable.

    The driver's own spends a proxy, a task and a turn of the event loop on each use: see
    docs/decisions/022.
    """

    def __init__(self, servers: Servers, passage: Passage) -> None:
        """`passage` is the way there, through what is in between."""
        self.clock = ServerClock()
        self._servers = servers
        self._passage = passage
        self._options = passage.options
        self._in_use, self._waiting = Counter[Lane](), Counter[Lane]()
        self._free = {lane: asyncio.Semaphore(number) for lane, number in CONNECTIONS.items()}
        self._good_until: dict[Connection, float] = {}
        """Every connection, and the monotonic time from which it is replaced."""
        self._fresh_until: dict[Connection, float] = {}
        self._idle: list[Connection] = []
        """Those that are not in use. The last one is used next: the first may not be needed."""
        self._least_idle = 0
        """How many of them have not been needed since `_sweep`."""
        self._sweeping: asyncio.TimerHandle | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()

    @property
    def looks(self) -> list[Look]:
        """What is to be seen of each lane."""
        counted = ((IN_USE, self._in_use), (WAITING, self._waiting))
        return [
            Look(gauge, partial(counts.__getitem__, lane), (lane.value,))
            for gauge, counts in counted
            for lane in Lane
        ]

    async def open(self) -> None:
        """Makes the first connection. Refuses when that fails, and can be used all the same.

        Raises StorageMisconfigured when the URL has a parameter that makes no sense, or the pooler
        in between is not the one that was said.
        """
        try:
            async with asyncio.timeout(self._acquire_seconds):
                self._idle.append(await self._first())
        except ClientConfigurationError as error:
            raise _misconfigured(error) from None
        except _NO_SETTING as error:
            raise StorageMisconfigured(f"TEAMVARS_DATABASE_URL: {error}.") from None
        except NOT_PREPARED_HERE:
            raise self._passage.not_by_transaction() from None
        except (*UNUSABLE, *DRIVER) as error:  # the driver's, of one that was closed meanwhile
            if isinstance(error, pg.ProtocolViolationError) and (
                refusal := self._passage.refusal(error)
            ):
                raise refusal from None
            raise storage_unavailable() from error

    async def _first(self) -> Connection:
        """The first connection, by which whatever is in between is known from then on."""
        connection = await self._connect()
        try:
            if await is_through_one(connection):
                await self._look_at_pooler(connection)
        except BaseException:
            self._give_up(connection)
            raise
        return connection

    async def _look_at_pooler(self, connection: Connection) -> None:
        if self._passage.pooler is Pooler.TRANSACTION:
            if await keeps_statements(connection):
                self._options |= PREPARED
            return
        other = await self._servers.connect(**self._options)
        try:
            await self._passage.require_fit(connection, other)
        finally:
            other.terminate()

    async def close(self) -> None:
        """Closes all connections, once they are released, or by force if that takes long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                for lane, number in CONNECTIONS.items():
                    for _ in range(number):
                        await self._free[lane].acquire()
        for connection in list(self._good_until):
            self._give_up(connection)
        if self._goodbyes:
            await asyncio.wait(self._goodbyes)
        if self._sweeping is not None:
            self._sweeping.cancel()

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
                return await self._attempt(lane, run, deadline)
            except RUN_AGAIN as error:
                failure: Exception = error
            except _BUSY_OR_BROKEN as error:  # before _LOST: TimeoutError is an OSError
                raise storage_unavailable() from self._passage.cause(error)
            except _LOST as error:
                # The other connections were to the same server, and are lost as well.
                self._expire()
                failure = error
            pause = random.uniform(0, 0.02 * 2**attempt)  # noqa: S311 - jitter
            if attempt == _ATTEMPTS or deadline.left < pause:
                raise storage_unavailable() from failure
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _attempt(
        self, lane: Lane, run: Callable[[Connection], Awaitable[T]], deadline: Deadline
    ) -> T:
        connection = await self._acquire(lane, deadline)
        try:
            if self.clock.is_due:
                with deadline.enforced_on(connection):
                    await self.clock.measure(connection)
            return await run(connection)
        except (*DRIVER, pg.ConnectionDoesNotExistError) as error:
            raise explained(error, connection) from error
        except asyncio.CancelledError:
            # Its statement may be running: the driver asks the server to end it, which nobody waits
            # for, and then closes the connection.
            self._good_until[connection] = -math.inf
            raise
        except Refusal as refusal:
            # While it committed, and not by its own deadline, which closes this one alone.
            if isinstance(refusal.__cause__, _LOST) and deadline.left > 0:
                self._expire()
            raise
        finally:
            self._release(lane, connection)

    def is_fresh(self, connection: Connection) -> bool:
        """Whether it was there a moment ago. Of another the first statement may find that it is
        lost, and is made again: it should be one of which the outcome does not matter.
        """
        return time.monotonic() < self._fresh_until.get(connection, -math.inf)

    async def _acquire(self, lane: Lane, deadline: Deadline) -> Connection:
        """A connection of the lane. Raises TimeoutError when none becomes free in time."""
        free = self._free[lane]
        if not free.locked():
            await free.acquire()  # which does not suspend, and so needs no time-out
            if (connection := self._take_idle()) is not None:
                self._in_use[lane] += 1
                return connection
            free.release()
        self._waiting[lane] += 1
        try:
            with saying(f"no connection for {lane.value} came free in time"):
                connection = await self._acquire_in_time(lane, deadline)
        finally:
            self._waiting[lane] -= 1
        self._in_use[lane] += 1
        return connection

    async def _acquire_in_time(self, lane: Lane, deadline: Deadline) -> Connection:
        free = self._free[lane]
        async with asyncio.timeout(min(self._acquire_seconds, deadline.left)):
            await free.acquire()
            try:
                return self._take_idle() or await self._connect()
            except BaseException:
                free.release()
                raise

    def _release(self, lane: Lane, connection: Connection) -> None:
        now = time.monotonic()
        is_good = now < self._good_until.get(connection, -math.inf)
        self._fresh_until[connection] = now + FRESH_SECONDS
        if is_good and not connection.is_closed() and not connection.is_in_transaction():
            self._idle.append(connection)
        else:
            self._give_up(connection)
        self._in_use[lane] -= 1
        self._free[lane].release()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            self._least_idle = min(self._least_idle, len(self._idle))
            if not connection.is_closed():
                return connection
            self._give_up(connection)
        return None

    async def _connect(self) -> Connection:
        try:
            connection = await self._connect_to_any()
        finally:
            # A server of a newer timeline may have been seen, and lost again.
            self._abandon_outdated()
        self._good_until[connection] = time.monotonic() + _LIFETIME_SECONDS
        if self._sweeping is None:
            self._sweep()
        return connection

    async def _connect_to_any(self) -> Connection:
        connection = await self._servers.connect(**self._options)
        with abandoning(connection):
            if self._passage.first:
                await connection.execute(self._passage.first)
            await self.clock.measure(connection)
            self._servers.timelines.require(connection.standing)
        return connection

    def _give_up(self, connection: Connection) -> None:
        """Closes a connection in the background: its server may not respond."""
        self._good_until.pop(connection, None)
        self._fresh_until.pop(connection, None)
        if connection.is_closed():
            connection.terminate()  # frees what it holds
            return
        goodbye = asyncio.ensure_future(_close(connection))
        self._goodbyes.add(goodbye)
        goodbye.add_done_callback(self._goodbyes.discard)

    def _abandon_outdated(self) -> None:
        """Aborts all to a server in whose place there is another now, those in use as well: what
        they are still told is of the past, and what they commit is lost.
        """
        for connection in self._good_until:
            if not self._servers.timelines.admits(connection.standing):
                connection.terminate()

    def _expire(self) -> None:
        """Replaces all connections, those in use once they are released."""
        self._good_until = dict.fromkeys(self._good_until, -math.inf)
        self._least_idle = 0
        while self._idle:
            self._give_up(self._idle.pop())

    def _sweep(self) -> None:
        """Gives up what nobody has needed for `_IDLE_SECONDS`, now and every so often."""
        for connection in self._idle[: self._least_idle]:
            self._give_up(connection)
        del self._idle[: self._least_idle]
        self._least_idle = len(self._idle)
        self._sweeping = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._sweep)

    @property
    def _acquire_seconds(self) -> float:
        return _ACQUIRE_SECONDS + self._servers.further_seconds


async def _close(connection: Connection) -> None:
    with suppress(*UNUSABLE, *DRIVER):  # it is aborted then
        await connection.close(timeout=_GOODBYE_SECONDS)


def _misconfigured(error: ClientConfigurationError) -> StorageMisconfigured:
    """The driver's message about the URL, unless it may quote a secret of it."""
    text = str(error).partition("\n")[0]
    told = text if text.startswith("`") else "a parameter after '?' makes no sense to the driver"
    return StorageMisconfigured(f"TEAMVARS_DATABASE_URL: {told}.")
