"""Proving that nobody has touched the trail, from the system's stream down; and accepting what was
found of a stream that does not hold, so that it can go on.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Found
from teamvars.domain.access import Caller
from teamvars.domain.audit import (
    ACCEPT,
    ACTIONS,
    NO_ORGANIZATION,
    SYSTEM_STREAM,
    Acceptance,
    AuditEntry,
    AuditFilter,
    Break,
    Head,
    HeldStream,
    Stream,
)
from teamvars.domain.errors import (
    ACCEPT_FIRST,
    FOUND_OTHERWISE,
    NO_ROOM,
    NOTHING_TO_ACCEPT,
    Refusal,
    there_is_no,
)
from teamvars.domain.names import is_safe
from teamvars.security.chain import Chain, digest_of, row_digest, unforeseen_above
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from teamvars.storage.engines import schemas

_WALKED_AT_ONCE = 1000
"""How many entries of several streams are read by one statement."""

_OPENS, _CLOSES = '"opens"', '"closes"'
_OPENING = [name for name, action in ACTIONS.items() if "opens" in action.always]
_ALL = 2**31
_OUTDATED = (
    "the stream's head is under {}, which was retired since: what is put back to before that needs "
    "the keyring of its time"
)

Place = tuple[str, int]
"""A stream's id, and the number of an entry of it."""


class Remains(msgspec.Struct, frozen=True):
    """All that is there of a stream: its row, unless that is gone, and its entries in order."""

    stream_id: str
    row: Stream | None
    entries: Sequence[AuditEntry]

    @property
    def digest(self) -> str:
        """What an operator accepts it by."""
        return digest_of(row_digest(self.row), self.entries).hex()


class Testimony:
    """What authentic entries say of streams, gathered from one stream after another.

    `opened` has the streams that there must be, each with the number and link of its last entry
    where it has ended. `accepted` has what an operator has accepted last of each.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.opened: dict[str, tuple[int, bytes] | None] = {SYSTEM_STREAM: None}
        self.accepted: dict[str, Acceptance] = {}
        self.acceptances: dict[Place, Acceptance] = {}

    def hear(self, entries: Iterable[AuditEntry]) -> list[str]:
        """Notes what those say that are authentic; returns the streams not heard of before."""
        new: list[str] = []
        for entry in entries:
            vouched_for = vouched(entry)
            # Most say nothing of streams, and each is authenticated where its own is gone through.
            if not (vouched_for or entry.action == ACCEPT) or not self._chain.holds(entry):
                continue
            # One by one: the difference of the keys would go through all streams each time.
            new += [id_ for id_ in vouched_for if id_ not in self.opened]
            self.opened.update(vouched_for)
            if entry.action == ACCEPT:
                acceptance = Acceptance.read(entry)
                self.acceptances[acceptance.stream_id, acceptance.sequence] = acceptance
                if entry.stream_id == SYSTEM_STREAM:
                    self.accepted[acceptance.stream_id] = acceptance
        return new

    def first_break(self, remains: Remains) -> Break | None:
        """The first place where a stream does not hold; None: it does. What its own entries say
        must have been heard.
        """
        accepted = self.accepted.get(remains.stream_id)
        if accepted is not None and not accepted.row:
            found = _ended_otherwise(remains, accepted)
        elif remains.stream_id not in self.opened and accepted is None:
            found = Break(remains.stream_id, 1, "no entry records the beginning of this stream")
        else:
            found = _unrecorded(remains, accepted) or self._break(remains, accepted)
        return None if found is None else replace(found, found=remains.digest)

    def _break(self, remains: Remains, accepted: Acceptance | None) -> Break | None:
        stream_id, row = remains.stream_id, remains.row
        end = self.opened.get(stream_id)
        if end is not None and accepted is not None and end[0] < accepted.sequence:
            end = None  # it was accepted as one that goes on
        if end is not None and row is not None:
            return Break(stream_id, end[0] + 1, "the stream is there after its end")
        if end is not None:
            return self._chain.first_break(stream_id, remains.entries, end)
        if row is None:
            return Break(stream_id, 1, "the stream is missing")
        found = self._chain.first_break(stream_id, remains.entries, (row.sequence, row.link))
        if found is None and not self._chain.head_holds(row):
            former = self._chain.signer(row, closed=True)
            reason = "the stream's head was altered" if former is None else _OUTDATED.format(former)
            return Break(stream_id, row.sequence + 1, reason)
        return found


async def verify(
    tx: Transaction, chain: Chain, kept: Iterable[Head], passed: Collection[Place]
) -> tuple[int, list[Break]]:
    """As `Audit.verify`."""
    live = {stream.id: stream for stream in await streams.every(tx)}
    sizes = await streams.sizes(tx)
    has_older_nodes = bool(schemas.contracts(await schemas.schema(tx)))
    heard = Testimony(chain)
    order, organizations = [SYSTEM_STREAM], {SYSTEM_STREAM: NO_ORGANIZATION}
    breaks: list[Break | None] = []
    reached = 0
    while reached < len(order):
        async for remains in _walked(tx, order, live, sizes, reached):
            new = heard.hear(remains.entries)
            order += new
            above = None if remains.stream_id == SYSTEM_STREAM else remains.stream_id
            organizations.update({id_: above or id_ for id_ in new})
            breaks.append(
                heard.first_break(remains)
                or _strayed(
                    remains,
                    organizations.get(remains.stream_id),
                    has_older_nodes=has_older_nodes,
                )
            )
            reached += 1
        # What no entry opens any more an operator may have accepted, and that may have opened more.
        order += sorted(heard.accepted.keys() - set(order))
    strays = sorted({*live, *sizes} - set(order))
    breaks += [heard.first_break(one) async for one in _walked(tx, strays, live, sizes)]
    breaks += [await _lost(tx, head) for head in kept]
    breaks += [_accepted(one) for place, one in heard.acceptances.items() if place not in passed]
    return len(order), [found for found in breaks if found is not None]


async def _walked(
    tx: Transaction,
    order: Sequence[str],
    live: Mapping[str, Stream],
    sizes: Mapping[str, int],
    reached: int = 0,
) -> AsyncIterator[Remains]:
    """The streams in an order that may grow meanwhile, from a place in it on.

    Most are short: a statement for each took most of the time.
    """
    while reached < len(order):
        portion: dict[str, list[AuditEntry]] = {}
        room = _WALKED_AT_ONCE
        while reached < len(order) and (not portion or room >= sizes.get(order[reached], 0)):
            stream_id = order[reached]
            portion[stream_id] = []
            room -= sizes.get(stream_id, 0) + 1
            reached += 1
        for entry in await streams.entries(tx, list(portion)):
            portion[entry.stream_id].append(entry)
        for id_, entries in portion.items():
            yield Remains(id_, live.get(id_), entries)


def _ended_otherwise(remains: Remains, accepted: Acceptance) -> Break | None:
    """A break where what was accepted as the end of a stream is not all there is of it."""
    if remains.row is not None:
        return Break(remains.stream_id, accepted.sequence, "the stream is there after its end")
    if remains.digest != accepted.digest:
        reason = "what was accepted here has changed since"
        return Break(remains.stream_id, accepted.sequence, reason)
    return None


def _unrecorded(remains: Remains, accepted: Acceptance | None) -> Break | None:
    """A break where the stream lacks the entry of an acceptance that the system's records."""
    if accepted is None or any(accepted.is_of(entry) for entry in remains.entries):
        return None
    reason = "the entry is missing with which an operator accepted the stream"
    return Break(remains.stream_id, accepted.sequence, reason)


def _accepted(acceptance: Acceptance) -> Break:
    place = f"{acceptance.stream_id}:{acceptance.sequence}"
    reason = (
        f"accepted by an operator, for: {acceptance.reason} (--accepted {place} passes over it)"
    )
    return Break(acceptance.stream_id, acceptance.sequence, reason)


def _strayed(
    remains: Remains, organization_id: str | None, *, has_older_nodes: bool
) -> Break | None:
    """A break where an entry is another organization's than its stream, or nobody's and so found by
    none; None: they are all its. What an older node has just written is nobody's until it is filled
    in.

    Where nobody knows any more whose the stream is, neither is that of its entries.
    """
    for entry in remains.entries if organization_id is not None else ():
        whose = entry.organization_id
        if whose != organization_id and not (whose is None and has_older_nodes):
            reason = f"the entry's organization is not that of its stream, '{organization_id}'"
            return Break(entry.stream_id, entry.sequence, reason)
    return None


async def _lost(tx: Transaction, head: Head) -> Break | None:
    """A break when the entry a kept head speaks of is not there any more."""
    if head.sequence == 0:
        return None
    found = await streams.entries_between(tx, (head.stream_id, head.sequence - 1, head.sequence))
    if found and found[0].link == head.link:
        return None
    return Break(head.stream_id, head.sequence, "the entry of the kept head is gone: a rollback")


def vouched(entry: AuditEntry) -> Mapping[str, tuple[int, bytes] | None]:
    """The streams an entry opens (None) or closes (where it ended); none once it was altered."""
    # Of a million entries hardly one does, and to decode the details takes longer. In an altered
    # row they need not even be text.
    said: object = entry.details
    if not isinstance(said, str) or not (_OPENS in said or _CLOSES in said):
        return {}
    details = entry.read_details() or {}
    try:
        opened: dict[Any, tuple[int, bytes] | None] = dict.fromkeys(details.get("opens", ()))
        for closed in details.get("closes", ()):
            opened[closed["stream"]] = (closed["sequence"], bytes.fromhex(closed["link"]))
    except (ValueError, KeyError, TypeError):
        return {}
    # An altered entry may say anything, and not all of it is a parameter of a statement.
    return opened if all(isinstance(id_, str) and is_safe(id_) for id_ in opened) else {}


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
