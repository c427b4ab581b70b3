"""A connection to SQLite's file, with the settings the service relies on."""

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
    "cache_size": -16384,  # KiB: the paths into the indexes of a million variables
}
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


class Link:
    """A connection to the file that is there now, made again when it was dropped or replaced."""

    def __init__(self, path: Path) -> None:
        self.is_suspended = False
        self._path = path
        self._connection: apsw.Connection | None = None
        self._inode = (0, 0)

    def connection(self) -> apsw.Connection:
        """The open connection. Refuses when the file is gone or cannot be opened, or the link is
        suspended; raises BusyError when another process is in the way.

        The look at the inode matters: SQLite would go on writing to a file that was deleted.
        """
        if self.is_suspended:
            raise storage_unavailable()
        try:
            status = self._path.stat()
            inode = (status.st_dev, status.st_ino)
            if self._connection is None or inode != self._inode:
                self.drop()
                self._connection, self._inode = _connect(self._path), inode
        except (OSError, *UNUSABLE) as error:
            raise storage_unavailable() from error
        return self._connection

    def undo(self) -> None:
        """Undoes the transaction; a connection on which that fails is not used any more."""
        if self._connection is None:
            return
        try:
            self._connection.execute("ROLLBACK")
        except apsw.Error:
            self.drop()

    def failed(self, error: Exception) -> Exception:
        """What to raise for an error. Lets go of a connection that cannot be used any more."""
        if not isinstance(error, UNUSABLE):
            return error
        self.drop()
        return storage_unavailable(error)

    def give_away(self) -> None:
        """Lets go of the connection without closing it."""
        self._connection = None

    def drop(self) -> None:
        """Closes the connection, which rolls back what it had not committed."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    # One plan a statement, whatever its parameters: else a statement is planned anew each time it
    # is bound, which costs the access statement eight times as much as running it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma, wanted in _PRAGMAS.items():
        connection.pragma(pragma, wanted)
        if connection.pragma(pragma) != wanted:
            raise StorageMisconfigured(f"{path}: SQLite does not grant PRAGMA {pragma}={wanted}.")
    return connection
