"""Rows that wait to be done by one node at a time, each from when it is due: messages. Invitations
have theirs in their own rows, and a memo is a row by itself.
"""

import msgspec

from teamvars.domain.notices import Memo
from teamvars.domain.times import LATEST
from teamvars.storage.database import Transaction, decoded


class Claimed(msgspec.Struct, frozen=True):
    """What is one node's until then, how often it has been tried with this, and since when it was
    due.

    `id` is what is stored: of a row that somebody has altered, no text perhaps.
    """

    id: object
    until: int
    attempts: int
    due_at: int


class Queue(msgspec.Struct, frozen=True):
    """Rows of a table, by what their id is called; `is_due` is what else has to hold at $1.

    `due_at` is in µs UTC, and has an index; `attempts` says how often a row was tried.
    """

    table: str
    id: str = "id"
    is_due: str = "TRUE"

    @property
    def claimed(self) -> str:
        """That a row is what is claimed until $1, with the id $2."""
        return f"{self.table}.due_at = $1 AND {{encoded {self.table}.{self.id}}} = $2"

    async def next_due(self, tx: Transaction) -> int | None:
        """Since when one waits; None: none does, whatever somebody has put there by hand."""
        sql = f"SELECT min(due_at) FROM {self.table} WHERE due_at <= $1"
        row = await tx.fetch_one(sql, LATEST)
        return None if row is None else row[0]

    async def waiting(self, tx: Transaction) -> tuple[int, int | None]:
        """How many wait, and since when the first is due, as `next_due`."""
        sql = f"SELECT count(*), min(due_at) FROM {self.table} WHERE due_at <= $1"
        ((number, due_at),) = await tx.fetch(sql, LATEST)
        return number, due_at

    async def claim(self, tx: Transaction, now: int, until: int) -> Claimed | None:
        """Takes the one that has been due for longest; nobody else does until then."""
        # By which it is taken, and so whatever number SQLite has there: an expression has no type.
        first = f"""
SELECT due_at + 0, {{encoded {self.id}}} FROM {self.table}
WHERE due_at <= $1 AND {self.is_due} AND {self.id} IS NOT NULL
ORDER BY due_at LIMIT 1
"""
        # Two nodes may find the same row; the second then finds that it is not due any more.
        take = f"""
UPDATE {self.table} SET due_at = $3, attempts = abs(attempts % 1000) + 1
WHERE {self.claimed}
RETURNING CAST(attempts AS BIGINT)
"""
        if (found := await tx.fetch_one(first, now)) is None:
            return None
        due_at, id_ = found
        taken = await tx.fetch_one(take, due_at, id_, until)
        return None if taken is None else Claimed(id_, until, taken[0], due_at)

    async def put_off(self, tx: Transaction, one: Claimed, due_at: int) -> None:
        """Lets it be tried again then, unless another has its place."""
        sql = f"UPDATE {self.table} SET due_at = $3 WHERE {self.claimed}"
        await tx.execute(sql, one.until, one.id, due_at)


MEMOS = Queue("memos")

_SAID = "{encoded id}, {encoded address}, {encoded subject}, {encoded text}, {encoded page}"


async def memo(tx: Transaction, one: Claimed) -> Memo:
    """What is claimed of `MEMOS`."""
    row = await tx.fetch_one(f"SELECT {_SAID} FROM memos WHERE {MEMOS.claimed}", one.until, one.id)
    assert row is not None
    id_, address, subject, text, page = map(decoded, row)
    return Memo(id_, address, subject, text, one.until, page)


async def forget_memo(tx: Transaction, one: Claimed) -> None:
    """It is sent, or given up."""
    await tx.execute(f"DELETE FROM memos WHERE {MEMOS.claimed}", one.until, one.id)


async def forget_stale_memos(tx: Transaction, before: int) -> None:
    """Gives up those that have been due since then: there was no mail."""
    await tx.execute("DELETE FROM memos WHERE due_at <= $1", before)
