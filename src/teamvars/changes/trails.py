"""The trail of one request: the only way to an entry, for every kind of change there is."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar

import structlog

from teamvars.changes import Look, LookUps, Tools
from teamvars.decisions import Found, Locks, Need, Needs
from teamvars.domain.audit import (
    AlteredStream,
    AuditEntry,
    CheckedStream,
    Event,
    HeldStream,
    Stream,
)
from teamvars.domain.errors import TRAIL_ALTERED, Code, Refusal
from teamvars.domain.workspaces import Usage
from teamvars.metrics import Counter
from teamvars.security.chain import Chain
from teamvars.storage import streams
from teamvars.storage.database import Transaction

T = TypeVar("T")

_MOST_REMEMBERED = 10_000
_ONLY_TAKES_AWAY = attrgetter("only_takes_away")

log = structlog.get_logger("teamvars.trail")


ALTERED = Counter(
    "teamvars_altered_streams_total",
    "Streams of the audit trail that were found not to hold, each once in a process.",
)


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
        ALTERED.add()
        log.error("the audit trail was altered", stream=stream_id)

    def hear(self, refusal: Refusal) -> None:
        """A request was refused, perhaps since a stream does not hold."""
        for fault in refusal.faults:
            if fault.code is Code.TRAIL_ALTERED and fault.meta is not None:
                self.raise_for(str(fault.meta["stream"]))


ALARM = Alarm()
"""Of this process."""


class LastNumber(Need[int | None], frozen=True):
    """The largest number of a stream's entries when it was locked; None: it has none."""

    stream_id: str


class Trail:
    """Adds the entries of one request to streams that its transaction has locked.

    A stream that does not hold refuses whatever would extend or end it: a new head would vouch for
    what nobody has checked. A request that only takes rights away goes on all the same, if that is
    so of every entry it makes, in whichever streams.
    """

    def __init__(self, chain: Chain, last: Callable[[LastNumber], int | None]) -> None:
        """`last` answers, or raises Needs; whatever has raised that is to be called again."""
        self._chain = chain
        self._last = last
        self._altered: str | None = None
        self._only_takes_away = True

    def check(self, stream: Stream) -> CheckedStream:
        """The stream of a row that the transaction has locked, once its head was checked."""
        checked = self._chain.check(stream)
        if isinstance(checked, AlteredStream):
            ALARM.raise_for(stream.id)
        return checked

    def holds(self, stream: Stream) -> bool:
        """Whether entries of every kind can follow in the stream, which need not be locked."""
        checked = self.check(stream)
        return isinstance(checked, HeldStream) and self._is_at_its_end(checked)

    def extend(
        self, stream: CheckedStream, events: Sequence[Event], usage: Usage | None = None
    ) -> tuple[list[AuditEntry], CheckedStream]:
        """The entries of these events, and the stream after them. Refuses: trail_altered."""
        if not events:
            return [], stream
        takes_away = all(map(_ONLY_TAKES_AWAY, events))
        self._require(stream, takes_away=takes_away)
        if takes_away:
            return self._take_away(stream, events, usage)
        assert isinstance(stream, HeldStream)  # or it would have been refused
        return self._chain.extend_all(stream, events, usage)

    def end(self, stream: CheckedStream) -> HeldStream:
        """The stream, which will have no more entries. Refuses: trail_altered."""
        self._require(stream, takes_away=False)
        assert isinstance(stream, HeldStream)  # or it would have been refused
        return stream

    def _take_away(
        self, stream: CheckedStream, events: Sequence[Event], usage: Usage | None
    ) -> tuple[list[AuditEntry], CheckedStream]:
        """As `extend`, also where the stream does not hold."""
        if isinstance(stream, HeldStream) and self._is_at_its_end(stream):
            return self._chain.extend_all(stream, events, usage)
        last = self._last(LastNumber(stream.id))
        self._altered = stream.id
        self._require(stream, takes_away=True)
        entries: list[AuditEntry] = []
        for event in events:
            entry, stream = self._chain.carry(stream, last, event, usage)
            entries.append(entry)
        return entries, stream

    def _is_at_its_end(self, stream: HeldStream) -> bool:
        """Whether no entry stands above the stream's number.

        A row that was put back to an earlier state of its own has an authentic head, and entries
        above it: the next one would have the number of one of these.
        """
        last = self._last(LastNumber(stream.id))
        if last is None or last <= stream.sequence:
            return True
        ALARM.raise_for(stream.id)
        return False

    def _require(self, stream: CheckedStream, *, takes_away: bool) -> None:
        """Refuses where something is altered, and something is done besides taking away."""
        self._only_takes_away = self._only_takes_away and takes_away
        if isinstance(stream, AlteredStream):
            self._altered = stream.id
        if self._altered is not None and not self._only_takes_away:
            raise Refusal(TRAIL_ALTERED.filled({"stream": self._altered}))


class OwnTrail:
    """The trail of a request that has a transaction of its own, to look up what it needs."""

    def __init__(self, tx: Transaction, chain: Chain) -> None:
        self._tx = tx
        self._lasts: dict[LastNumber, int | None] = {}
        self._trail = Trail(chain, partial(_known, self._lasts))
        self.check = self._trail.check
        self.end = self._trail.end

    async def holds(self, stream: Stream) -> bool:
        """As `Trail.holds`."""
        return await self._answered(partial(self._trail.holds, stream))

    async def extend(
        self, stream: CheckedStream, events: Sequence[Event], usage: Usage | None = None
    ) -> tuple[list[AuditEntry], CheckedStream]:
        """As `Trail.extend`."""
        return await self._answered(partial(self._trail.extend, stream, events, usage))

    async def _answered(self, ask: Callable[[], T]) -> T:
        while True:
            try:
                return ask()
            except Needs as needs:
                assert isinstance(needs.need, LastNumber)
                last = await streams.last_number(self._tx, needs.need.stream_id)
                self._lasts[needs.need] = last


def _known(lasts: Mapping[LastNumber, int | None], need: LastNumber) -> int | None:
    try:
        return lasts[need]
    except KeyError:
        raise Needs(need) from None


async def _lock(tx: Transaction, tools: Tools, found: Found, need: Locks) -> Mapping[str, Stream]:
    found.streams |= await streams.lock_existing(tx, need.stream_ids)
    if not tx.has_one_writer:
        # What was seen before has only said what to lock: others may have changed it meanwhile, and
        # what was good may have expired.
        found.forget()
        found.now = tools.clock()
    return found.streams


LOOK_UPS: LookUps = {
    Locks: _lock,
    LastNumber: Look(
        lambda _, need: (streams.LAST_NUMBER, (need.stream_id,)),
        lambda _, __, rows: rows[0][0],
    ),
}
