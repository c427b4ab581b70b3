"""Copies of a SQLite file as it is at one moment, and reading all of one. Both take a thread."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from teamvars.domain.backups import Inspection

UNREADABLE = (apsw.CorruptError, apsw.NotADBError)
"""What the engine raises for a file that is damaged."""

_MOST_FAULTS = 100
"""Which the engine tells of a damaged file."""


def snapshot(source: Path, target: Path) -> dict[str, int]:
    """Writes what is committed to a new file, beside those who go on writing, and counts the rows
    of each table there. The file is not flushed.

    Raises OSError where there is no room, or the file or folder cannot be used.
    """
    try:
        there = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)
        made = apsw.Connection(str(target))
        try:
            made.pragma("synchronous", 0)
            # All at once: what is written between two steps would begin it anew.
            with made.backup("main", there, "main") as copying:
                copying.step(-1)
            return _rows(made)
        finally:
            made.close(True)
            there.close(True)
    except apsw.FullError as error:  # of which the engine says that it is "not an error"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
    except UNREADABLE as error:
        raise OSError(None, f"The store is damaged: {error}", str(source)) from error
    except apsw.Error as error:
        raise OSError(None, str(error), str(target)) from error


def count(path: Path) -> Inspection:
    """Counts the rows of each table, which is less than to read them."""
    return _inspected(path, lambda connection: Inspection(_rows(connection)))


def inspect(path: Path) -> Inspection:
    """Reads every page, and every row with its indexes and references."""

    def whole(connection: apsw.Connection) -> Inspection:
        damage = _damage(connection)
        return Inspection({} if damage else _rows(connection), damage)

    return _inspected(path, whole)


def _inspected(path: Path, look: Callable[[apsw.Connection], Inspection]) -> Inspection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return look(connection)
    except apsw.Error as error:
        return Inspection({}, [str(error)])
    finally:
        connection.close(True)


def _damage(connection: apsw.Connection) -> list[str]:
    checked = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
    damage = [str(text) for (text,) in checked if text != "ok"]
    lost = connection.execute("PRAGMA foreign_key_check").fetchall()
    return damage + [
        f"row {row} of {table} refers to a row of {to} that is gone"
        for table, row, to, _ in lost[:_MOST_FAULTS]
    ]


def _rows(connection: apsw.Connection) -> dict[str, int]:
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1"
    )
    rows: dict[str, Any] = {}
    for (name,) in tables.fetchall():
        quoted = str(name).replace('"', '""')
        ((rows[str(name)],),) = connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchall()
    return rows
