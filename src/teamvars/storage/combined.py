"""Several statements as one, and for many calls at once, as PostgreSQL is asked to run them."""

import re
from collections.abc import Sequence
from functools import cache

_PARAMETER = re.compile(r"\$(\d+)")
_INSERT = re.compile(r"\s*(INSERT INTO \w+ \([^)]+\))\s+(.+?)\s*", re.DOTALL)
_ARRAYS = {str: "TEXT[]", int: "BIGINT[]", bytes: "BYTEA[]"}


@cache
def in_one(sqls: tuple[str, ...]) -> str:
    """Several statements as one, with the parameters of all, renumbered in their order."""
    return _with([], _numbered(sqls, "$"))


@cache
def for_all(sqls: tuple[str, ...], types: tuple[str, ...]) -> str:
    """As `in_one`, for many calls: each parameter is an array of that type, with an element for
    each call.

    A fifth of what a create costs PostgreSQL is to get its statement ready to run, the constraints
    above all, which is done once for all (docs/decisions/022).
    """
    names = ", ".join(f"of_{n}" for n in range(1, len(types) + 1))
    arrays = ", ".join(f"CAST(${n} AS {type_})" for n, type_ in enumerate(types, start=1))
    calls = f"calls ({names}) AS (\nSELECT * FROM unnest({arrays})\n)"
    return _with([calls], [_for_calls(sql) for sql in _numbered(sqls, "calls.of_")])


def is_insert(sql: str) -> bool:
    """Whether it adds rows, so that what is added at once does not depend on an order."""
    return _INSERT.fullmatch(sql) is not None


def _numbered(sqls: tuple[str, ...], mark: str) -> list[str]:
    """The statements with the numbers of all parameters in their order, behind the mark."""
    numbered = []
    before = 0
    for sql in sqls:
        parameters = [int(found) for found in _PARAMETER.findall(sql)]
        numbered.append(
            _PARAMETER.sub(lambda found, n=before: f"{mark}{int(found[1]) + n}", sql)  # type: ignore[misc]
        )
        before += max(parameters, default=0)
    return numbered


def _for_calls(sql: str) -> str:
    """A statement for each row of `calls`, whose columns it names."""
    if insert := _INSERT.fullmatch(sql):
        return (
            f"{insert[1]}\nSELECT found.* FROM calls CROSS JOIN LATERAL (\n{insert[2]}\n) AS found"
        )
    # Its own condition comes first: what is set comes from parameters and columns.
    join = "USING" if sql.lstrip().startswith("DELETE") else "FROM"
    return sql.replace("WHERE", f"{join} calls\nWHERE", 1)


def _with(parts: list[str], sqls: list[str]) -> str:
    """The statements as one. All but the last are data-modifying common table expressions.

    All have the same snapshot, and so none sees the effects of another (PostgreSQL, WITH Queries,
    7.8.4).
    """
    *first, last = (sql.strip() for sql in sqls)
    parts = [*parts, *(f"part_{n} AS (\n{sql}\n)" for n, sql in enumerate(first))]
    return f"WITH {', '.join(parts)}\n{last}" if parts else last


def array_type(values: Sequence[object]) -> str:
    """The type of a parameter's values, as an array. A column that may be NULL is a text."""
    known = next((value for value in values if value is not None), "")
    for type_, name in _ARRAYS.items():
        if isinstance(known, type_):
            return name
    raise TypeError(type(known).__name__)
