"""Streams: the rows that order the changes of one subject, and their audit entries."""

import json
from collections.abc import AsyncIterator, Iterable, Sequence

from teamvars.domain.audit import AuditEntry, AuditFilter, Stream
from teamvars.domain.errors import not_found
from teamvars.domain.workspaces import Usage
from teamvars.storage.database import Row, Statement, Transaction

_STREAM = "id, sequence, link, head, variables, value_bytes"
_ENTRY = (
    "stream_id, sequence, at, actor_kind, actor_id, token_id, request_id, action, "
    "subject_type, subject_id, details, key_id, previous, link"
)
_PAGE = 1000
_INSERT_ENTRY = (
    f"INSERT INTO audit_entries ({_ENTRY}) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
)
_MOVE = (
    "UPDATE streams SET sequence = $2, link = $3, head = $4, variables = $5, value_bytes = $6 "
    "WHERE id = $1"
)


async def insert(tx: Transaction, *begun: Stream) -> None:
    """Begins the histories of new subjects."""
    await tx.execute_many(
        "INSERT INTO streams (id, sequence, link, head) VALUES ($1, $2, $3, $4)",
        [(stream.id, stream.sequence, stream.link, stream.head) for stream in begun],
    )


async def delete(tx: Transaction, stream_ids: Sequence[str]) -> None:
    """Forgets the streams of subjects that are gone; their entries stay."""
    ids = json.dumps(stream_ids)
    await tx.execute("DELETE FROM streams WHERE id IN {each $1}", ids)


async def lock(tx: Transaction, stream_ids: Iterable[str]) -> dict[str, Stream]:
    """Locks streams, in id order, for the rest of the transaction. Refuses when one is missing."""
    wanted = set(stream_ids)
    rows = await tx.fetch(
        f"SELECT {_STREAM} FROM streams WHERE id IN {{each $1}} ORDER BY id {{lock streams}}",
        json.dumps(sorted(wanted)),
    )
    if len(rows) != len(wanted):
        raise not_found()
    return {row[0]: from_row(row) for row in rows}


async def every(tx: Transaction) -> list[Stream]:
    """All streams by id."""
    return [from_row(row) for row in await tx.fetch(f"SELECT {_STREAM} FROM streams ORDER BY id")]


async def append(tx: Transaction, entry: AuditEntry, after: Stream) -> None:
    """Writes the entry and moves its stream to where it is after it."""
    await tx.together(*appending(entry, after))


async def append_all(tx: Transaction, added: Sequence[AuditEntry], after: Sequence[Stream]) -> None:
    """Writes entries of several streams and moves these to where they are after all of them."""
    await tx.execute_many(_INSERT_ENTRY, added)
    await tx.execute_many(_MOVE, [_place(stream) for stream in after])


def appending(entry: AuditEntry, after: Stream) -> tuple[Statement, Statement]:
    """What `append` does, for a change of one row to take along."""
    return Statement(_INSERT_ENTRY, entry), Statement(_MOVE, _place(after))


async def entries(tx: Transaction, stream_id: str) -> AsyncIterator[AuditEntry]:
    """A stream's entries, oldest first, a page at a time."""
    sequence = 0
    while rows := await tx.fetch(
        f"SELECT {_ENTRY} FROM audit_entries WHERE stream_id = $1 AND sequence > $2 "
        f"ORDER BY sequence LIMIT {_PAGE}",
        stream_id,
        sequence,
    ):
        for row in rows:
            yield AuditEntry(*row)
        sequence = rows[-1][1]


async def entries_between(
    tx: Transaction, stream_id: str, after: int, up_to: int
) -> list[AuditEntry]:
    """A stream's entries with sequence numbers above `after` and up to `up_to`, oldest first."""
    rows = await tx.fetch(
        f"SELECT {_ENTRY} FROM audit_entries "
        "WHERE stream_id = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence",
        stream_id,
        after,
        up_to,
    )
    return [AuditEntry(*row) for row in rows]


async def search(tx: Transaction, wanted: AuditFilter, limit: int) -> list[AuditEntry]:
    """The newest entries of all streams that the filter lets through, newest first."""
    conditions: list[str] = []
    values: list[object] = []
    for column, value in wanted.equal().items():
        values.append(value)
        conditions.append(f"{column} = ${len(values)}")
    if wanted.before is not None:
        values += wanted.before
        last = len(values)
        conditions.append(f"(at, stream_id, sequence) < (${last - 2}, ${last - 1}, ${last})")
    where = "WHERE " + " AND ".join(conditions) if conditions else ""
    rows = await tx.fetch(
        f"SELECT {_ENTRY} FROM audit_entries {where} "
        f"ORDER BY at DESC, stream_id DESC, sequence DESC LIMIT ${len(values) + 1}",
        *values,
        limit,
    )
    return [AuditEntry(*row) for row in rows]


async def with_entries(tx: Transaction) -> Sequence[str]:
    """The ids of all streams that have entries, closed ones included."""
    rows = await tx.fetch("SELECT DISTINCT stream_id FROM audit_entries ORDER BY stream_id")
    return [row[0] for row in rows]


def _place(stream: Stream) -> tuple[object, ...]:
    """What `_MOVE` takes."""
    usage = stream.usage
    place = stream.sequence, stream.link, stream.head, usage.variables, usage.value_bytes
    return stream.id, *place


def from_row(row: Row) -> Stream:
    """The stream of a row with the columns id, sequence, link, head, variables, value_bytes."""
    id_, sequence, link, head, variables, value_bytes = row
    return Stream(id_, sequence, link, head, Usage(variables, value_bytes))
