"""Accepting what was found of a stream that does not hold, so that it can go on."""

from collections.abc import Iterator
from typing import Self

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Found
from teamvars.domain.access import Caller
from teamvars.domain.audit import (
    ACCEPT,
    ACTIONS,
    SYSTEM_STREAM,
    Acceptance,
    AuditFilter,
    HeldStream,
)
from teamvars.domain.errors import (
    ACCEPT_FIRST,
    FOUND_OTHERWISE,
    NO_ROOM,
    NOTHING_TO_ACCEPT,
    Refusal,
    there_is_no,
)
from teamvars.security.chain import Chain, row_digest, unforeseen_above
from teamvars.services.audit_verification import Remains, Testimony
from teamvars.storage import streams
from teamvars.storage.database import Transaction

_OPENING = [name for name, action in ACTIONS.items() if "opens" in action.always]
_ALL = 2**31


async def accept(
    tx: Transaction, chain: Chain, caller: Caller, wanted: Acceptance, now: int
) -> Acceptance:
    """As `Audit.accept`; `wanted` has neither number nor row yet. Returns it with both."""
    stream_id = wanted.stream_id
    place = await _Place.lock(tx, chain, stream_id)
    place.require_acceptable(wanted.digest)
    remains = place.remains
    number = await place.next_number(tx)
    made = replace(wanted, sequence=number, row=row_digest(remains.row).hex())
    event = Found(caller, now).event(ACCEPT, stream_id, made.details())
    if remains.row is not None:
        found = bytes.fromhex(made.digest)
        await streams.append(tx, *chain.accept(remains.row, number, event, found))
    for witness in place.witnesses():
        await streams.append(tx, *chain.extend(witness, event))
    return made


class _Place(msgspec.Struct, frozen=True):
    """A stream, and the streams above it that record its acceptance; all are locked.

    `above` is the one that has opened it: the system's, or its organization's.
    """

    chain: Chain
    heard: Testimony
    remains: Remains
    system: Remains
    above: Remains

    @classmethod
    async def lock(cls, tx: Transaction, chain: Chain, stream_id: str) -> Self:
        above = await _opened_in(tx, chain, stream_id)
        locked = await streams.lock_existing(tx, {SYSTEM_STREAM, above, stream_id})
        heard = Testimony(chain)
        its_own, system, over = [
            Remains(id_, locked.get(id_), await streams.entries(tx, [id_]))
            for id_ in (stream_id, SYSTEM_STREAM, above)
        ]
        heard.hear([*system.entries, *over.entries])
        return cls(chain, heard, its_own, system, over)

    def require_acceptable(self, digest: str) -> None:
        """Refuses what is not there, what holds, what has changed, and what is not its turn yet."""
        stream_id = self.remains.stream_id
        if not (self.remains.row or self.remains.entries or stream_id in self.heard.opened):
            raise there_is_no(f"stream {stream_id}")
        for witness in (self.system, self.above):
            is_another = witness.stream_id != stream_id
            if is_another and witness.row is not None and self.heard.first_break(witness):
                raise Refusal(ACCEPT_FIRST.filled(stream=witness.stream_id))
        if self.heard.first_break(self.remains) is None:
            raise Refusal(NOTHING_TO_ACCEPT.filled(stream=stream_id))
        if self.remains.digest != digest:
            raise Refusal(FOUND_OTHERWISE.filled(stream=stream_id))

    async def next_number(self, tx: Transaction) -> int:
        """The number of the acceptance, which no earlier one had: whoever passes that in 'audit
        verify' has not looked at this one. That holds also where nothing tells of the earlier one
        any more. Refuses where entries come after every number.
        """
        stream_id = self.remains.stream_id
        known = await streams.last_number(tx, stream_id) or 0
        if earlier := self.heard.accepted.get(stream_id):
            known = max(known, earlier.sequence)
        # What the row says may be no number that anything can come after; it is written anew.
        number = unforeseen_above(self.remains.row, known) or unforeseen_above(None, known)
        last: object = self.remains.entries[-1].sequence if self.remains.entries else 0
        if number is None or not isinstance(last, int | float) or last >= number:
            raise Refusal(NO_ROOM.filled(stream=stream_id))
        return number

    def witnesses(self) -> Iterator[HeldStream]:
        """The streams beside its own that record its acceptance: the system's always, the one above
        where its own has ended.
        """
        has_ended = self.remains.row is None
        wanted = {one.stream_id: one.row for one in (self.system, *([self.above] * has_ended))}
        for id_, row in wanted.items():
            if id_ != self.remains.stream_id and row is not None:
                held = self.chain.check(row)
                assert isinstance(held, HeldStream)  # or it would have to be accepted first
                yield held


async def _opened_in(tx: Transaction, chain: Chain, stream_id: str) -> str:
    """The id of the stream that says of this one that it was opened.

    Somebody may have added any number of entries that say so.
    """
    for action in _OPENING:
        wanted = AuditFilter(action=action, subject_ids=[stream_id])
        for entry in filter(chain.holds, await streams.search(tx, wanted, _ALL)):
            return entry.stream_id
    return SYSTEM_STREAM
