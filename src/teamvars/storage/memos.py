"""Memos as rows: what somebody is told by mail, until they are."""

from typing import Any

from teamvars.domain.notices import GIVEN_UP_AFTER, Memo
from teamvars.domain.times import LATEST
from teamvars.storage.database import Transaction

# Two nodes may find the same row; the second then finds that it is not due any more.
_CLAIM = f"""
UPDATE memos SET due_at = $2, attempts = attempts + 1
WHERE due_at <= $1 AND id = (
    SELECT id FROM memos
    WHERE due_at <= $1 AND attempts >= 0 AND attempts < {GIVEN_UP_AFTER}
    ORDER BY due_at, id LIMIT 1
)
RETURNING id, address, subject, text, due_at, CAST(attempts AS BIGINT)
"""


_OUTBOX = """
SELECT count(*), min(due_at) FROM (
    SELECT due_at FROM memos WHERE due_at <= $1
    UNION ALL SELECT due_at FROM invitations WHERE due_at <= $1
    UNION ALL SELECT notice_due_at FROM runners WHERE notice_due_at <= $1
) AS messages
"""


async def outbox(tx: Transaction) -> tuple[int, int | None]:
    """How many messages of every kind wait, and when the first of them is to be tried."""
    row = await tx.fetch_one(_OUTBOX, LATEST)
    assert row is not None
    return row[0], row[1]


async def next_due(tx: Transaction) -> int | None:
    """Since when one waits, in µs UTC; None: none does, whatever somebody has put there by hand."""
    row = await tx.fetch_one("SELECT min(due_at) FROM memos WHERE due_at <= $1", LATEST)
    return None if row is None else row[0]


async def claim(tx: Transaction, now: int, until: int) -> tuple[Memo, int] | None:
    """The one that has been due for longest, and how often it has been tried with this; nobody else
    tries it until then.
    """
    row = await tx.fetch_one(_CLAIM, now, until)
    return None if row is None else (Memo(*map(_text, row[:5])), row[5])


async def put_off(tx: Transaction, memo: Memo, due_at: int) -> None:
    """Lets it be tried again then."""
    await tx.execute("UPDATE memos SET due_at = $2 WHERE id = $1", memo.id, due_at)


async def forget(tx: Transaction, memo: Memo) -> None:
    """It is sent, or given up."""
    await tx.execute("DELETE FROM memos WHERE id = $1", memo.id)


async def forget_stale(tx: Transaction, before: int) -> None:
    """Gives up what has been due since then: there was no mail."""
    await tx.execute("DELETE FROM memos WHERE due_at <= $1", before)


def _text(said: Any) -> Any:
    # SQLite may have bytes there, of somebody who altered the row by hand.
    return str(said) if isinstance(said, bytes) else said
