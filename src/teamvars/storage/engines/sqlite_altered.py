"""What SQLite keeps of whoever alters a file by hand, and no column of ours has: texts that are no
UTF-8, and values of another type than that of their column. Each is read as one that means nothing,
so that no statement fails for it, nor what is made of its rows (decision 042).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import apsw

from teamvars.storage.database import Row

_DAMAGED = 0x10FF00
"""To which a byte that is none of UTF-8 is added, which is 0x80 at least: less is ASCII. By itself
it begins a text that is none at all.
"""
_NO_TEXT = chr(_DAMAGED)
_ESCAPED = 0xDC00
"""To which Python adds it (PEP 383)."""
_SHOWN = {_ESCAPED + byte: _DAMAGED + byte for byte in range(0x80, 0x100)}
_HIDDEN = {shown: escaped for escaped, shown in _SHOWN.items()}

Types = tuple[type, ...]


def text_of(content: bytes) -> str:
    """The bytes of a text, whatever they are: no UTF-8 where somebody altered the file behind the
    service's back.

    The driver fails a whole statement for one of them. Here each byte that is none of UTF-8 becomes
    one of the last characters of Unicode, U+10FF80 to U+10FFFF, which mean nothing: every other row
    is as it was, whoever sees the text sees that it is damaged, and it still tells the bytes, so
    that pages go on behind it.
    """
    return content.decode(errors="surrogateescape").translate(_SHOWN)


def _shown(content: bytes) -> str:
    """Bytes in the place of a text: U+10FF00 says that they are none, so that they are like no text
    that there is.
    """
    return _NO_TEXT + text_of(content)


# What a value becomes by the type of its column, if it is of another one. No number is 0: a time
# that has passed, a level that gives nothing, a flag that is not set. No bytes are those of what is
# written there: no hash, seal or head is like that.
_READ: Mapping[str, tuple[tuple[type, ...], Callable[[Any], object]]] = {
    "TEXT": ((bytes,), _shown),
    "BIGINT": ((bytes, str, float), lambda _: 0),
    "BLOB": ((int, str, float), lambda value: str(value).encode()),
}


def may_repeat(cursor: apsw.Cursor, sql: str, args: Sequence[object]) -> bool:
    """Whether a statement only reads."""
    is_reading, _ = _described(cursor, sql, args)
    return is_reading


def read(cursor: apsw.Cursor, sql: str, args: Sequence[object]) -> Sequence[Row]:
    """The rows of a statement that only reads, of which some text is no UTF-8, or a parameter is
    what was read of such a one.
    """
    _, declared = _described(cursor, sql, args)
    stored = [_stored(arg) for arg in args]
    for n, (arg, bytes_) in enumerate(zip(args, stored, strict=True), start=1):
        if isinstance(arg, str) and isinstance(bytes_, bytes) and not arg.startswith(_NO_TEXT):
            sql = re.sub(rf"\?{n}\b", f"CAST(?{n} AS TEXT)", sql)
    names = [f"c{n}" for n in range(len(declared))]
    columns = ", ".join(
        f"typeof({name}) = 'text', iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
        for name in names
    )
    # One that is materialized keeps its order.
    there = f"WITH there ({', '.join(names)}) AS MATERIALIZED ({sql}\n)"
    return [
        tuple(
            text_of(value) if is_text else value
            for is_text, value in zip(row[::2], row[1::2], strict=True)
        )
        for row in cursor.execute(f"{there} SELECT {columns} FROM there", stored)
    ]


def fitting(
    cursor: apsw.Cursor, sql: str, args: Sequence[object], rows: Sequence[Row], known: set[Types]
) -> Sequence[Row]:
    """The rows of a statement, each value of the type of its column; adds to `known` what types
    these may have.
    """
    is_reading, declared = _described(cursor, sql, args)
    found = {tuple(map(type, row)) for row in rows}
    known.update(types for types in found if not any(map(_is_unfit, types, declared)))
    if found <= known:
        return rows
    if is_reading and any(_stored(arg) is not arg for arg in args):
        rows = read(cursor, sql, args)
    return [tuple(map(_as_declared, row, declared)) for row in rows]


def _is_unfit(type_: type, kind: str) -> bool:
    return kind in _READ and type_ in _READ[kind][0]


def _as_declared(value: object, kind: str) -> object:
    return _READ[kind][1](value) if _is_unfit(type(value), kind) else value


def _described(cursor: apsw.Cursor, sql: str, args: Sequence[Any]) -> tuple[bool, Sequence[str]]:
    """Whether a statement only reads, and as what its columns are declared; "": an expression."""
    found: list[tuple[bool, Sequence[str]]] = []

    def look(cursor: apsw.Cursor, *_: object) -> bool:
        kinds = [kind or "" for _, kind in cursor.get_description()]
        found.append((cursor.is_readonly, kinds))
        return False

    other = cursor.connection.cursor()
    other.exec_trace = look
    with suppress(apsw.ExecTraceAbort):
        other.execute(sql, args)
    return found[-1]


def _stored(arg: object) -> object:
    """What a parameter was read of: the bytes of what is no UTF-8, or no text; else as it is."""
    if not isinstance(arg, str) or arg.isascii():
        return arg
    escaped = arg.removeprefix(_NO_TEXT).translate(_HIDDEN)
    return arg if escaped == arg else escaped.encode(errors="surrogateescape")
