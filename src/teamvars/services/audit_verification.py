"""Proving that nobody has touched the trail, from the system's stream down; and accepting what was
found of a stream that does not hold, so that it can go on.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
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
from teamvars.security.chain import (
    Chain,
    Way,
    digest_of,
    row_accepted,
    row_digest,
    unforeseen_above,
)
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
    """All that is there of a stream: its row, unless that is gone, and its entries in order, piece
    by piece: there may be more than memory has room for.
    """

    stream_id: str
    row: Stream | None
    pieces: Callable[[], AsyncGenerator[Sequence[AuditEntry]]]

    async def digest(self) -> str:
        """What an operator accepts it by."""
        return (await digest_of(row_digest(self.row), self.pieces())).hex()


class Testimony:
    """What authentic entries say of streams, gathered from one stream after another.

    `opened` has the streams that there must be, each with the number and link of its last entry
    where it has ended. `accepted` has what an operator has accepted last of each, and `recorded`
    those in which there is the entry of that.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.opened: dict[str, tuple[int, bytes] | None] = {SYSTEM_STREAM: None}
        self.accepted: dict[str, Acceptance] = {}
        self.acceptances: dict[Place, Acceptance] = {}
        self.recorded: set[str] = set()

    def hear(self, entries: Iterable[AuditEntry]) -> list[str]:
        """Notes what those say that are authentic; returns the streams not heard of before."""
        new: list[str] = []
        for entry in entries:
            vouched_for = vouched(entry)
            # Most say nothing of streams, and each is authenticated where its own is gone through.
            if (vouched_for or entry.action == ACCEPT) and self._chain.holds(entry):
                # One by one: the difference of the keys would go through all streams each time.
                new += [id_ for id_ in vouched_for if id_ not in self.opened]
                self.opened.update(vouched_for)
                if entry.action == ACCEPT:
                    made = Acceptance.read(entry)
                    self.acceptances[made.stream_id, made.sequence] = made
                    if entry.stream_id == SYSTEM_STREAM:
                        self.accepted[made.stream_id] = made
            accepted = self.accepted.get(entry.stream_id)
            if accepted is not None and accepted.is_of(entry):
                self.recorded.add(entry.stream_id)
        return new

    async def first_break(self, remains: Remains, way: Way) -> Break | None:
        """The first place where a stream does not hold; None: it does. What its own entries say
        must have been heard, and the way been followed to their end.
        """
        stream_id, accepted = remains.stream_id, self.accepted.get(remains.stream_id)
        if accepted is not None and not accepted.row:
            found = await _ended_otherwise(remains, accepted)
        elif stream_id not in self.opened and accepted is None:
            found = Break(stream_id, 1, "no entry records the beginning of this stream")
        elif accepted is not None and stream_id not in self.recorded:
            reason = "the entry is missing with which an operator accepted the stream"
            found = Break(stream_id, accepted.sequence, reason)
        else:
            found = await self._break(remains, way, accepted)
        return None if found is None else replace(found, found=await remains.digest())

    async def _break(self, remains: Remains, way: Way, accepted: Acceptance | None) -> Break | None:
        stream_id, row = remains.stream_id, remains.row
        end = self.opened.get(stream_id)
        if end is not None and accepted is not None and end[0] < accepted.sequence:
            end = None  # it was accepted as one that goes on
        if end is not None and row is not None:
            return Break(stream_id, end[0] + 1, "the stream is there after its end")
        if end is None:
            if row is None:
                return Break(stream_id, 1, "the stream is missing")
            end = row.sequence, row.link
        before = (
            await digest_of(row_accepted(entry), remains.pieces(), entry)
            if (entry := way.accepted)
            else None
        )
        found = way.first_break(end, before)
        if found is None and row is not None and not self._chain.head_holds(row):
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
            stream_id, way = remains.stream_id, Way(chain, remains.stream_id)
            above = None if stream_id == SYSTEM_STREAM else stream_id
            strayed: Break | None = None
            async for entries in remains.pieces():
                new = heard.hear(entries)
                order += new
                organizations.update({id_: above or id_ for id_ in new})
                way.follow(entries)
                strayed = strayed or _strayed(
                    entries, organizations.get(stream_id), has_older_nodes=has_older_nodes
                )
            breaks.append(await heard.first_break(remains, way) or strayed)
            reached += 1
        # What no entry opens any more an operator may have accepted, and that may have opened more.
        order += sorted(heard.accepted.keys() - set(order))
    strays = sorted({*live, *sizes} - set(order))
    breaks += [
        await heard.first_break(one, Way(chain, one.stream_id))
        async for one in _walked(tx, strays, live, sizes)
    ]
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
        is_alone = len(portion) == 1  # and may be long
        for entry in () if is_alone else await streams.entries(tx, list(portion)):
            portion[entry.stream_id].append(entry)
        for id_, entries in portion.items():
            pieces = partial(streams.pages, tx, id_) if is_alone else partial(_whole, entries)
            yield Remains(id_, live.get(id_), pieces)


async def _whole(entries: Sequence[AuditEntry]) -> AsyncGenerator[Sequence[AuditEntry]]:
    yield entries


async def _ended_otherwise(remains: Remains, accepted: Acceptance) -> Break | None:
    """A break where what was accepted as the end of a stream is not all there is of it."""
    if remains.row is not None:
        return Break(remains.stream_id, accepted.sequence, "the stream is there after its end")
    if await remains.digest() != accepted.digest:
        reason = "what was accepted here has changed since"
        return Break(remains.stream_id, accepted.sequence, reason)
    return None


def _accepted(acceptance: Acceptance) -> Break:
    place = f"{acceptance.stream_id}:{acceptance.sequence}"
    reason = (
        f"accepted by an operator, for: {acceptance.reason} (--accepted {place} passes over it)"
    )
    return Break(acceptance.stream_id, acceptance.sequence, reason)


def _strayed(
    entries: Iterable[AuditEntry], organization_id: str | None, *, has_older_nodes: bool
) -> Break | None:
    """A break where an entry is another organization's than its stream, or nobody's and so found by
    none; None: they are all its. What an older node has just written is nobody's until it is filled
    in.

    Where nobody knows any more whose the stream is, neither is that of its entries.
    """
    for entry in entries if organization_id is not None else ():
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

    `above` is the one that has opened it: the system's, or its organization's. `breaks` has the
    first of each that does not hold, and `last` is the last of its entries.
    """

    chain: Chain
    heard: Testimony
    remains: Remains
    system: Remains
    above: Remains
    breaks: Mapping[str, Break | None]
    last: AuditEntry | None

    @classmethod
    async def lock(cls, tx: Transaction, chain: Chain, stream_id: str) -> Self:
        above = await _opened_in(tx, chain, stream_id)
        locked = await streams.lock_existing(tx, {SYSTEM_STREAM, above, stream_id})
        its_own, system, over = [
            Remains(id_, locked.get(id_), partial(streams.pages, tx, id_))
            for id_ in (stream_id, SYSTEM_STREAM, above)
        ]
        return await cls.of(chain, its_own, system, over)

    @classmethod
    async def of(cls, chain: Chain, remains: Remains, system: Remains, above: Remains) -> Self:
        """What is found of them."""
        heard, breaks, last = Testimony(chain), {}, {}
        for id_, one in {one.stream_id: one for one in (system, above, remains)}.items():
            way = Way(chain, id_)
            async for entries in one.pieces():
                heard.hear(entries)
                way.follow(entries)
            breaks[id_], last[id_] = await heard.first_break(one, way), way.last
        return cls(chain, heard, remains, system, above, breaks, last[remains.stream_id])

    def require_acceptable(self, digest: str) -> None:
        """Refuses what is not there, what holds, what has changed, and what is not its turn yet."""
        stream_id = self.remains.stream_id
        if not (self.remains.row or self.last or stream_id in self.heard.opened):
            raise there_is_no(f"stream {stream_id}")
        for witness in (self.system, self.above):
            is_another = witness.stream_id != stream_id
            if is_another and witness.row is not None and self.breaks[witness.stream_id]:
                raise Refusal(ACCEPT_FIRST.filled(stream=witness.stream_id))
        found = self.breaks[stream_id]
        if found is None:
            raise Refusal(NOTHING_TO_ACCEPT.filled(stream=stream_id))
        if found.found != digest:
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
        last: object = self.last.sequence if self.last else 0
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
