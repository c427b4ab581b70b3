"""Reading all of a SQLite file, which takes a thread."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from teamvars.domain.backups import Inspection

UNREADABLE = (apsw.CorruptError, apsw.NotADBError)
"""What the engine raises for a file that is damaged."""

_TYPES = {"TEXT": "text", "BIGINT": "integer", "BLOB": "blob"}
"""What the values of a column are that is declared so."""

_MOST_FAULTS = 100
"""Which the engine tells of a damaged file."""


def count(path: Path) -> Inspection:
    """Counts the rows of each table, which is less than to read them."""
    return _inspected(path, lambda connection: Inspection(count_rows(connection)))


def inspect(path: Path) -> Inspection:
    """Reads every page, and every row with its indexes, references and types."""

    def whole(connection: apsw.Connection) -> Inspection:
        damage = _damage(connection)
        return Inspection({} if damage else count_rows(connection), damage)

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
    damage += [
        f"row {row} of {table} refers to a row of {to} that is gone"
        for table, row, to, _ in lost[:_MOST_FAULTS]
    ]
    return damage or [text for name in _tables(connection) for text in _mistyped(connection, name)]


def _mistyped(connection: apsw.Connection, table: str) -> list[str]:
    """The columns of a table with values of another type than theirs, which the engine allows."""
    columns = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    asked = [(str(name), _TYPES[kind]) for _, name, kind, *_ in columns if kind in _TYPES]
    counted = ", ".join(
        f"total(typeof({_quoted(name)}) NOT IN ('{kind}', 'null'))" for name, kind in asked
    )
    if not asked:  # it is somebody else's table
        return []
    ((*counts,),) = connection.execute(f"SELECT {counted} FROM {_quoted(table)}").fetchall()
    return [
        f"{table}: {name} is no {kind} in {count:.0f} of its rows"
        for (name, kind), count in zip(asked, counts, strict=True)
        if count
    ]


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
