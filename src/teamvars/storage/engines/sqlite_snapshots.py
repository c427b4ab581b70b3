"""A SQLite file as it is at one moment, read from beginning to end beside those who write.

SQLite's own copy goes to another file, which has to be read again. This reads what is committed
where it is: some pages are in the log beside the file, and all others in the file
(<https://www.sqlite.org/fileformat2.html#walformat>). As long as a transaction reads, nobody begins
that log anew, and no checkpoint puts a page into the file that was committed later.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from teamvars.storage.database import Body, T
from teamvars.storage.engines.sqlite_connection import SqliteTransaction, run_to_end
from teamvars.storage.engines.sqlite_inspection import UNREADABLE, count_rows

_PIECE = 1024 * 1024  # of pages of any size
_FILE, _LOG = 0, 1
_LOG_HEADER, _FRAME_HEADER, _NUMBER = 32, 24, 4
_WAIT_MS = 5000
_BEGINNING = "SELECT 1 FROM sqlite_schema"


class Snapshot:
    """What is committed. One thread may read `pieces` while another asks for anything else."""

    def __init__(self, pinned: apsw.Connection, raw: apsw.Connection) -> None:
        """Nothing else uses the two connections to the file."""
        self._pinned, self._raw = pinned, raw
        frames = _pin(pinned, raw)
        self._page: int = pinned.pragma("page_size")
        self.size: int = self._page * pinned.pragma("page_count")
        self._logged = self._places(frames)

    def pieces(self) -> Iterator[bytes]:
        """All bytes of the file, in order."""
        for at in range(0, self.size, _PIECE):
            yield self._whole(at, self._read(_FILE, at, min(_PIECE, self.size - at)))

    def rows(self) -> dict[str, int]:
        """How many rows each table has."""
        return count_rows(self._pinned)

    def read(self, body: Body[T]) -> T:
        """As `Database.read`, and not a coroutine."""
        return run_to_end(body, SqliteTransaction(self._pinned))

    def interrupt(self) -> None:
        """Has what another thread asks end with an error."""
        self._pinned.interrupt()

    def _whole(self, at: int, piece: bytes) -> bytes:
        """A piece of the file from there on, with the pages that are in the log."""
        logged = [page for page in range(at, at + len(piece), self._page) if page in self._logged]
        if not logged:
            return piece
        whole = bytearray(piece)
        for page in logged:
            content = self._read(_LOG, self._logged[page], self._page)
            whole[page - at : page - at + self._page] = content
        return bytes(whole)

    def _places(self, frames: int) -> dict[int, int]:
        """Where in the log the last content of a page is, by the page's place in the file."""
        places = {}
        for n in range(frames):
            at = _LOG_HEADER + n * (_FRAME_HEADER + self._page)
            number = int.from_bytes(self._read(_LOG, at, _NUMBER))
            places[(number - 1) * self._page] = at + _FRAME_HEADER
        return places

    def _read(self, which: int, at: int, size: int) -> bytes:
        # SQLite too takes what is behind the end for zeros. A descriptor of our own would, when it
        # is closed, give up the locks that this process has on the file.
        try:
            return self._raw.read("main", which, at, size)[1]
        except apsw.SQLError as error:  # without a word of what it was
            raise apsw.IOError from error


@contextmanager
def taken(path: Path) -> Iterator[Snapshot]:
    """A snapshot, within. Raises OSError where the file cannot be used or is damaged."""
    try:
        with _opened(path) as raw, _opened(path) as pinned:
            yield Snapshot(pinned, raw)
    except UNREADABLE as error:
        raise OSError(None, f"The store is damaged: {error}", str(path)) from error
    except apsw.IOError as error:  # which is "not an error", it says
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from error
    except apsw.Error as error:
        raise OSError(None, str(error), str(path)) from error


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_WAIT_MS)
        connection.execute(_BEGINNING).fetchall()  # which opens the log as well
        yield connection
    finally:
        connection.close(True)


def _pin(pinned: apsw.Connection, raw: apsw.Connection) -> int:
    """Begins a transaction that reads. Returns how many frames of the log belong to it: none where
    the file has them all by then, since others may begin the log anew over these.
    """
    while True:
        before = _log(raw)
        pinned.execute("BEGIN")
        pinned.execute(_BEGINNING).fetchall()
        frames, copied = raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_NOOP)
        # Otherwise somebody has committed meanwhile, and it may be either.
        if _log(raw) == before:
            return 0 if copied == frames else frames
        pinned.execute("ROLLBACK")


def _log(raw: apsw.Connection) -> tuple[bytes, int]:
    """The log's header, which is another each time it begins anew, and how many frames it has: in
    this order, or the frames might be those of the log before that header.
    """
    header = raw.read("main", _LOG, 0, _LOG_HEADER)[1] if _frames(raw) > 0 else b""
    return header, _frames(raw)


def _frames(raw: apsw.Connection) -> int:
    return raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_NOOP)[0]
