"""Numbered, checksummed migrations: which there are in this release, and the steps of each.

The first line of a file says what it is, from which node on it lets nodes go on, and what it means
to one that does not know it:

    -- expand, admits 11: a node that does not know the column leaves it NULL, which means …

An `expand` adds what this release needs. A `contract` takes away what only older releases need, and
waits until an operator says that none of them runs. A node's number is that of the newest migration
it knows; from the moment a migration begins, nodes below the number that it admits change nothing.

What follows is a script, a step that is one transaction. `-- then` begins another script, and
`-- backfill TABLE (KEY, …)` a step that goes through a table page by page, in the order of a
unique key: one UPDATE or DELETE of the rows that need it, with `{page}` in its WHERE. A page may
be done twice.
"""

import hashlib
import re
from functools import cache
from importlib import resources

import msgspec

_KIND = re.compile(r"-- (expand|contract), admits (\d+): \S")
_STEP = re.compile(r"^-- (?:backfill (\w+) \(([\w, ]+)\)|then)$\n", re.MULTILINE)
_PAGE = "{page}"


class Backfill(msgspec.Struct, frozen=True):
    """A step that changes rows, page by page."""

    table: str
    key: tuple[str, ...]
    sql: str

    def page(self, after: bool, most: int) -> str:
        """Finds the keys of the next rows; `after` a key, whose columns are its parameters."""
        columns = ", ".join(self.key)
        beyond = f"WHERE ({columns}) > ({_places(len(self.key))})" if after else ""
        return f"SELECT {columns} FROM {self.table} {beyond} ORDER BY {columns} LIMIT {most}"

    def ahead(self, after: bool) -> str:
        """Counts the rows that are left; see `page`."""
        return f"SELECT count(*) FROM ({self.page(after, _ALL)}) AS ahead"

    def change(self, after: bool) -> str:
        """Changes the rows up to a key; its columns are the last parameters. See `page`."""
        columns, size = ", ".join(self.key), len(self.key)
        up_to = f"({columns}) <= ({_places(size, size if after else 0)})"
        beyond = f"({columns}) > ({_places(size)}) AND " if after else ""
        return self.sql.replace(_PAGE, f"{beyond}{up_to}")


_ALL = 2**62


class Migration(msgspec.Struct, frozen=True):
    """One migration. Its checksum is of the file's bytes; scripts are texts."""

    number: int
    name: str
    sql: str
    checksum: str
    admits: int
    is_contract: bool
    steps: tuple[str | Backfill, ...]


@cache
def known() -> tuple[Migration, ...]:
    """The migrations of this release, in order."""
    files = resources.files(__name__)
    return tuple(
        read(file.name, file.read_text(encoding="utf-8"))
        for file in sorted(files.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    )


def number() -> int:
    """The number of this node."""
    return known()[-1].number


def read(file_name: str, sql: str) -> Migration:
    """The migration of a file."""
    digits, _, name = file_name.removesuffix(".sql").partition("_")
    kind = _KIND.match(sql)
    return Migration(
        number=int(digits),
        name=name,
        sql=sql,
        checksum=hashlib.sha256(sql.encode()).hexdigest(),
        admits=int(kind[2]) if kind else 1,
        is_contract=kind is not None and kind[1] == "contract",
        steps=_steps(sql),
    )


def _steps(sql: str) -> tuple[str | Backfill, ...]:
    first, *parts = _STEP.split(sql)
    steps: list[str | Backfill] = [first]
    for table, key, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        steps.append(Backfill(table, tuple(key.split(", ")), text) if table else text)
    return tuple(step for step in steps if isinstance(step, Backfill) or _says_something(step))


def _says_something(script: str) -> bool:
    lines = (line.strip() for line in script.splitlines())
    return any(line and not line.startswith("--") for line in lines)


def _places(size: int, before: int = 0) -> str:
    return ", ".join(f"${n}" for n in range(before + 1, before + size + 1))
