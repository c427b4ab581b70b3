"""Lists that are fetched whole or a page at a time, and patterns of what is wanted of them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.storage.database import Row, Transaction

T = TypeVar("T")


class Listing(msgspec.Struct, frozen=True):
    """A list in SQL: columns, what comes after FROM, order, and the parameters of these."""

    columns: str
    source: str
    order: str
    args: Sequence[object]

    async def fetch(
        self, tx: Transaction, page: Page | None, build: Callable[[Row], T]
    ) -> Paged[T]:
        """A page of it, each row built into an item; without a page all of it."""
        select = f"SELECT {self.columns} FROM {self.source} ORDER BY {self.order}"
        if page is None:
            found = [build(row) for row in await tx.fetch(select, *self.args)]
            return Paged(found, len(found))
        limit, offset = len(self.args) + 1, len(self.args) + 2
        rows = await tx.fetch(
            f"{select} LIMIT ${limit} OFFSET ${offset}", *self.args, page.size, page.offset
        )
        count = await tx.fetch_one(f"SELECT count(*) FROM {self.source}", *self.args)
        assert count is not None
        return Paged([build(row) for row in rows], count[0])


def containing(text: str) -> str:
    """The LIKE pattern of every folded name that has the text in it; `!` is its escape."""
    return f"%{_escaped(text)}%"


def matching(wildcard: str) -> str:
    """The same of every folded name that is this text, with `*` for any characters or none."""
    return "%".join(_escaped(part) for part in wildcard.split("*"))


def _escaped(text: str) -> str:
    return "".join(f"!{char}" if char in "!%_" else char for char in fold(text))
