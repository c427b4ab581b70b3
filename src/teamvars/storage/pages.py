"""Lists that are fetched whole or a page at a time."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

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
