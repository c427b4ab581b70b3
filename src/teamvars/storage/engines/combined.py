"""Several statements as one, as PostgreSQL is asked to run them, and what a look-up among them is
going to find, by what it has found and this node has written since.

Whoever makes one change after another would look up what is known already: each time the rights,
the names and the key are as they were, and the stream stands where the change before has left it.
So the statement that writes looks itself, and has no effect where it finds anything else. What is
expected grants nothing.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

import msgspec

from teamvars.domain.audit import MOVED, Stream
from teamvars.storage.database import Lookup, Row

_PARAMETER = re.compile(r"\$(\d+)")
_INSERT = re.compile(r"\s*(INSERT INTO \w+ \([^)]+\))\s+(.+?)(\s+ON CONFLICT .+?)?\s*", re.DOTALL)
BATCH_WAITS = "5ms"
"""For a lock, at most, which PostgreSQL takes for a constraint: what is added refers to a row that
somebody renames, or deletes. Whoever meets one waits for it elsewhere.
"""
_WAITS = f"set_config('lock_timeout', '{BATCH_WAITS}', true) IS NOT NULL"
_TYPES = {str: "TEXT", int: "BIGINT", bytes: "BYTEA"}

MOST_EXPECTED = 1024
"""Rows, of some 1.5 KB each."""

_Key = tuple[object, ...]
_MOVED = attrgetter(*MOVED)


@cache
def in_one(sqls: tuple[str, ...]) -> str:
    """Several statements as one, with the parameters of all, renumbered in their order."""
    numbered = []
    before = 0
    for sql in sqls:
        parameters = [int(found) for found in _PARAMETER.findall(sql)]
        numbered.append(_PARAMETER.sub(partial(_renumbered, before), sql))
        before += max(parameters, default=0)
    return _with([], numbered)


@cache
def for_all(parts: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """Statements, each with the types of its parameters, as one: each parameter of each is an array
    of that type, with an element for each row that it is run for.

    A fifth of what a create costs PostgreSQL is to get its statement ready to run, the constraints
    above all, which is done once for all (docs/decisions/022).
    """
    return _with(*_called(parts, 0, "SELECT * FROM unnest({})"))


class Finding(NamedTuple):
    """A statement with so many parameters that has to find a row: each column with a type has the
    value that comes behind those, each without one is NULL.
    """

    sql: str
    parameters: int
    types: tuple[str | None, ...]


@cache
def if_unmoved(
    parts: tuple[tuple[str, tuple[str, ...]], ...],
    *,
    has_stream: bool,
    refusing: str | None,
    findings: tuple[Finding, ...],
) -> str:
    """Statements, each with the types of its parameters, as one that commits by itself. None has an
    effect where `refusing` has a row, nor, if it `has_stream`, unless the stream $1 has the head $2
    and nobody else has it locked. Its number is 1 where all have, else 0. It fails where it would
    wait for a lock.

    Nor has any unless each of the `findings` has its row. Their parameters come before those of
    what is written.
    """
    conditions = [_WAITS] if refusing is None else [_WAITS, f"NOT EXISTS ({refusing})"]
    tables, before = [], 0
    if has_stream:
        found = "SELECT id FROM streams WHERE id = $1 AND head = $2\nFOR UPDATE SKIP LOCKED"
        tables, before = [f"held AS (\n{found}\n)"], 2
        conditions.append("EXISTS (SELECT FROM held)")
    for n, finding in enumerate(findings):
        sql = _PARAMETER.sub(partial(_renumbered, before), finding.sql).strip()
        names = [f"is_{m}" for m in range(len(finding.types))]
        # Planned as it is where it stands by itself.
        tables.append(f"found_{n} ({', '.join(names)}) AS MATERIALIZED (\n{sql}\n)")
        before += finding.parameters
        compared = []
        for name, type_ in zip(names, finding.types, strict=True):
            if type_ is None:
                compared.append(f"{name} IS NULL")
            else:
                before += 1
                compared.append(f"{name} = CAST(${before} AS {type_})")
        conditions.append(f"EXISTS (SELECT FROM found_{n} WHERE {' AND '.join(compared)})")
    met = " AND ".join(conditions)
    tables.append(f"may AS MATERIALIZED (\nSELECT WHERE {met}\n)")
    calls, sqls = _called(parts, before, "SELECT {} FROM may")
    return _with([*tables, *calls], [*sqls, "SELECT count(*) FROM may"])


def is_insert(sql: str) -> bool:
    """Whether it adds rows, so that what is added at once does not depend on an order."""
    return _INSERT.fullmatch(sql) is not None


def _renumbered(before: int, found: re.Match[str]) -> str:
    return f"${int(found[1]) + before}"


def _with(tables: list[str], sqls: list[str]) -> str:
    """The statements as one. All but the last are data-modifying common table expressions.

    All have the same snapshot, and so none sees the effects of another (PostgreSQL, WITH Queries,
    7.8.4).
    """
    *first, last = (sql.strip() for sql in sqls)
    parts = [*tables, *(f"part_{n} AS (\n{sql}\n)" for n, sql in enumerate(first))]
    return f"WITH {', '.join(parts)}\n{last}" if parts else last


def _called(
    parts: Sequence[tuple[str, Sequence[str]]], before: int, made: str
) -> tuple[list[str], list[str]]:
    """Of each statement the table of its calls, `made` of its parameters, which are behind so many
    others; and the statement for each row of that.
    """
    tables: list[str] = []
    sqls: list[str] = []
    for n, (sql, types) in enumerate(parts):
        names = ", ".join(f"of_{m}" for m in range(1, len(types) + 1))
        said = ", ".join(f"CAST(${before + m} AS {its})" for m, its in enumerate(types, start=1))
        tables.append(f"calls_{n} ({names}) AS (\n{made.format(said)}\n)")
        sqls.append(_for_calls(sql, f"calls_{n}"))
        before += len(types)
    return tables, sqls


def _for_calls(sql: str, calls: str) -> str:
    """A statement for each row of a table of calls, whose columns it names."""
    sql = _PARAMETER.sub(rf"{calls}.of_\1", sql)
    if insert := _INSERT.fullmatch(sql):
        of_call = f"{calls} CROSS JOIN LATERAL (\n{insert[2]}\n) AS found"
        return f"{insert[1]}\nSELECT found.* FROM {of_call}{insert[3] or ''}"
    # Its own condition comes first: what is set comes from parameters and columns.
    join = "USING" if sql.lstrip().startswith("DELETE") else "FROM"
    return sql.replace("WHERE", f"{join} {calls}\nWHERE", 1)


def array_type(values: Sequence[object]) -> str:
    """The type of a parameter's values, as an array."""
    return f"{type_of(values)}[]"


def type_of(values: Sequence[object]) -> str:
    """The type of a parameter's values. A column that may be NULL is a text."""
    known = next((value for value in values if value is not None), "")
    for type_, name in _TYPES.items():
        if isinstance(known, type_):
            return name
    raise TypeError(type(known).__name__)


class Expected(msgspec.Struct, frozen=True):
    """That a look-up for these parameters finds that row."""

    lookup: Lookup
    args: tuple[object, ...]
    row: Row

    @property
    def key(self) -> _Key:
        """What it is kept by: $2 is the time."""
        return self.lookup, self.args[0], *self.args[2:]

    @property
    def finding(self) -> Finding:
        """How that is looked up."""
        types = tuple(None if value is None else type_of([value]) for value in self.row)
        return Finding(self.lookup.single, len(self.args), types)

    @property
    def values(self) -> Sequence[object]:
        """The parameters of that."""
        return *self.args, *(value for value in self.row if value is not None)

    def is_of(self, stream: Stream) -> bool:
        """Whether the row is of what has that stream."""
        place = self.lookup.place
        return place is not None and self.row[place - 1] == stream.id

    def left_at(self, after: Stream) -> Row:
        """The row once the stream stands there."""
        place, moved = self.lookup.place, _MOVED(after)
        assert place is not None
        return *self.row[:place], *moved, *self.row[place + len(moved) :]


class Expectations:
    """Rows that are expected. The least recently used go first."""

    def __init__(self) -> None:
        self._left: OrderedDict[_Key, tuple[Row, bool]] = OrderedDict()
        """As this node has left them, and whether they were found like that once."""

    def of(self, lookup: Lookup, args: tuple[object, ...]) -> Expected | None:
        """What is expected of a look-up: nothing before it has found a row as this node has left
        it, since other nodes may be changing the same.
        """
        key = Expected(lookup, args, ()).key
        row, is_sure = self._left.get(key, ((), False))
        return Expected(lookup, args, row) if is_sure else None

    def note(self, found: Expected, after: Stream) -> None:
        """That a row was found, and its stream left there."""
        row, _ = self._left.pop(found.key, ((), False))
        self._left[found.key] = found.left_at(after), row == found.row
        if len(self._left) > MOST_EXPECTED:
            self._left.popitem(last=False)

    def forget(self, expected: Iterable[Expected]) -> None:
        """That something else was found."""
        for one in expected:
            self._left.pop(one.key, None)
