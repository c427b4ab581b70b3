"""SQLite files read from beginning to end: whether all of it is sound, and as it is at one moment
beside those who write.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import apsw

from teamvars.domain.backups import Inspection
from teamvars.storage.database import Body, T
from teamvars.storage.engines.sqlite_altered import text_of
from teamvars.storage.engines.sqlite_connection import SqliteTransaction, run_to_end

UNREADABLE = (apsw.CorruptError, apsw.NotADBError)
"""What the engine raises for a file that is damaged."""

_TYPES = {"TEXT": "text", "BIGINT": "integer", "BLOB": "blob"}
"""What the values of a column are that is declared so."""

_MOST_FAULTS = 100
"""Which the engine tells of a damaged file."""

_PIECE = 1024 * 1024  # of pages of any size
_FILE, _LOG = 0, 1
_LOG_HEADER, _FRAME_HEADER, _NUMBER = 32, 24, 4
_WAIT_MS = 5000
_BEGINNING = "SELECT 1 FROM sqlite_schema"
_STEPS = 100_000
"""Of the engine, some milliseconds, after which it looks whether anybody waits for it still."""


async def count(path: Path) -> Inspection:
    """Counts the rows of each table, which is less than to read them."""
    return await _inspected(path, lambda connection: Inspection(count_rows(connection)))


async def inspect(path: Path) -> Inspection:
    """Reads every page, and every row with its indexes, references and types."""

    def whole(connection: apsw.Connection) -> Inspection:
        damage = _damage(connection)
        return Inspection({} if damage else count_rows(connection), damage)

    return await _inspected(path, whole)


async def damaged_texts(path: Path) -> list[str]:
    """The rows that have a text which is no UTF-8, by their keys, with the column that has it."""
    return await _looked_at(path, _unreadable)


async def misfits(path: Path) -> list[str]:
    """The rows that refer to others which are gone, or have values of another type than theirs."""
    return await _looked_at(path, lambda connection: [*_astray(connection), *_unfit(connection)])


async def _inspected(path: Path, look: Callable[[apsw.Connection], Inspection]) -> Inspection:
    try:
        return await _looked_at(path, look)
    except apsw.Error as error:
        return Inspection({}, [str(error)])


async def _looked_at(path: Path, look: Callable[[apsw.Connection], T]) -> T:
    """What a thread sees, which ends where nobody waits for it any more: the process would."""
    is_left = Event()

    def whole() -> T:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_progress_handler(is_left.is_set, _STEPS)
            return look(connection)
        finally:
            connection.close(True)

    try:
        return await asyncio.to_thread(whole)
    finally:
        is_left.set()


def _damage(connection: apsw.Connection) -> list[str]:
    checked = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
    damage = [str(text) for (text,) in checked if text != "ok"]
    damage += _astray(connection)[:_MOST_FAULTS]
    if damage:
        return damage
    texts = [f"{place} is no UTF-8" for place in _unreadable(connection)[:_MOST_FAULTS]]
    return _unfit(connection)[:_MOST_FAULTS] + texts


def _astray(connection: apsw.Connection) -> list[str]:
    """The rows that refer to others which are gone: references are looked after only where whoever
    writes asks for it.
    """
    lost = connection.execute("PRAGMA foreign_key_check").fetchall()
    return [
        f"row {row} of {table} refers to a row of {to} that is gone" for table, row, to, _ in lost
    ]


def _unfit(connection: apsw.Connection) -> list[str]:
    return [text for name in _tables(connection) for text in _mistyped(connection, name)]


def _mistyped(connection: apsw.Connection, table: str) -> Iterator[str]:
    """The rows of a table with values of another type than their column, which the engine allows,
    and without a key.
    """
    columns, found = _columns(connection, table), []
    for name, kind, needed, _ in columns:
        if kind:
            fit = f"'{kind}'" if needed else f"'{kind}', 'null'"
            found.append((name, kind, f"typeof({_quoted(name)}) NOT IN ({fit})"))
    if not found:  # it is somebody else's table
        return
    key, odd = _key(columns), [condition for *_, condition in found]
    asked = f"SELECT {', '.join((*key, *odd))} FROM {_quoted(table)} WHERE {' OR '.join(odd)}"
    for row in connection.execute(asked):
        for (name, kind, _), is_odd in zip(found, row[len(key) :], strict=True):
            if is_odd:
                yield f"{table} {_row(row[: len(key)])}: {name} is no {kind}"


def _unreadable(connection: apsw.Connection) -> list[str]:
    return [text for name in _tables(connection) for text in _unreadable_of(connection, name)]


def _unreadable_of(connection: apsw.Connection, table: str) -> Iterator[str]:
    columns = _columns(connection, table)
    texts = [name for name, kind, *_ in columns if kind == "text"]
    asked = f"SELECT {', '.join(map(_quoted, texts)) or 1} FROM {_quoted(table)}"
    try:
        for _ in connection.execute(asked):
            pass
    except UnicodeDecodeError:
        key = _key(columns)
        each = ", ".join((*key, *(f"CAST({_quoted(name)} AS BLOB)" for name in texts)))
        for row in connection.execute(f"SELECT {each} FROM {_quoted(table)}"):
            for name, content in zip(texts, row[len(key) :], strict=True):
                if content is not None and not _is_text(content):
                    yield f"{table} {_row(row[: len(key)])}: {name}"


def _columns(connection: apsw.Connection, table: str) -> list[tuple[str, str, bool, bool]]:
    """The columns of a table: name, what their values are, whether each row needs one, and whether
    it is of the key.
    """
    columns = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    return [
        (str(name), _TYPES.get(str(kind), ""), bool(needed or place), bool(place))
        for _, name, kind, needed, _, place in columns
    ]


def _key(columns: Sequence[tuple[str, str, bool, bool]]) -> list[str]:
    """What tells a row of a table from the others, as bytes."""
    key = [
        f"hex({_quoted(name)})" if kind == "blob" else _quoted(name)
        for name, kind, _, is_of_key in columns
        if is_of_key
    ]
    return [f"CAST({one} AS BLOB)" for one in key or ["rowid"]]


def _row(key: Sequence[bytes | None]) -> str:
    return " ".join("NULL" if part is None else text_of(part) for part in key)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    """How many rows each table has."""
    rows: dict[str, Any] = {}
    for name in _tables(connection):
        ((rows[name],),) = connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchall()
    return rows


def _tables(connection: apsw.Connection) -> list[str]:
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1"
    )
    return [str(name) for (name,) in tables.fetchall()]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


class Snapshot:
    """What is committed. One thread may read `pieces` while another asks for anything else.

    SQLite's own copy goes to another file, which has to be read again. This reads what is committed
    where it is: some pages are in the log beside the file, and all others in the file
    (<https://www.sqlite.org/fileformat2.html#walformat>). As long as a transaction reads, nobody
    begins that log anew, and no checkpoint puts a page into the file that was committed later.
    """

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
