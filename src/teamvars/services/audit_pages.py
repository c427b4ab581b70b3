"""Pages of changes: of one stream, all of them or those of the variables with one key, or of an
organization.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Level
from teamvars.domain.audit import AuditEntry, AuditFilter, Position, Stream, workspaces_in
from teamvars.domain.audit_names import ActorNames, AuditNames
from teamvars.domain.errors import Kind, Refusal
from teamvars.domain.pages import CursorPaged, Page, Paged
from teamvars.storage import access, streams
from teamvars.storage.database import Transaction

MOST_SEARCHED = 10_000
"""How many changes one request searches: a stream's newest, or an organization's from a page on."""

_MOST_DETAILS = 2**20
"""Characters of details on a page of an organization's changes; a first one may have more."""

_PIECE = 500
"""How many of them one statement looks at: SQLite's run on the event loop."""


class OrganizationAuditPage(msgspec.Struct, frozen=True):
    """A page of an organization's changes, newest first, what things are called in them, and the
    cursor of what may come after them.
    """

    entries: Sequence[AuditEntry]
    actors: ActorNames
    further: str | None


class AuditPage(msgspec.Struct, frozen=True):
    """A page of changes, newest first, and what those who made them are called.

    `searched_from` is the number of the oldest change that was searched; None: nothing was. `seen`
    are the workspaces that their reader may be told of; None: all.
    """

    entries: Paged[AuditEntry]
    actors: ActorNames
    searched_from: int | None = None
    seen: Collection[str] | None = None


async def newest(tx: Transaction, stream: Stream, page: Page) -> Paged[AuditEntry]:
    """A page of all changes. Sequence numbers have no gaps, so it is a range of them."""
    up_to = stream.sequence - page.offset
    entries = await streams.entries_between(tx, (stream.id, max(up_to - page.size, 0), up_to))
    return Paged(entries[::-1], stream.sequence)


async def about_key(
    tx: Transaction, stream: Stream, key: str, page: Page
) -> tuple[Paged[AuditEntry], int]:
    """A page of the changes of all variables that have the key or had it, under whatever key.

    The newest `MOST_SEARCHED` changes of the stream are searched; the second result is the number
    of the oldest of them. Entries stay as they are, so these statements need no one snapshot.
    """
    pieces = _pieces(stream)
    ids: set[str] = set()
    for piece in pieces:
        ids |= await streams.variables_called(tx, key, piece)
    numbers: list[int] = []
    for piece in pieces if ids else ():
        numbers += await streams.sequences_about(tx, piece, ids)
    wanted = numbers[page.offset : page.offset + page.size]
    entries: list[AuditEntry] = []
    if wanted:
        entries = await streams.entries_about(tx, (stream.id, wanted[-1] - 1, wanted[0]), ids)
    return Paged(entries[::-1], len(numbers)), max(stream.sequence - MOST_SEARCHED, 0) + 1


async def once_called(
    tx: Transaction, stream: Stream, name: str, types: Collection[str]
) -> set[str]:
    """The ids of all of these types that the newest `MOST_SEARCHED` changes of the stream say have
    the name or had it.
    """
    ids: set[str] = set()
    for piece in _pieces(stream):
        told = AuditNames(await streams.naming(tx, piece))
        ids.update(*(told.named(type_, name) for type_ in types))
    return ids


async def of_organization(
    tx: Transaction, wanted: AuditFilter, size: int
) -> CursorPaged[AuditEntry, Position]:
    """At most so many of an organization's changes that the filter lets through, newest first.

    Filters that no index serves search `MOST_SEARCHED` changes at most: the page may be short, or
    empty, and the next one goes on. Entries stay as they are, so these statements need no one
    snapshot.
    """
    if not all(wanted.within):
        return CursorPaged([], None)  # no workspace has the name
    found: list[AuditEntry] = []
    before, room = wanted.before, size + 1
    is_filtered = wanted.actor_ids is not None or wanted.within or wanted.key is not None
    for _ in range(MOST_SEARCHED // _PIECE):
        here = AuditFilter(
            organization_id=wanted.organization_id, since=wanted.since, before=before
        )
        end = await streams.position_of(tx, here, _PIECE) if is_filtered else None
        piece = replace(wanted, before=before, down_to=end)
        found += await streams.search(tx, piece, room - len(found))
        before = end
        if end is None or len(found) == room:
            break
    shown = _of_size(found[:size])
    return CursorPaged(shown, shown[-1].position if len(shown) < len(found) else before)


async def seen_workspaces(
    tx: Transaction, caller: Caller, now: int, entries: Iterable[AuditEntry]
) -> frozenset[str]:
    """Of the workspaces in the details, the ids of those whose variables the caller may read."""
    named = {id_ for entry in entries for id_ in workspaces_in(entry.read_details() or {})}
    return frozenset([id_ for id_ in sorted(named) if await _sees(tx, caller, now, id_)])


async def _sees(tx: Transaction, caller: Caller, now: int, workspace_id: str) -> bool:
    try:
        return (await access.workspace(tx, caller, now, workspace_id)).level >= Level.READ
    except Refusal as refusal:
        if refusal.kind is not Kind.NOT_FOUND:
            raise
        return False


def _of_size(entries: Sequence[AuditEntry]) -> Sequence[AuditEntry]:
    """The first of the entries, and those after it until their details are too many."""
    sizes = accumulate(len(str(entry.details)) for entry in entries)
    return entries[: max(sum(size <= _MOST_DETAILS for size in sizes), 1)]


def _pieces(stream: Stream) -> list[streams.Piece]:
    """The newest `MOST_SEARCHED` changes of the stream."""
    oldest = max(stream.sequence - MOST_SEARCHED, 0)
    return [
        (stream.id, max(up_to - _PIECE, oldest), up_to)
        for up_to in range(stream.sequence, oldest, -_PIECE)
    ]
