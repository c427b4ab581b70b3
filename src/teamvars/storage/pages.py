"""How records are read, one, all or a page at a time, and patterns of what is wanted of them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import not_found
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.storage.database import Row, Transaction, each

T = TypeVar("T")


class Reading(msgspec.Struct, Generic[T], frozen=True):
    """How records of a kind are read: columns, what comes after FROM, and what a row is built into.

    What comes after the source is the caller's, and `$1` its first parameter. `counted` is the
    table with which the source begins, where that alone says which there are, and how many.
    """

    columns: str
    source: str
    build: Callable[[Row], T]
    counted: str = ""

    async def every(self, tx: Transaction, rest: str, *args: object) -> list[T]:
        """All that it finds."""
        rows = await tx.fetch(f"SELECT {self.columns} FROM {self.source} {rest}".rstrip(), *args)
        return [self.build(row) for row in rows]

    async def one(self, tx: Transaction, rest: str, *args: object) -> T | None:
        """The first that it finds, None when there is none."""
        found = await self.every(tx, rest, *args)
        return found[0] if found else None

    async def get(self, tx: Transaction, rest: str, *args: object) -> T:
        """As `one`. Refuses: not found."""
        found = await self.one(tx, rest, *args)
        if found is None:
            raise not_found()
        return found

    async def called(self, tx: Transaction, name: str, words: Iterable[str]) -> dict[str, T]:
        """Those whose attribute `name` is one of the words, by folded words; others are left out.
        Its folded column is called so.
        """
        found = await self.every(tx, f"WHERE {name}_folded IN {{each $1}}", each(map(fold, words)))
        words_of = ((getattr(one, name), one) for one in found)
        return {fold(word): one for word, one in words_of if word is not None}

    async def paged(
        self, tx: Transaction, rest: str, order: str, args: Sequence[object], page: Page | None
    ) -> Paged[T]:
        """A page of all that it finds, in an order; without a page all of it."""
        ordered = f"{rest} ORDER BY {order}".lstrip()
        if page is None:
            found = await self.every(tx, ordered, *args)
            return Paged(found, len(found))
        whole, some = self, f"{ordered} LIMIT ${len(args) + 1} OFFSET ${len(args) + 2}"
        if table := self.counted:  # others are joined to the page, and not to all that is before it
            its = f"(SELECT * FROM {table} {some}) AS {table}"
            whole = replace(self, source=self.source.replace(table, its, 1))
            some = f"ORDER BY {order}"
        found = await whole.every(tx, some, *args, page.size, page.offset)
        if len(found) < page.size and (found or not page.offset):  # it is the last one
            return Paged(found, page.offset + len(found))
        counted = self.counted or self.source
        count = await tx.count(f"SELECT count(*) FROM {counted} {rest}".rstrip(), *args)
        return Paged(found, count)


def where(*asked: tuple[str, object]) -> tuple[str, list[object]]:
    """Those of the conditions whose value is not None, as one, and their values in order.

    `$n` is the value's own number.
    """
    given = [(condition, value) for condition, value in asked if value is not None]
    numbered = [text.replace("$n", f"${n}") for n, (text, _) in enumerate(given, start=1)]
    return " AND ".join(numbered), [value for _, value in given]


def for_each(condition: Callable[[str], str], texts: Collection[str]) -> tuple[str, str | None]:
    """That a condition of a text holds for each of these, and the value of its `$n`.

    All numbers of them are one statement, since each statement that there is stays in memory; but
    for a single one, which is found in half the time.
    """
    if len(texts) == 1:
        (text,) = texts
        return condition("$n"), text
    every = f"SELECT 1 FROM {{texts $n}} AS its WHERE NOT {condition('its.value')}"
    return f"NOT EXISTS ({every})", each(texts) if texts else None


def as_stored(column: str) -> str:
    """The number in a column by which pages go on. What is none is read as 0, as from a column, and
    so they would begin anew: SQLite has it behind all numbers.
    """
    return f"+{column}"


def after(column: str, other: str) -> str:
    """That the time in a column is after another. What is none is not, as SQLite has it otherwise:
    there a text, which a number can be added to, comes behind all numbers.
    """
    return f"{column} + 0 > {other}"


def lasting(column: str, other: str) -> str:
    """That the time in a column is after another, or that none is there."""
    return f"({column} IS NULL OR {after(column, other)})"


def containing(text: str) -> str:
    """The LIKE pattern of every folded name that has the text in it; `!` is its escape."""
    return f"%{_escaped(text)}%"


def matching(wildcard: str) -> str:
    """The same of every folded name that is this text, with `*` for any characters or none."""
    return "%".join(_escaped(part) for part in wildcard.split("*"))


def _escaped(text: str) -> str:
    return "".join(f"!{char}" if char in "!%_" else char for char in fold(text))
