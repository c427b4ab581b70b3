"""The PostgreSQL servers of a URL, on which timeline each is, and connections that detect when one
stops responding.
"""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

import asyncpg
from asyncpg import exceptions as pg

from teamvars.domain.diagnosis import Engine
from teamvars.storage.database import StorageMisconfigured, Transaction

_STANDING = """
SELECT CAST(system_identifier AS TEXT), CASE WHEN pg_is_in_recovery() THEN NULL
    ELSE CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS BIGINT) END
FROM pg_control_system()
"""
_SAYS_NOTHING = (
    pg.FeatureNotSupportedError,
    pg.InsufficientPrivilegeError,
    pg.UndefinedFunctionError,
)
"""What a service answers that keeps its files to itself."""

CONNECT_SECONDS = 3.0
"""The time-out of connecting to one server."""
HEAD_START_SECONDS = 0.3
"""How long a server is asked before the next one is asked as well."""

_UNACKNOWLEDGED_SECONDS = 10
"""After how long without an acknowledgement (TCP ACK) a connection is given up."""

_KEEPALIVE = {
    "TCP_KEEPIDLE": _UNACKNOWLEDGED_SECONDS // 2,
    "TCP_KEEPINTVL": _UNACKNOWLEDGED_SECONDS // 4,
    "TCP_USER_TIMEOUT": _UNACKNOWLEDGED_SECONDS * 1000,
}
_DEFAULT_AUTHORITY = Path(".postgresql") / "root.crt"
_MAY_VERIFY = ("require", "verify-ca", "verify-full")
DRIVER = (asyncpg.InterfaceError, asyncpg.InternalClientError)
_TRY_NEXT = (OSError, pg.PostgresError, asyncpg.TargetServerAttributeNotMatched)

_REFUSES_TLS = "rejected SSL upgrade"
"""In the driver's message where a server has no TLS; the error's class says nothing."""


class NotThePrimary(asyncpg.TargetServerAttributeNotMatched):
    """A server that may not be used, as one that the URL's `target_session_attrs` does not want."""


class Standing(NamedTuple):
    """A server as it was when we connected: a copy of which store, on which timeline. A standby
    has None, and is on that of whatever it follows.
    """

    system: str
    timeline: int | None


class Timelines:
    """The newest timeline that was seen of each store; the memory of one process.

    A primary that was frozen or cut off does not know that a standby was promoted meanwhile. Until
    it learns of that, it answers reads as if nothing had happened. Each promotion begins a timeline
    with the next number, by which whoever has seen the later one tells them apart
    (docs/decisions/040-the-newest-timeline.md).

    A store that was moved to another cluster, as by `pg_upgrade`, begins again at 1.
    """

    def __init__(self, *, standbys: bool) -> None:
        """`standbys`: whether a server may be one. What it answers is as old as it lags behind."""
        self._standbys = standbys
        self._newest: dict[str, int] = {}

    async def look(self, connection: Any) -> Standing | None:
        """How its server stands; None where that is not told. Notes a timeline that is newer than
        all before it. Raises NotThePrimary.
        """
        standing = await _told(connection.fetchrow(_STANDING))
        self.require(standing)
        if standing is not None and standing.timeline is not None:
            self._newest[standing.system] = standing.timeline
        return standing

    def admits(self, standing: Standing | None) -> bool:
        """Whether no newer timeline of its store was seen."""
        if standing is None or standing.timeline is None:
            return True
        return standing.timeline >= self._newest.get(standing.system, 0)

    def require(self, standing: Standing | None) -> None:
        """Raises NotThePrimary for what is not admitted, and for a standby where none may be."""
        if standing is not None and standing.timeline is None and not self._standbys:
            raise NotThePrimary("it is a standby")
        if standing is not None and not self.admits(standing):
            newest = self._newest[standing.system]
            raise NotThePrimary(
                f"another server has taken its place: its timeline is {standing.timeline}, and "
                f"{newest} was seen"
            )


async def _told(asking: Awaitable[Any]) -> Standing | None:
    try:
        return Standing(*await asking)
    except _SAYS_NOTHING:
        return None


def is_lasting(error: BaseException) -> bool:
    """Whether no wait mends it: the server refuses the account, knows no such database, or its TLS
    is not what the URL demands. A name that is not found may be there later.
    """
    refused = (
        pg.InvalidAuthorizationSpecificationError,
        pg.InvalidCatalogNameError,
        ssl.SSLError,
    )
    return isinstance(error, refused) or _REFUSES_TLS in str(error)


def explained(error: BaseException, connection: Any) -> BaseException:
    """The error, or ConnectionResetError where that says more: when a deadline has closed the
    connection, and when it is one of `DRIVER` on a closed one.

    asyncpg raises InterfaceError both for a closed connection and for wrong use. An internal error
    on an open one comes of a server that is about to close it: nothing can be sent any more.
    """
    if connection.is_overdue:
        return ConnectionResetError("no answer came in time, and so the connection was closed")
    if isinstance(error, asyncpg.InternalClientError) and not connection.is_closed():
        connection.terminate()
    lost = ConnectionResetError("the connection was closed")
    return lost if isinstance(error, DRIVER) and connection.is_closed() else error


@contextmanager
def abandoning(connection: asyncpg.Connection) -> Iterator[None]:
    """Aborts a connection of which the block cannot learn what it has to know at first."""
    try:
        yield
    except NotThePrimary:  # one of `DRIVER` too, which says more than that it is closed by then
        connection.terminate()
        raise
    except BaseException as error:
        connection.terminate()
        if isinstance(error, DRIVER):
            raise explained(error, connection) from error
        raise


@contextmanager
def saying(what: str) -> Iterator[None]:
    """What takes too long in the block is told by these words: a time-out by itself has none."""
    try:
        yield
    except TimeoutError as error:
        raise (error if error.args else TimeoutError(what)) from None


class KeepaliveConnection(asyncpg.Connection):
    """A connection that fails soon after the server's host or the network has failed.

    With the kernel's defaults that takes a quarter of an hour of retransmissions, or two hours
    while nothing is sent.
    """

    standing: Standing | None = None
    is_overdue = False
    """Whether a deadline has closed it; see `Deadline.enforced_on`."""

    def __init__(self, protocol: Any, transport: asyncio.Transport, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        connected = transport.get_extra_info("socket")
        if connected.family != socket.AF_UNIX:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):  # Linux has all of these, other systems some
                    connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Servers:
    """Connects to the first server that accepts; the one that did so last is tried first.

    Each has its own time-out, and one that does not respond holds up none of the others: they are
    asked beside it, and again while it has not responded, since one of them may be promoted.
    """

    def __init__(self, url: SplitResult, *, standbys: bool = True) -> None:
        """Without `standbys` only a primary is used, whatever the URL demands."""
        user, at, hosts = url.netloc.rpartition("@")
        self._dsns = [
            urlunsplit(url._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")
        ]
        self.timelines = Timelines(standbys=standbys)

    @property
    def further_seconds(self) -> float:
        """How many seconds trying all of them may take beyond those of one."""
        return HEAD_START_SECONDS * (len(self._dsns) - 1)

    async def connect(self, **options: Any) -> KeepaliveConnection:
        """A connection. Raises an error of the driver when no server accepts; of several servers
        its notes have the error of each.

        `options` are the driver's.
        """
        round_ = _Round(self._dsns, lambda dsn: self._connect(dsn, options))
        dsn, connection = await round_.first()
        self._dsns.remove(dsn)
        self._dsns.insert(0, dsn)
        return connection

    async def _connect(self, dsn: str, options: Mapping[str, Any]) -> KeepaliveConnection:
        with saying("the server accepted no connection in time"):
            async with asyncio.timeout(CONNECT_SECONDS):
                try:
                    connection: KeepaliveConnection = await asyncpg.connect(
                        dsn,
                        connection_class=KeepaliveConnection,
                        max_cached_statement_lifetime=0,
                        **options,
                    )
                except pg.ConnectionDoesNotExistError as error:
                    # With TLS 1.3 a server refuses our certificate after the handshake.
                    if isinstance(error.__cause__, ssl.SSLError):
                        raise error.__cause__ from None
                    raise
                except (UnicodeError, OverflowError):
                    text = (
                        "TEAMVARS_DATABASE_URL: no host has such a name, or no port such a number."
                    )
                    raise StorageMisconfigured(text) from None
                with abandoning(connection):
                    connection.standing = await self.timelines.look(connection)
        return connection


class _Round:
    """One try to connect to any of some servers."""

    def __init__(
        self, dsns: Sequence[str], connect: Callable[[str], Awaitable[KeepaliveConnection]]
    ) -> None:
        self._connect = connect
        self._unasked = list(dsns)
        self._unanswered = set(dsns)
        self._asking: dict[asyncio.Future[KeepaliveConnection], str] = {}
        self._errors: dict[str, Exception] = {}

    async def first(self) -> tuple[str, KeepaliveConnection]:
        """The first that accepts. Raises when each has refused, or has not responded in time."""
        self._ask(self._unasked.pop(0))
        try:
            while self._unanswered:
                done, _ = await asyncio.wait(
                    self._asking, timeout=HEAD_START_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                for asked in done:
                    if (accepted := self._answer(asked)) is not None:
                        return accepted
                if self._unasked:
                    self._ask(self._unasked.pop(0))
                elif not done:
                    for dsn in self._errors.keys() - self._asking.values():
                        self._ask(dsn)
            raise _of_all(self._errors)
        finally:
            for asked in self._asking:
                asked.add_done_callback(_abort)
                asked.cancel()

    def _ask(self, dsn: str) -> None:
        self._asking[asyncio.ensure_future(self._connect(dsn))] = dsn

    def _answer(
        self, asked: asyncio.Future[KeepaliveConnection]
    ) -> tuple[str, KeepaliveConnection] | None:
        dsn = self._asking.pop(asked)
        self._unanswered.discard(dsn)
        try:
            return dsn, asked.result()
        except _TRY_NEXT as error:
            self._errors[dsn] = error
        return None


def _abort(asked: asyncio.Future[KeepaliveConnection]) -> None:
    """Nobody waits for it any more, accepted or not."""
    if not asked.cancelled() and asked.exception() is None:
        asked.result().terminate()


def _of_all(errors: Mapping[str, Exception]) -> Exception:
    """The error that stands for all: a time-out before others, since it is not retried (see
    `Connections.attempt`), and what may pass before what lasts.
    """
    told = sorted(
        errors.values(), key=lambda error: (isinstance(error, TimeoutError), not is_lasting(error))
    )
    if len(errors) > 1:
        for dsn, error in errors.items():
            message = str(error).partition("\n")[0]
            host = urlsplit(dsn).netloc.rpartition("@")[2]
            told[-1].add_note(f"{host}: {type(error).__name__}{message and f': {message}'}")
    return told[-1]


def require_files(query: Mapping[str, str]) -> None:
    """Raises StorageMisconfigured when the URL's query asks for a file of TLS that cannot be read,
    or for a certificate of which there is none: the driver would not say which file it is.
    """
    mode = query.get("sslmode") or os.environ.get("PGSSLMODE", "")
    if mode != "disable" and (faults := list(_unreadable(query))):
        raise StorageMisconfigured(f"TEAMVARS_DATABASE_URL: {'; '.join(faults)}")
    named = query.get("sslrootcert") or os.environ.get("PGSSLROOTCERT")
    if mode not in _MAY_VERIFY or (mode == "require" and not named):
        return
    path = Path(named) if named else _home() / _DEFAULT_AUTHORITY
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except ssl.SSLError:
        fault = "is no certificate in PEM"
    except OSError as error:
        fault = error.strerror or type(error).__name__
    else:
        return
    raise StorageMisconfigured(
        f"sslmode={mode} needs the certificate of the authority that vouches for the server: "
        f"{path}: {fault}. Name its file in TEAMVARS_DATABASE_URL: sslrootcert=/path/to/ca.pem"
    )


def _unreadable(query: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with each file that cannot be read, of our own certificate and its key and of
    the list of those that were revoked.
    """
    for name in ("sslcert", "sslkey", "sslcrl"):
        try:
            Path(query.get(name, os.devnull)).open("rb").close()
        except OSError as error:
            yield f"{name}={query[name]}: {error.strerror or type(error).__name__}"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # of an account that has none
        return Path("~")


async def engine(tx: Transaction) -> Engine:
    """The product, its version and unsafe settings, as the server tells them."""
    row = await tx.fetch_one(
        "SELECT current_setting('server_version_num'), current_setting('fsync'), "
        "current_setting('full_page_writes'), current_setting('synchronous_commit'), "
        "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT), "
        "current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication "
        # Who may not see more sees that there is one.
        "WHERE sync_state IS NULL OR sync_state IN ('sync', 'quorum'))"
    )
    assert row is not None
    number, *settings, clock, wanted, standbys = row
    names = ("fsync", "full_page_writes", "synchronous_commit")
    unsafe = (f"{name} off" for name, value in zip(names, settings, strict=True) if value == "off")
    is_waiting = settings[-1] not in ("off", "local")
    missing = max(0, _standbys_wanted(wanted) - standbys) if is_waiting else 0
    return Engine("PostgreSQL", divmod(int(number), 10000), tuple(unsafe), clock, missing)


async def tables(tx: Transaction) -> list[str]:
    """The tables of the store, by name, those included that this account may not read."""
    rows = await tx.fetch(
        "SELECT CAST(tablename AS TEXT) FROM pg_tables "
        "WHERE schemaname = current_schema() ORDER BY 1"
    )
    return [name for (name,) in rows]


async def read_all(tx: Transaction, table: str) -> int:
    """How many rows a table has, each of which is read whole."""
    quoted = table.replace('"', '""')
    return await tx.count(f'SELECT count(*) FROM "{quoted}" AS one WHERE one::text IS NOT NULL')


def _standbys_wanted(names: str) -> int:
    """How many standbys confirm each COMMIT, by `synchronous_standby_names`."""
    if not names:
        return 0
    several = re.match(r"\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(", names, re.IGNORECASE)
    return int(several[1]) if several else 1
