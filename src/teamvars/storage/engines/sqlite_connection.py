"""A connection to a SQLite file, with the PRAGMAs the service relies on."""

from pathlib import Path

import apsw

from teamvars.domain.errors import storage_unavailable
from teamvars.storage.database import StorageMisconfigured

_PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "trusted_schema": 0,
    "secure_delete": 1,
}
_CACHE_KIB = 16384  # the paths into the indexes of a million variables
UNUSABLE = (
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.NotADBError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)


class SqliteConnection:
    """A connection that is opened on first use, and again after it was closed or the file replaced.

    It belongs to one thread; only a COMMIT runs in another, and nothing meanwhile.
    """

    def __init__(self, path: Path, cache_kib: int = _CACHE_KIB) -> None:
        """`cache_kib`: how much of the file it keeps in memory by itself."""
        self.is_suspended = False
        self._path = path
        self._cache_kib = cache_kib
        self._connection: apsw.Connection | None = None
        self._inode = (0, 0)

    def connection(self) -> apsw.Connection:
        """The open connection. Refuses when the file is missing or cannot be opened, or this is
        suspended; raises BusyError when another process has a lock that opening needs.
        """
        if self.is_suspended:
            raise storage_unavailable()
        try:
            status = self._path.stat()
            # SQLite keeps writing to a file that was deleted or replaced: its descriptor is valid.
            inode = (status.st_dev, status.st_ino)
            if self._connection is None or inode != self._inode:
                self.close()
                self._connection, self._inode = _connect(self._path, self._cache_kib), inode
        except (OSError, *UNUSABLE) as error:
            raise storage_unavailable() from error
        return self._connection

    def roll_back(self) -> None:
        """Rolls back the transaction; a connection on which that fails is closed."""
        if self._connection is None:
            return
        try:
            self._connection.execute("ROLLBACK")
        except apsw.Error:
            self.close()

    def translate(self, error: Exception) -> Exception:
        """What to raise for an error of the driver; closes a connection that is unusable by it."""
        if not isinstance(error, UNUSABLE):
            return error
        self.close()
        return storage_unavailable(error)

    def detach(self) -> None:
        """Gives up the connection without closing it: somebody else has taken it over."""
        self._connection = None

    def close(self) -> None:
        """Closes the connection, which rolls back what is uncommitted."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


def _connect(path: Path, cache_kib: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    # Query planner stability: without it a statement is prepared again whenever its parameters
    # change, which costs the access statement eight times as much as running it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma, wanted in (*_PRAGMAS.items(), ("cache_size", -cache_kib)):
        connection.pragma(pragma, wanted)
        if connection.pragma(pragma) != wanted:
            raise StorageMisconfigured(f"{path}: SQLite does not grant PRAGMA {pragma}={wanted}.")
    return connection
