"""Memos as rows: what somebody is told by mail, until they are."""

from teamvars.domain.notices import Memo
from teamvars.storage.database import Transaction, decoded
from teamvars.storage.queues import Claimed, Queue

QUEUE = Queue("memos")

_READ = "SELECT {encoded id}, {encoded address}, {encoded subject}, {encoded text} FROM memos"


async def get(tx: Transaction, one: Claimed) -> Memo:
    """What is claimed."""
    row = await tx.fetch_one(f"{_READ} WHERE {QUEUE.claimed}", one.until, one.id)
    assert row is not None
    id_, address, subject, text = map(decoded, row)
    return Memo(id_, address, subject, text, one.until)


async def forget(tx: Transaction, one: Claimed) -> None:
    """It is sent, or given up."""
    await tx.execute(f"DELETE FROM memos WHERE {QUEUE.claimed}", one.until, one.id)


async def forget_stale(tx: Transaction, before: int) -> None:
    """Gives up what has been due since then: there was no mail."""
    await tx.execute("DELETE FROM memos WHERE due_at <= $1", before)
