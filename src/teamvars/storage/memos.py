"""Memos as rows: what somebody is told by mail, until they are."""

from typing import Any

import msgspec

from teamvars.domain.notices import GIVEN_UP_AFTER, Memo
from teamvars.domain.times import LATEST
from teamvars.storage.database import Transaction

# Two nodes may find the same row; the second then finds that it is not due any more.
_CLAIM = f"""
UPDATE memos SET due_at = $2, attempts = attempts + 1
WHERE due_at <= $1 AND id = (
    SELECT id FROM memos
    WHERE due_at <= $1 AND attempts >= 0 AND attempts < {GIVEN_UP_AFTER} AND id IS NOT NULL
    ORDER BY due_at, id LIMIT 1
)
RETURNING {{encoded id}}, {{encoded address}}, {{encoded subject}}, {{encoded text}},
    CAST(attempts AS BIGINT)
"""
_CLAIMED = "due_at = $1 AND {encoded id} = $2"


_OUTBOX = """
SELECT count(*), min(due_at) FROM (
    SELECT due_at FROM memos WHERE due_at <= $1
    UNION ALL SELECT due_at FROM invitations WHERE due_at <= $1
    UNION ALL SELECT notice_due_at FROM runners WHERE notice_due_at <= $1
) AS messages
"""


class Claimed(msgspec.Struct, frozen=True):
    """A memo that is one node's until then, and how often it has been tried with this.

    `id` is what is stored: of a row that somebody has altered, no text perhaps.
    """

    memo: Memo
    attempts: int
    id: object
    until: int


async def outbox(tx: Transaction) -> tuple[int, int | None]:
    """How many messages of every kind wait, and when the first of them is to be tried."""
    row = await tx.fetch_one(_OUTBOX, LATEST)
    assert row is not None
    return row[0], row[1]


async def next_due(tx: Transaction) -> int | None:
    """Since when one waits, in µs UTC; None: none does, whatever somebody has put there by hand."""
    row = await tx.fetch_one("SELECT min(due_at) FROM memos WHERE due_at <= $1", LATEST)
    return None if row is None else row[0]


async def claim(tx: Transaction, now: int, until: int) -> Claimed | None:
    """The one that has been due for longest; nobody else tries it until then."""
    row = await tx.fetch_one(_CLAIM, now, until)
    if row is None:
        return None
    id_, address, subject, text, attempts = row
    memo = Memo(_text(id_), _text(address), _text(subject), _text(text), until)
    return Claimed(memo, attempts, id_, until)


async def put_off(tx: Transaction, one: Claimed, due_at: int) -> None:
    """Lets it be tried again then."""
    sql = f"UPDATE memos SET due_at = $3 WHERE {_CLAIMED}"
    await tx.execute(sql, one.until, one.id, due_at)


async def forget(tx: Transaction, one: Claimed) -> None:
    """It is sent, or given up."""
    await tx.execute(f"DELETE FROM memos WHERE {_CLAIMED}", one.until, one.id)


async def forget_stale(tx: Transaction, before: int) -> None:
    """Gives up what has been due since then: there was no mail."""
    await tx.execute("DELETE FROM memos WHERE due_at <= $1", before)


def _text(said: Any) -> Any:
    """A text as it can be shown, whatever somebody has made of it."""
    return said.decode(errors="replace") if isinstance(said, bytes) else said
