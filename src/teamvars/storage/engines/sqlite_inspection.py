"""Reading all of a SQLite file, which takes a thread."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from teamvars.domain.backups import Inspection
from teamvars.storage.database import T
from teamvars.storage.engines.sqlite_connection import text_of

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


def damaged_texts(path: Path) -> list[str]:
    """The rows that have a text which is no UTF-8, by their keys, with the column that has it."""
    return _looked_at(path, _unreadable)


def misfits(path: Path) -> list[str]:
    """The rows that refer to others which are gone, and the columns with values of another type."""
    return _looked_at(path, lambda connection: [*_astray(connection), *_unfit(connection)])


def _inspected(path: Path, look: Callable[[apsw.Connection], Inspection]) -> Inspection:
    try:
        return _looked_at(path, look)
    except apsw.Error as error:
        return Inspection({}, [str(error)])


def _looked_at(path: Path, look: Callable[[apsw.Connection], T]) -> T:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return look(connection)
    finally:
        connection.close(True)


def _damage(connection: apsw.Connection) -> list[str]:
    checked = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})").fetchall()
    damage = [str(text) for (text,) in checked if text != "ok"]
    damage += _astray(connection)[:_MOST_FAULTS]
    if damage:
        return damage
    texts = [f"{place} is no UTF-8" for place in _unreadable(connection)[:_MOST_FAULTS]]
    return _unfit(connection) + texts


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


def _unreadable(connection: apsw.Connection) -> list[str]:
    return [text for name in _tables(connection) for text in _unreadable_of(connection, name)]


def _unreadable_of(connection: apsw.Connection, table: str) -> Iterator[str]:
    columns = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    texts = [str(name) for _, name, kind, *_ in columns if kind == "TEXT"]
    key = [str(name) for _, name, *_, place in columns if place] or ["rowid"]
    asked = f"SELECT {', '.join(map(_quoted, texts)) or 1} FROM {_quoted(table)}"
    try:
        for _ in connection.execute(asked):
            pass
    except UnicodeDecodeError:
        each = ", ".join(f"CAST({_quoted(name)} AS BLOB)" for name in (*key, *texts))
        for row in connection.execute(f"SELECT {each} FROM {_quoted(table)}"):
            of_row = " ".join(text_of(part) for part in row[: len(key)])
            for name, content in zip(texts, row[len(key) :], strict=True):
                if content is not None and not _is_text(content):
                    yield f"{table} {of_row}: {name}"


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
