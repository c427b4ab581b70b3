"""The keys that the store knows, who has which, and how much is stored under each."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from teamvars.domain.audit import NO_ORGANIZATION, SYSTEM_STREAM, Stream
from teamvars.domain.keys import SERVER, Node, NotedKey, generation_id, noted_key
from teamvars.domain.runners import Approval, Runner
from teamvars.storage import tables
from teamvars.storage.database import Transaction

_PAGE_ROWS = 100
"""Streams whose heads are signed at once: all that is added to them waits for that."""
_NOTED = f"""(
    SELECT id, purpose, check_value, created_at, activated_at, retired_at FROM keyring_keys
    UNION ALL
    SELECT id, '{SERVER}', check_value, created_at, activated_at, retired_at FROM server_keys
) AS noted"""

SILENT = 120_000_000
"""After how many µs in which it has not said that it serves a node is none any more."""

_USES_ROWS = 100
"""On SQLite what seals a value is read behind the value itself, however large that is."""
DATA_KEYS, KEPT_ANSWERS, TOKENS = "data keys", "kept answers", "tokens of jobs"
APPROVALS, HEADS = "approvals", "heads of streams"


class Use(msgspec.Struct, frozen=True):
    """Rows of a table that need keys: the column by which they are gone through, the one that says
    which key, one that is NULL in a row that needs none, and until when it needs it, if it ends.
    """

    table: str
    order: str
    key: str
    needing: str
    ends: str | None = None
    first: str | bytes = ""
    """What comes before all that is in the first column."""


USES = {
    DATA_KEYS: Use("data_keys", "organization_id", "master_key_id", "wrapped"),
    KEPT_ANSWERS: Use("idempotency_records", "name", "key_id", "name", "expires_at"),
    TOKENS: Use("runner_tokens", "hash", "key_id", "hash", "expires_at", b""),
    APPROVALS: Use("runners", "id", "approval_key_id", "approval_mac"),
}
"""What rows say of which key of the keyring they need, in words. Heads do not say it."""


async def noted(tx: Transaction) -> dict[str, NotedKey]:
    """The keys that the store knows, by id."""
    rows = await tx.fetch(
        f"SELECT id, purpose, CAST(check_value AS {{bytes}}), created_at, activated_at, retired_at "
        f"FROM {_NOTED}"
    )
    return {row[0]: noted_key(*row) for row in rows}


async def insert(tx: Transaction, *added: NotedKey) -> None:
    """Notes keys of a new keyring."""
    await tx.write_each(*(tables.inserting(one, one.created_at).part for one in added))


async def retired(tx: Transaction) -> frozenset[str]:
    """The ids of the keys that were retired, as the trail tells."""
    return frozenset(
        await tx.column(
            "SELECT subject_id FROM audit_entries WHERE stream_id = $1 AND action = 'key.retire'",
            SYSTEM_STREAM,
        )
    )


async def see(tx: Transaction, node: Node, now: int) -> None:
    """Notes that the node serves, and forgets those that have not said so for long."""
    await tx.execute("DELETE FROM nodes WHERE seen_at <= $1", now - SILENT)
    await tx.execute(
        "INSERT INTO nodes (id, name, held, active, seen_at) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (id) DO UPDATE SET "
        "held = excluded.held, active = excluded.active, seen_at = excluded.seen_at",
        node.id,
        node.name,
        json.dumps(sorted(node.held)),
        json.dumps(sorted(node.active)),
        now,
    )


async def leave(tx: Transaction, node_id: str) -> None:
    """The node serves no more."""
    await tx.execute("DELETE FROM nodes WHERE id = $1", node_id)


async def live(tx: Transaction, now: int) -> tuple[Node, ...]:
    """The nodes that serve, by name."""
    rows = await tx.fetch(
        "SELECT id, name, held, active FROM nodes WHERE seen_at > $1 ORDER BY name, id",
        now - SILENT,
    )
    return tuple(
        Node(id_, name, frozenset(json.loads(held)), frozenset(json.loads(active)))
        for id_, name, held, active in rows
    )


def refusing(held: Iterable[str], active: Iterable[str]) -> str:
    """A statement that has a row where a node with these keys may not change anything: it lacks one
    that is in use, or uses one that was retired. One of each purpose that has any is `active`.
    """
    return (
        f"SELECT 1 WHERE EXISTS (SELECT 1 FROM {_NOTED} "
        f"WHERE activated_at IS NOT NULL AND id NOT IN ({_texts(held)})) "
        f"OR (SELECT count(*) FROM {_NOTED} "
        f"WHERE retired_at IS NULL AND id IN ({_texts(active)})) "
        f"< (SELECT count(DISTINCT purpose) FROM {_NOTED} WHERE activated_at IS NOT NULL)"
    )


async def note_change(tx: Transaction) -> None:
    """Has nodes look up whether their keys are too old, before they change anything more."""
    await tx.execute("UPDATE schema_migrations SET key_changes = key_changes + 1 WHERE number = 1")


def _texts(ids: Iterable[str]) -> str:
    return ", ".join("'{}'".format(id_.replace("'", "''")) for id_ in sorted(ids))


async def sign_heads(tx: Transaction, signed: Iterable[tuple[Stream, bytes]]) -> None:
    """Puts other heads in the place of those that there are, unless these have moved since."""
    sql = "UPDATE streams SET head = $3 WHERE id = $1 AND head = $2"
    await tx.write_each((sql, [(stream.id, stream.head, head) for stream, head in signed]))


async def seal_approvals(tx: Transaction, sealed: Iterable[tuple[Runner, Approval]]) -> None:
    """Puts other MACs in the place of those that there are, unless these are others by now."""
    await tx.execute_many(
        "UPDATE runners SET approval_key_id = $3, approval_mac = $4 "
        "WHERE id = $1 AND approval_mac = $2",
        [
            (runner.id, runner.approval.mac, approval.key_id, approval.mac)
            for runner, approval in sealed
            if runner.approval is not None
        ],
    )


async def counted(tx: Transaction, use: Use, now: int = 0) -> Mapping[Any, int]:
    """How many of some rows need each key, by what they call it."""
    ends, when = ("", ()) if use.ends is None else (f"AND {use.ends} > $1", (now,))
    return await tx.pairs(
        f"SELECT {use.key}, count(*) FROM {use.table} "
        f"WHERE {use.needing} IS NOT NULL {ends} GROUP BY 1",
        *when,
    )


async def page_of_uses(
    tx: Transaction, after: Any, use: Use, now: int
) -> tuple[Mapping[str, int], Any]:
    """How many of some rows need each key, by its id, of those after that one the first, and which
    of them is the last; None: there are no more.
    """
    rows = await tx.fetch(
        f"SELECT {use.order}, {use.key}, {use.needing} IS NOT NULL, {use.ends or 'NULL'} "
        f"FROM {use.table} WHERE {use.order} > $1 ORDER BY {use.order} LIMIT {_USES_ROWS}",
        after,
    )
    counted = Counter(
        key if isinstance(key, str) else generation_id(key)
        for _, key, needs, ends in rows
        if needs and (ends is None or ends > now)
    )
    return counted, rows[-1][0] if rows else None


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
