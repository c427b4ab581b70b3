"""What is stored under keys of the keyring, by the ids of these: what still needs a key."""

from collections.abc import Sequence

from teamvars.domain.audit import NO_ORGANIZATION, Stream
from teamvars.storage.database import Transaction

_PAGE_ROWS = 1000

Counted = dict[str, int]
"""How many rows there are by the id of a key."""


async def wrapped_data_keys(tx: Transaction) -> Counted:
    """How many data keys each master key wraps."""
    return await _counted(tx, "SELECT master_key_id, count(*) FROM data_keys GROUP BY 1")


async def kept_answers(tx: Transaction, now: int) -> Counted:
    """How many answers are kept under each master key for whoever repeats a request."""
    live = "WHERE expires_at > $1 GROUP BY 1"
    return await _counted(tx, f"SELECT key_id, count(*) FROM idempotency_records {live}", now)


async def tokens_of_jobs(tx: Transaction, now: int) -> Counted:
    """How many tokens of jobs have a MAC under each audit key."""
    live = "WHERE expires_at > $1 GROUP BY 1"
    return await _counted(tx, f"SELECT key_id, count(*) FROM runner_tokens {live}", now)


async def generations(tx: Transaction) -> dict[int, int]:
    """How many data keys there are of each version, in order."""
    rows = await tx.fetch("SELECT version, count(*) FROM data_keys GROUP BY 1 ORDER BY 1")
    return {row[0]: row[1] for row in rows}


async def page_of_streams(tx: Transaction, after: str) -> Sequence[Stream]:
    """Of the streams after that id the first by id, each without whose it is and what it counts."""
    rows = await tx.fetch(
        "SELECT id, CAST(sequence AS BIGINT), CAST(link AS {bytes}), CAST(head AS {bytes}) "
        f"FROM streams WHERE id > $1 ORDER BY id LIMIT {_PAGE_ROWS}",
        after,
    )
    return [
        Stream(id_, NO_ORGANIZATION, sequence, bytes(link), bytes(head))
        for id_, sequence, link, head in rows
    ]


async def _counted(tx: Transaction, sql: str, *args: object) -> Counted:
    return {row[0]: row[1] for row in await tx.fetch(sql, *args)}
