"""Streams: the rows that order the changes of one subject, and their audit entries."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from teamvars.domain.audit import (
    MOVED,
    NAMING,
    NO_ORGANIZATION,
    SYSTEM_STREAM,
    AuditEntry,
    AuditFilter,
    CheckedStream,
    Head,
    HeldStream,
    Position,
    Stream,
)
from teamvars.domain.errors import not_found
from teamvars.domain.times import LATEST
from teamvars.domain.workspaces import Usage
from teamvars.storage.database import STRICT, Lookup, Part, Row, Transaction, each
from teamvars.storage.pages import as_stored, where

# SQLite lets a column hold what is not of its type, and some of that not even be read. What it is
# cast to is another than the head vouches for.
PLACE = """CAST(streams.sequence AS BIGINT) AS sequence, CAST(streams.link AS {bytes}) AS link,
    CAST(streams.head AS {bytes}) AS head, CAST(streams.variables AS BIGINT) AS variables,
    CAST(streams.value_bytes AS BIGINT) AS value_bytes"""
# Whose a stream is follows from its subject; the system has no row of its own.
_WITH_PLACE = f"""
    coalesce(workspaces.organization_id, teams.organization_id, organizations.id,
        runners.organization_id, variable_sets.organization_id, '{NO_ORGANIZATION}'),
    {PLACE}
FROM streams
LEFT JOIN workspaces ON workspaces.id = streams.id
LEFT JOIN teams ON teams.id = streams.id
LEFT JOIN organizations ON organizations.id = streams.id
LEFT JOIN runners ON runners.id = streams.id
LEFT JOIN variable_sets ON variable_sets.id = streams.id"""
_STREAM = f"streams.id, {_WITH_PLACE}"
_ENTRY = (
    "stream_id, sequence, at, actor_kind, actor_id, token_id, request_id, action, "
    "subject_type, subject_id, details, key_id, previous, version, address, link, organization_id"
)
_BYTES = {"previous", "link"}
# As `_ENTRY`, with whatever is no number cast to bytes (on SQLite that is larger than any number),
# and after it which of that were bytes before.
_RAW_ENTRY = ", ".join(
    [
        f"CASE WHEN {name} < '' THEN {name} ELSE CAST({name} AS {{bytes}}) END"
        for name in AuditEntry._fields
    ]
    + [f"{name} = CAST({name} AS {{bytes}})" for name in AuditEntry._fields]
)
Piece = tuple[str, int, int]
"""Of a stream with that id, the entries after the first number and up to the second."""
_PAGE = 1000
_WITHIN = "(stream_id IN {each $n} OR subject_id IN {each $n})"
# $n is a key as JSON has it: the variable's, or its former one. Details are compact JSON.
# `replace` is case-sensitive on both engines; LIKE is not on SQLite.
_ABOUT_KEY = """subject_type = 'vars' AND (
    replace(details, '"key":' || CAST($n AS TEXT), '') <> details
    OR replace(details, '"from":' || CAST($n AS TEXT), '') <> details)"""
_NEWEST_FIRST = "ORDER BY at DESC, stream_id DESC, sequence DESC"
_NAMING = f"action IN ({', '.join(map(repr, NAMING))})"
# That of the index `audit_entries_standing`, word for word.
_IS_STANDING = """(action = 'member.add' OR action = 'member.remove'
    OR action = 'membership.create' OR action = 'membership.update'
    OR action = 'invitation.accept' OR action = 'user.enable'
    OR action = 'runner.create' OR action = 'runner.update')"""
_BETWEEN = "WHERE stream_id = $1 AND sequence > $2 AND sequence <= $3"
_SEQUENCES_ABOUT = f"""SELECT sequence FROM audit_entries {_BETWEEN}
    AND subject_id IN {{each $4}} ORDER BY sequence DESC"""
_INSERT_ENTRY = """
INSERT INTO audit_entries (stream_id, sequence, at, actor_kind, actor_id, token_id, request_id,
    action, subject_type, subject_id, details, key_id, previous, version, address, link,
    organization_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
"""
# On SQLite whatever is no number is larger than any.
LAST_NUMBER = Lookup.of(
    "SELECT CAST(max(sequence) AS BIGINT) FROM audit_entries "
    f"WHERE stream_id = $1 AND sequence <= {2**63 - 1}",
    "TEXT",
)
_MOVE = """
UPDATE streams
SET sequence = $2, link = $3, head = $4, variables = $5, value_bytes = $6
WHERE id = $1
"""
_ROW = attrgetter("id", *MOVED)


async def insert(tx: Transaction, *begun: HeldStream) -> None:
    """Adds the streams of new subjects."""
    await tx.execute_many(
        "INSERT INTO streams (id, sequence, link, head) VALUES ($1, $2, $3, $4)",
        [(stream.id, stream.sequence, stream.link, stream.head) for stream in begun],
    )


async def delete(tx: Transaction, stream_ids: Sequence[str]) -> None:
    """Deletes the streams of deleted subjects; their entries stay."""
    await tx.execute_long("DELETE FROM streams WHERE id IN {each $1}", each(stream_ids))


def also_held(made: Callable[[str, str], Lookup]) -> Lookup:
    """The lookup, which can hold its stream's lock as well. `made` with what to select and to join
    for that; PostgreSQL has the row as it is once it is locked (see `access_statements`).
    """
    locking = made(
        ", held.sequence = streams.sequence AS is_held",
        """
LEFT JOIN LATERAL (
    SELECT held.sequence FROM streams AS held WHERE held.id = streams.id
    {lock held}
) AS held ON TRUE""",
    )
    return replace(made("", ""), locking=locking)


async def lock_existing(tx: Transaction, stream_ids: Iterable[str]) -> dict[str, Stream]:
    """Locks those of the streams that there are until the end of the transaction, in the order of
    their ids, so that two transactions cannot deadlock. The system's comes last: nobody elsewhere
    waits for that while a transaction waits for the others.
    """
    rows = await tx.fetch(
        f"SELECT {_STREAM} WHERE streams.id IN {{each $1}} "
        f"ORDER BY CASE WHEN streams.id = '{SYSTEM_STREAM}' THEN 1 ELSE 0 END, streams.id "
        "{lock streams}",
        each(set(stream_ids)),
    )
    return {row[0]: to_stream(row) for row in rows}


async def lock(tx: Transaction, stream_ids: Iterable[str]) -> dict[str, Stream]:
    """As `lock_existing`. Refuses: not found, when one is missing."""
    wanted = set(stream_ids)
    found = await lock_existing(tx, wanted)
    if len(found) != len(wanted):
        raise not_found()
    return found


async def last_number(tx: Transaction, stream_id: str) -> int | None:
    """The largest number of a stream's entries; None where there are none."""
    row = await tx.look_up(LAST_NUMBER, stream_id)
    return None if row is None else row[0]


async def last_time(tx: Transaction) -> int:
    """The latest time of all entries, but for what is none; 0: there are no entries."""
    return await tx.count(f"SELECT coalesce(max(at), 0) FROM audit_entries WHERE at <= {LATEST}")


async def find(tx: Transaction, stream_id: str) -> Stream | None:
    """One stream, which is not locked."""
    row = await tx.fetch_one(f"SELECT {_STREAM} WHERE streams.id = $1", stream_id)
    return None if row is None else to_stream(row)


async def every(tx: Transaction) -> list[Stream]:
    """All streams by id."""
    rows = await _fetch_by_id(tx, "streams.id", f"{_WITH_PLACE} ORDER BY streams.id")
    return [to_stream(row) for row in rows]


async def heads(tx: Transaction) -> list[Head]:
    """Where each stream stands, by id, in the schema of whatever release."""
    rows = await tx.fetch(
        "SELECT id, CAST(sequence AS BIGINT), CAST(link AS {bytes}) FROM streams ORDER BY id"
    )
    return [Head(id_, sequence, bytes(link)) for id_, sequence, link in rows]


async def append(tx: Transaction, entry: AuditEntry, after: CheckedStream) -> None:
    """Adds the entry and advances its stream to `after`."""
    await tx.write_each(*appending([entry], [after]))


def appending(entries: Sequence[AuditEntry], after: Iterable[CheckedStream]) -> tuple[Part, Part]:
    """What adds entries of streams and advances each of these to its place in `after`, to be run
    with the changes that the entries record.
    """
    return (_INSERT_ENTRY, entries), (_MOVE, list(map(_ROW, after)))


async def entries(tx: Transaction, stream_ids: Sequence[str]) -> list[AuditEntry]:
    """All entries of streams, stream by stream, oldest first."""
    rest = "WHERE stream_id IN {each $1} ORDER BY stream_id, sequence"
    return await _fetch_entries(tx, rest, each(stream_ids))


async def entries_after(
    tx: Transaction, stream_id: str, sequence: int | None, *, naming: bool = False
) -> list[AuditEntry]:
    """A page of a stream's entries with larger sequence numbers, oldest first; None: its first.
    `naming`: of those alone that `naming` has.

    A gap in the numbers does not end it. What has no number, on SQLite, comes last, all on one
    page: nothing says where the next would begin.
    """
    conditions, values = where(("stream_id = $n", stream_id), ("sequence > $n", sequence))
    rest = f"WHERE {conditions} {f'AND {_NAMING}' if naming else ''} ORDER BY sequence"
    page = await _fetch_entries(tx, f"{rest} LIMIT {_PAGE}", *values)
    last: object = page[-1].sequence if len(page) == _PAGE else 0
    return page if isinstance(last, int | float) else await _fetch_entries(tx, rest, *values)


async def pages(
    tx: Transaction, stream_id: str, *, naming: bool = False
) -> AsyncGenerator[list[AuditEntry]]:
    """All entries of a stream, oldest first, a page at a time. `naming`: see `entries_after`."""
    after: int | None = None
    while page := await entries_after(tx, stream_id, after, naming=naming):
        yield page
        after = page[-1].sequence


async def entries_between(tx: Transaction, piece: Piece) -> list[AuditEntry]:
    """The entries of a piece of a stream, oldest first."""
    return await _fetch_entries(tx, f"{_BETWEEN} ORDER BY sequence", *piece)


async def search(tx: Transaction, wanted: AuditFilter, limit: int) -> list[AuditEntry]:
    """The newest entries of all streams that the filter lets through, newest first."""
    conditions, values = _condition(wanted)
    rest = f"{conditions} {_NEWEST_FIRST} LIMIT ${len(values) + 1}"
    return await _fetch_entries(tx, rest, *values, limit)


async def position_of(tx: Transaction, wanted: AuditFilter, number: int) -> Position | None:
    """Where the entry with that number, from 1, stands among those of `search`; None: too few."""
    conditions, values = _condition(wanted)
    return await tx.first(
        Position,
        f"SELECT {as_stored('at')}, stream_id, {as_stored('sequence')} FROM audit_entries "
        f"{conditions} {_NEWEST_FIRST} LIMIT 1 OFFSET ${len(values) + 1}",
        *values,
        number - 1,
    )


async def has_entry(tx: Transaction, wanted: AuditFilter) -> bool:
    """Whether the filter lets any entry through."""
    conditions, values = _condition(wanted)
    return bool(await _fetch_entries(tx, f"{conditions} LIMIT 1", *values))


def _condition(wanted: AuditFilter) -> tuple[str, list[object]]:
    """The filter as a WHERE, and its parameters."""
    conditions, values = where(
        ("organization_id = $n", wanted.organization_id),
        ("stream_id = $n", wanted.stream_id),
        ("action = $n", wanted.action),
        ("request_id = $n", wanted.request_id),
        ("actor_kind = $n", wanted.actor_kind),
        ("actor_id IN {each $n}", each(wanted.actor_ids)),
        ("subject_id IN {each $n}", each(wanted.subject_ids)),
        ("at >= $n", wanted.since),
        ("at < $n", wanted.until),
        *((_WITHIN, each(ids)) for ids in wanted.within),
        (_ABOUT_KEY, None if wanted.key is None else _json(wanted.key)),
    )
    asked = [conditions] if conditions else []
    for compared, position in (("<", wanted.before), (">=", wanted.down_to)):
        if position is not None:
            values += position
            n = len(values)
            asked.append(f"(at, stream_id, sequence) {compared} (${n - 2}, ${n - 1}, ${n})")
    return ("WHERE " + " AND ".join(asked) if asked else ""), values


async def naming(tx: Transaction, piece: Piece) -> list[AuditEntry]:
    """The entries of a piece that say what something is called, oldest first; see `AuditNames`."""
    return await _fetch_entries(tx, f"{_BETWEEN} AND {_NAMING} ORDER BY sequence", *piece)


async def variables_called(tx: Transaction, key: str, piece: Piece | None = None) -> set[str]:
    """The ids of all variables that have the key or had it."""
    conditions, args = _in(piece)
    about = _ABOUT_KEY.replace("$n", f"${len(args) + 1}")
    rest = f"count(*) FROM audit_entries {conditions} {about} GROUP BY subject_id"
    return {row[0] for row in await _fetch_by_id(tx, "subject_id", rest, *args, _json(key))}


async def details_of_variables(tx: Transaction, piece: Piece) -> list[tuple[str, str | bytes]]:
    """What the entries of a piece that are about variables say, each behind the variable's id."""
    rest = f"{{encoded details}} FROM audit_entries {_BETWEEN} AND subject_type = 'vars'"
    return [(id_, details) for id_, details in await _fetch_by_id(tx, "subject_id", rest, *piece)]


async def sequences_about(tx: Transaction, piece: Piece, subject_ids: Collection[str]) -> list[int]:
    """The numbers of the entries of a piece that are about any of the subjects, newest first."""
    return await tx.column(_SEQUENCES_ABOUT, *piece, each(subject_ids))


async def entries_about(
    tx: Transaction, piece: Piece, subject_ids: Collection[str]
) -> list[AuditEntry]:
    """As `entries_between`, those about any of the subjects."""
    rest = f"{_BETWEEN} AND subject_id IN {{each $4}} ORDER BY sequence"
    return await _fetch_entries(tx, rest, *piece, each(subject_ids))


async def newest_about(
    tx: Transaction,
    where: tuple[str, str],
    actions: Collection[str],
    naming: str | None,
    but_of: Collection[str],
) -> AuditEntry | None:
    """The newest entry of a stream about a subject, of one of those actions that say where somebody
    stands; with `naming`, of those whose details have that id; `but_of`: of nobody of these.
    """
    rest = f"WHERE stream_id = $1 AND subject_id = $2 AND {_IS_STANDING} AND action IN {{each $3}}"
    args: list[object] = [*where, each(actions)]
    if naming is not None:
        rest += " AND replace(details, CAST($4 AS TEXT), '') <> details"
        args.append(_json(naming))
    if but_of:
        args.append(each(but_of))
        rest += f" AND NOT actor_id IN {{each ${len(args)}}}"
    found = await _fetch_entries(tx, f"{rest} ORDER BY sequence DESC LIMIT 1", *args)
    return found[0] if found else None


def has_proposed(user: str) -> str:
    """That somebody has proposed any version of a runner, as the trail says: a condition of
    `runners`, where `user` is their id.
    """
    return f"""EXISTS (SELECT 1 FROM audit_entries WHERE stream_id = runners.organization_id
        AND subject_id = runners.id AND {_IS_STANDING} AND actor_id = {user})"""


async def sizes(tx: Transaction) -> dict[str, int]:
    """How many entries each stream has that has any, closed ones included."""
    counted = "count(*) FROM audit_entries GROUP BY stream_id ORDER BY stream_id"
    return dict(await _fetch_by_id(tx, "stream_id", counted))  # type: ignore[arg-type]


async def last_entries(tx: Transaction) -> dict[str, int]:
    """The number of the last entry of each stream that has any, closed ones included: more than it
    has entries, once an operator has accepted it.
    """
    last = "max(sequence) FROM audit_entries GROUP BY stream_id ORDER BY stream_id"
    return dict(await _fetch_by_id(tx, "stream_id", last))  # type: ignore[arg-type]


async def _fetch_by_id(tx: Transaction, id_: str, rest: str, *args: object) -> list[Row]:
    """The rows of a statement by the column that comes first, which has ids.

    One that is no text on SQLite, or cannot be decoded, is nobody's: it is shown as its bytes are
    written in Python, and so is no other's either.
    """
    try:
        rows = await tx.fetch(f"SELECT {STRICT} {id_}, {rest}", *args)
    except UnicodeDecodeError:
        is_text = f"{id_} = CAST({id_} AS {{text}})"
        rows = await tx.fetch(f"SELECT CAST({id_} AS {{bytes}}), {is_text}, {rest}", *args)
        rows = [(_text(raw) if known else raw, *others) for raw, known, *others in rows]
    return [(raw if isinstance(raw, str) else repr(raw), *others) for raw, *others in rows]


async def _fetch_entries(tx: Transaction, rest: str, *args: object) -> list[AuditEntry]:
    """The entries a statement is about, by what comes after its FROM.

    SQLite accepts invalid UTF-8 as text: such a field is returned as bytes (see
    `AuditEntry.faulty`).
    """
    try:
        rows = await tx.fetch(f"SELECT {STRICT} {_ENTRY} FROM audit_entries {rest}", *args)
    except UnicodeDecodeError:
        rows = await tx.fetch(f"SELECT {_RAW_ENTRY} FROM audit_entries {rest}", *args)
        return [_read_raw(row) for row in rows]
    return [AuditEntry(*row) for row in rows]


def _read_raw(row: Row) -> AuditEntry:
    """The entry of a row of `_RAW_ENTRY`, as it is where no text is damaged: what is found of a
    stream is the same, whatever is read with it.
    """
    fields = AuditEntry._fields
    return AuditEntry(*map(_as_it_was, fields, row[: len(fields)], row[len(fields) :]))


def _as_it_was(name: str, found: object, was_bytes: object) -> Any:
    if was_bytes or not isinstance(found, bytes):
        return found
    return found.decode(errors="backslashreplace") if name in _BYTES else _text(found)


def _in(piece: Piece | None) -> tuple[str, tuple[object, ...]]:
    """The beginning of a WHERE, and its parameters; None: of all streams."""
    return ("WHERE", ()) if piece is None else (f"{_BETWEEN} AND", piece)


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _text(raw: object) -> object:
    try:
        return raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        return raw


def to_stream(row: Row) -> Stream:
    """The stream of a row of `_STREAM`: its id, its organization's, and `PLACE`."""
    id_, organization_id, sequence, link, head, variables, value_bytes = row
    return Stream(id_, organization_id, sequence, link, head, Usage(variables, value_bytes))
