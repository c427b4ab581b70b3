"""The records of changes that were sent with an Idempotency-Key."""

from collections.abc import Collection

from teamvars.domain.idempotency import Held, Record
from teamvars.storage.database import Transaction, each

_BATCH = 100
_BATCH_BYTES = 1024 * 1024
"""How many records are deleted at a time, and how large: SQLite goes through all their pages."""

FIND = """
SELECT held.records, held.bytes,
    found.name, found.key_id, found.fingerprint, found.answer, found.expires_at
FROM (
    SELECT count(*) AS records, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes
    FROM idempotency_records
    WHERE expires_at > $3 AND principal = (
        SELECT coalesce(user_id, team_id, organization_id) FROM tokens WHERE hash = $2
    )
) AS held
LEFT JOIN idempotency_records AS found
    ON found.name IN {each $1} AND found.expires_at > $3
"""

# One that has expired gives way; one that has not is never overwritten.
INSERT = """
INSERT INTO idempotency_records
    (name, principal, key_id, fingerprint, bytes, expires_at, answer)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (name) DO UPDATE SET
    principal = excluded.principal, key_id = excluded.key_id,
    fingerprint = excluded.fingerprint, bytes = excluded.bytes,
    expires_at = excluded.expires_at, answer = excluded.answer
WHERE idempotency_records.expires_at <= $8
RETURNING name
"""

# Said of the row itself as well: one that was written anew while this waited for it is live.
DELETE_EXPIRED = """
DELETE FROM idempotency_records WHERE expires_at <= $1 AND name IN (
    SELECT name FROM (
        SELECT name, sum(bytes) OVER (ORDER BY expires_at, name) - bytes AS before
        FROM (
            SELECT name, bytes, expires_at FROM idempotency_records
            WHERE expires_at <= $1 ORDER BY expires_at, name LIMIT $2
        ) AS oldest
    ) AS counted
    WHERE before < $3
)
RETURNING name
"""


async def find(tx: Transaction, names: Collection[str], token_hash: bytes, now: int) -> Held:
    """The live record of one of these names, and what the token's owner has of live records."""
    row = await tx.fetch_one(FIND, each(names), token_hash, now)
    assert row is not None  # it counts
    records, total, name, key_id, fingerprint, answer, expires_at = row
    if name is None:
        return Held(None, records, total)
    record = Record(name, key_id, bytes(fingerprint), bytes(answer), expires_at)
    return Held(record, records, total)


async def insert(tx: Transaction, record: Record, principal: str, now: int) -> bool:
    """Adds a record; False: there is a live one of that name."""
    row = await tx.fetch_one(
        INSERT,
        record.name,
        principal,
        record.key_id,
        record.fingerprint,
        len(record.answer),
        record.expires_at,
        record.answer,
        now,
    )
    return row is not None


async def delete_expired(tx: Transaction, now: int) -> int:
    """Deletes some of the records that have expired, the oldest; returns how many."""
    return len(await tx.fetch(DELETE_EXPIRED, now, _BATCH, _BATCH_BYTES))
