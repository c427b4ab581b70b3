"""The trail of one request: the only way to an entry, for every kind of change there is."""

from collections.abc import Sequence

import structlog

from teamvars.domain.audit import (
    AlteredStream,
    AuditEntry,
    CheckedStream,
    Event,
    HeldStream,
    Stream,
)
from teamvars.domain.errors import Code, Refusal, trail_altered
from teamvars.domain.workspaces import Usage
from teamvars.security.chain import Chain
from teamvars.storage import streams
from teamvars.storage.database import Statement, Transaction

_MOST_REMEMBERED = 10_000

log = structlog.get_logger("teamvars.trail")


class Alarm:
    """Tells the log of each stream that was found altered, once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def raise_for(self, stream_id: str) -> None:
        """The stream does not hold."""
        if stream_id in self._told:
            return
        if len(self._told) >= _MOST_REMEMBERED:
            self._told.clear()
        self._told.add(stream_id)
        log.error("the audit trail was altered", stream=stream_id)

    def hear(self, refusal: Refusal) -> None:
        """A request was refused, perhaps since a stream does not hold."""
        for fault in refusal.faults:
            if fault.code is Code.TRAIL_ALTERED and fault.meta is not None:
                self.raise_for(str(fault.meta["stream"]))


ALARM = Alarm()
"""Of this process."""


class Trail:
    """Adds the entries of a request to the streams that its transaction has locked.

    A stream that does not hold refuses whatever would extend or end it: a new head would vouch for
    what nobody has checked. A request that only takes rights away goes on all the same, if that is
    so of every entry it makes, in whichever streams.
    """

    def __init__(self, tx: Transaction, chain: Chain) -> None:
        self._tx = tx
        self._chain = chain
        self._altered: str | None = None
        self._only_takes_away = True
        self._last: dict[str, int | None] = {}

    def check(self, stream: Stream) -> CheckedStream:
        """The stream of a row that the transaction has locked, once its head was checked."""
        checked = self._chain.check(stream)
        if isinstance(checked, AlteredStream):
            ALARM.raise_for(stream.id)
        return checked

    async def holds(self, stream: Stream) -> bool:
        """Whether entries of every kind can follow in the stream, which need not be locked."""
        checked = self.check(stream)
        return isinstance(checked, HeldStream) and await self._is_at_its_end(checked)

    async def extend(
        self, stream: CheckedStream, events: Sequence[Event], usage: Usage | None = None
    ) -> tuple[list[AuditEntry], CheckedStream]:
        """The entries of these events, and the stream after them. Refuses: trail_altered."""
        if not events:
            return [], stream
        takes_away = all(event.only_takes_away for event in events)
        self._require(stream, takes_away=takes_away)
        if takes_away:
            return await self._take_away(stream, events, usage)
        assert isinstance(stream, HeldStream)  # or it would have been refused
        return self._chain.extend_all(stream, events, usage)

    def end(self, stream: CheckedStream) -> HeldStream:
        """The stream, which will have no more entries. Refuses: trail_altered."""
        self._require(stream, takes_away=False)
        assert isinstance(stream, HeldStream)  # or it would have been refused
        return stream

    async def _take_away(
        self, stream: CheckedStream, events: Sequence[Event], usage: Usage | None
    ) -> tuple[list[AuditEntry], CheckedStream]:
        """As `extend`, also where the stream does not hold."""
        if isinstance(stream, HeldStream) and await self._is_at_its_end(stream):
            return self._chain.extend_all(stream, events, usage)
        last = await self._last_number(stream.id)
        self._altered = stream.id
        self._require(stream, takes_away=True)
        entries: list[AuditEntry] = []
        for event in events:
            entry, stream = self._chain.carry(stream, last, event, usage)
            entries.append(entry)
        return entries, stream

    async def _is_at_its_end(self, stream: HeldStream) -> bool:
        """Whether no entry stands above the stream's number.

        A row that was put back to an earlier state of its own has an authentic head, and entries
        above it: the next one would have the number of one of these.
        """
        last = await self._last_number(stream.id)
        if last is None or last <= stream.sequence:
            return True
        ALARM.raise_for(stream.id)
        return False

    async def _last_number(self, stream_id: str) -> int | None:
        """The largest number of a stream's entries when it was locked."""
        if stream_id not in self._last:
            self._last[stream_id] = await streams.last_number(self._tx, stream_id)
        return self._last[stream_id]

    def _require(self, stream: CheckedStream, *, takes_away: bool) -> None:
        """Refuses where something is altered, and something is done besides taking away."""
        self._only_takes_away = self._only_takes_away and takes_away
        if isinstance(stream, AlteredStream):
            self._altered = stream.id
        if self._altered is not None and not self._only_takes_away:
            raise trail_altered(self._altered)


async def recorded(
    tx: Transaction, chain: Chain, stream: Stream, event: Event, usage: Usage | None = None
) -> tuple[Statement, Statement]:
    """The statements that record the only event of a request in the stream it has locked, to be run
    with the change. Refuses: trail_altered.
    """
    trail = Trail(tx, chain)
    (entry,), after = await trail.extend(trail.check(stream), [event], usage)
    return streams.appending(entry, after)
