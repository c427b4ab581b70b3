"""Writing the audit trail: one way for all changes but those of group commits."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry, CheckedStream, Event, Stream
from teamvars.security.chain import Chain
from teamvars.services.trails import Trail
from teamvars.storage import streams
from teamvars.storage.database import Transaction

T = TypeVar("T")


class Ledger:
    """The streams that one transaction has locked, to which it appends the entries of its changes.

    What extends or ends a stream that does not hold is refused, as `Trail` says.
    `opens` and `closes` in an entry's details are what `audit verify` follows from stream to
    stream, so a birth or an end is always recorded in the stream above.
    """

    def __init__(self, tx: Transaction, caller: Caller, chain: Chain, now: int) -> None:
        self.tx = tx
        self.now = now
        self._caller = caller
        self._chain = chain
        self._trail = Trail(tx, chain)
        self._streams: dict[str, CheckedStream] = {}

    async def lock(self, stream_ids: Iterable[str]) -> None:
        """Locks streams before anything is decided by what they order. Refuses: not found."""
        found = await streams.lock(self.tx, stream_ids)
        self._streams |= {id_: self._trail.check(stream) for id_, stream in found.items()}

    async def locked(
        self, look: Callable[[], Awaitable[T]], streams_of: Callable[[T], Iterable[str]]
    ) -> T:
        """What `look` finds once all streams are locked that `streams_of` names for it.

        What is seen before the lock only says what to lock. Others may change it during the wait,
        so it is looked at again. Refuses: not found, and what `look` refuses.
        """
        while True:
            seen = await look()
            # Streams of a second round may come before those of the first in the order of ids:
            # PostgreSQL ends the deadlock that this can make, and `write` runs the loser again.
            missing = set(streams_of(seen)) - self._streams.keys()
            if not missing:
                return seen
            await self.lock(missing)

    def adopt(self, stream: Stream) -> None:
        """Takes over a stream that an access statement of this transaction has locked."""
        self._streams[stream.id] = self._trail.check(stream)

    async def record(
        self, stream_id: str, action: str, subject_id: str, details: Mapping[str, object]
    ) -> None:
        """Adds an entry to a locked stream; its details have the names that `ACTIONS` says.

        Refuses: trail_altered.
        """
        await self._extend(stream_id, self._event(action, subject_id, details))

    async def open(self, organizations: Mapping[str, str]) -> None:
        """Begins the streams of new subjects, each with the id of its organization.

        The entry above says so of each, with `opens`.
        """
        begun = {id_: self._chain.open(id_, whose) for id_, whose in organizations.items()}
        self._streams |= begun
        await streams.insert(self.tx, *begun.values())

    async def close(self, stream_id: str) -> dict[str, object]:
        """Ends a stream whose subject is gone; returns what the entry above says of it.

        Refuses: trail_altered.
        """
        details = self.ends([stream_id])
        await self.forget([stream_id])
        return details

    def ends(self, stream_ids: Iterable[str]) -> dict[str, object]:
        """What the entry above says of locked streams that will have no more entries.

        Refuses: trail_altered.
        """
        ended = [self._trail.end(self._streams[id_]) for id_ in stream_ids]
        return {
            "closes": [
                {"stream": stream.id, "sequence": stream.sequence, "link": stream.link.hex()}
                for stream in ended
            ]
        }

    async def forget(self, stream_ids: Sequence[str]) -> None:
        """Takes away the streams of subjects that are gone."""
        await streams.delete(self.tx, stream_ids)
        for stream_id in stream_ids:
            del self._streams[stream_id]

    def _event(self, action: str, subject_id: str, details: Mapping[str, object]) -> Event:
        return self._caller.event(action, subject_id, dict(details), self.now)

    async def _extend(self, stream_id: str, event: Event) -> None:
        (entry,), after = await self._trail.extend(self._streams[stream_id], [event])
        self._streams[stream_id] = after
        await self._append(entry, after)

    async def _append(self, entry: AuditEntry, after: CheckedStream) -> None:
        await streams.append(self.tx, entry, after)


class GatheringLedger(Ledger):
    """A ledger that buffers entries: `write` must be the last statement of its transaction.

    The system's stream, on which invitations and tokens of every organization wait, is locked last
    and so for the shortest time. That is out of id order, and yet makes no deadlock: a transaction
    that locks it together with teams or workspaces locks their organization before, and here that
    is locked already.
    """

    def __init__(self, tx: Transaction, caller: Caller, chain: Chain, now: int) -> None:
        super().__init__(tx, caller, chain, now)
        self._entries: list[AuditEntry] = []
        self._of_system: list[Event] = []

    async def record(
        self, stream_id: str, action: str, subject_id: str, details: Mapping[str, object]
    ) -> None:
        if stream_id == SYSTEM_STREAM:
            self._of_system.append(self._event(action, subject_id, details))
        else:
            await super().record(stream_id, action, subject_id, details)

    async def write(self) -> None:
        """Adds all entries, and moves each stream once."""
        await self._write()
        if self._of_system:
            await self.lock([SYSTEM_STREAM])
            for event in self._of_system:
                await self._extend(SYSTEM_STREAM, event)
            await self._write()

    async def _write(self) -> None:
        moved = {entry.stream_id for entry in self._entries} & self._streams.keys()
        after = [self._streams[id_] for id_ in sorted(moved)]
        await streams.append_all(self.tx, self._entries, after)
        self._entries.clear()

    async def _append(self, entry: AuditEntry, after: CheckedStream) -> None:
        self._entries.append(entry)


def others(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """What an entry says of something that is there already: how it is now, and what of it is
    another than before.
    """
    return {**after, "changed": [name for name in after if after[name] != before[name]]}


def opens(stream_id: str) -> dict[str, object]:
    """What the entry above says of a stream that begins."""
    return {"opens": [stream_id]}
