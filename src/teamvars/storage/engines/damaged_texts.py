"""Texts in SQLite that are no UTF-8, since somebody altered the file behind the service's back.

The driver fails a whole statement for one of them. Here each byte that is none of UTF-8 becomes one
of the last characters of Unicode, U+10FF80 to U+10FFFF, which mean nothing: every other row is as
it was, whoever sees the text sees that it is damaged, and it still tells the bytes, so that pages
go on behind it.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import apsw

from teamvars.storage.database import Row

_FIRST = 0x10FF00
"""To which such a byte is added, which is 0x80 at least: less is ASCII."""
_ESCAPED = 0xDC00
"""To which Python adds it (PEP 383)."""
_SHOWN = {_ESCAPED + byte: _FIRST + byte for byte in range(0x80, 0x100)}
_HIDDEN = {shown: escaped for escaped, shown in _SHOWN.items()}


def width(cursor: apsw.Cursor, sql: str, args: Sequence[Any]) -> int:
    """How many columns a statement has that only reads; 0 of one that may not run twice."""
    widths = [0]

    def look(cursor: apsw.Cursor, *_: object) -> bool:
        if cursor.is_readonly:
            widths.append(len(cursor.get_description()))
        return False

    cursor.exec_trace = look
    with suppress(apsw.ExecTraceAbort):
        cursor.execute(sql, args)
    cursor.exec_trace = None
    return widths[-1]


def rows(cursor: apsw.Cursor, sql: str, args: Sequence[object], width: int) -> Sequence[Row]:
    """The rows of a statement with so many columns, of which some text is no UTF-8."""
    raw = [_raw(arg) for arg in args]
    for n in (n for n, bytes_ in enumerate(raw, start=1) if bytes_ is not None):
        sql = re.sub(rf"\?{n}\b", f"CAST(?{n} AS TEXT)", sql)
    names = [f"c{n}" for n in range(width)]
    columns = ", ".join(
        f"typeof({name}) = 'text', iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})"
        for name in names
    )
    # One that is materialized keeps its order.
    there = f"WITH there ({', '.join(names)}) AS MATERIALIZED ({sql}\n)"
    given = [arg if bytes_ is None else bytes_ for arg, bytes_ in zip(args, raw, strict=True)]
    return [
        tuple(
            text_of(value) if is_text else value
            for is_text, value in zip(row[::2], row[1::2], strict=True)
        )
        for row in cursor.execute(f"{there} SELECT {columns} FROM there", given)
    ]


def text_of(content: bytes) -> str:
    """The bytes as a text, whatever they are."""
    return content.decode(errors="surrogateescape").translate(_SHOWN)


def _raw(arg: object) -> bytes | None:
    """The bytes of a text that `text_of` has made of what is no UTF-8."""
    if not isinstance(arg, str) or arg.isascii():
        return None
    escaped = arg.translate(_HIDDEN)
    return None if escaped == arg else escaped.encode(errors="surrogateescape")
