"""Pages of one stream's changes: all of them, or those of the variables with one key."""

import msgspec

from teamvars.domain.audit import AuditEntry, Stream
from teamvars.domain.audit_actors import ActorNames
from teamvars.domain.pages import Page, Paged
from teamvars.storage import streams
from teamvars.storage.database import Transaction

MOST_SEARCHED = 10_000
"""How many of a stream's newest changes are searched for a key."""

_PIECE = 1_000
"""How many of them one statement looks at: SQLite's run on the event loop."""


class AuditPage(msgspec.Struct, frozen=True):
    """A page of changes, newest first, and what those who made them are called.

    `searched_from` is the number of the oldest change that was searched; None: nothing was.
    """

    entries: Paged[AuditEntry]
    actors: ActorNames
    searched_from: int | None = None


async def newest(tx: Transaction, stream: Stream, page: Page) -> Paged[AuditEntry]:
    """A page of all changes. Sequence numbers have no gaps, so it is a range of them."""
    up_to = stream.sequence - page.offset
    entries = await streams.entries_between(tx, stream.id, max(up_to - page.size, 0), up_to)
    return Paged(entries[::-1], stream.sequence)


async def about_key(
    tx: Transaction, stream: Stream, key: str, page: Page
) -> tuple[Paged[AuditEntry], int]:
    """A page of the changes of all variables that have the key or had it, under whatever key.

    The newest `MOST_SEARCHED` changes of the stream are searched; the second result is the number
    of the oldest of them. Entries stay as they are, so these statements need no one snapshot.
    """
    oldest = max(stream.sequence - MOST_SEARCHED, 0)
    pieces = [
        (max(up_to - _PIECE, oldest), up_to) for up_to in range(stream.sequence, oldest, -_PIECE)
    ]
    ids: set[str] = set()
    for after, up_to in pieces:
        ids |= await streams.variables_called_between(tx, stream.id, key, after, up_to)
    numbers: list[int] = []
    for after, up_to in pieces if ids else ():
        numbers += await streams.sequences_about(tx, stream.id, ids, after, up_to)
    wanted = numbers[page.offset : page.offset + page.size]
    entries: list[AuditEntry] = []
    if wanted:
        between = wanted[-1] - 1, wanted[0]
        entries = await streams.entries_about(tx, stream.id, ids, *between)
    return Paged(entries[::-1], len(numbers)), oldest + 1
