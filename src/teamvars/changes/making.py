"""Looks up what a decision asks for, asks it again, and stores what it has decided."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from msgspec.structs import replace

from teamvars.changes import Tools, answered
from teamvars.changes.batches import Batches
from teamvars.changes.nouns import LOOK_UPS, STATEMENTS
from teamvars.changes.runners import matched
from teamvars.changes.trails import OwnTrail
from teamvars.changes.waves import Change, Known, run_alone
from teamvars.decisions import Decision, Found, Need, Needs, Note, Thought, Verdict
from teamvars.decisions.runners import Matching
from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry, CheckedStream, Event
from teamvars.domain.errors import Fault, Kind, Refusal
from teamvars.domain.workspaces import Usage
from teamvars.fair_slots import PRINCIPAL_WAITERS, WAIT_SECONDS, FairLock
from teamvars.pace import Pace, in_batches
from teamvars.storage import streams
from teamvars.storage.database import Statement, Store, Taken, Transaction

T = TypeVar("T")

LACKS_RIGHT = {Kind.UNAUTHENTICATED, Kind.NOT_FOUND, Kind.FORBIDDEN}

Parse = Callable[[str, Sequence[str]], Awaitable[Sequence[Fault | None]]]
"""Answers the `Verdict` of each text of whoever has that id. Refuses: busy, too many requests."""


MOST_KNOWN = 4096
ROWS_AT_ONCE = 64
"""That are written before others have the event loop, if that has taken long enough."""


class KnownCallers:
    """Callers that need no check before what is costly: the queue of writers, a large body.

    All others are checked first, so that a caller without the right never gets there, and one with
    it pays for no further statement. A cached caller is granted nothing: every request checks the
    right again in the transaction that acts on it.
    """

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[bytes, str], None] = OrderedDict()

    def knows(self, caller: Caller, where: str) -> bool:
        """Whether the caller passed the check for that place when last seen."""
        place = caller.token_hash, where
        if place not in self._places:
            return False
        self._places.move_to_end(place)
        return True

    def note(self, caller: Caller, where: str) -> None:
        """Caches a caller that passed the check; evicts the least recently seen."""
        self._places[caller.token_hash, where] = None
        if len(self._places) > MOST_KNOWN:
            self._places.popitem(last=False)

    def forget(self, caller: Caller, where: str) -> None:
        """Drops a caller, who is checked first the next time."""
        self._places.pop((caller.token_hash, where), None)


class Changes:
    """Makes changes. Refuses as they decide; and unauthenticated, trail_altered."""

    def __init__(self, database: Store, tools: Tools, parse: Parse) -> None:
        self.database = database
        """What changes are made in, and looked at before."""
        self._tools = tools
        self._parse = parse
        self._writers = KnownCallers()
        self._batches = Batches(database, tools)
        self._matching = FairLock(PRINCIPAL_WAITERS)

    def make(self, change: Change[T]) -> Coroutine[Any, Any, T]:
        """Makes the change and returns its answer, once that is committed."""
        return self.with_thoughts(change.caller, partial(self._make, change))

    async def with_thoughts(self, caller: Caller, attempt: Callable[[Known], Awaitable[T]]) -> T:
        """What the attempt comes to, once it knows the thoughts for which it raises Needs.

        They are thought between two attempts, and so under no lock.
        """
        known: Known = {}
        while True:
            try:
                return await attempt(known)
            except Needs as needs:
                lacking = needs.needs
            known |= await self._thought(caller, lacking)

    async def look_on(self, found: Found, see: Callable[[], T]) -> T:
        """As `glance`, of what was found already and what it takes besides: thoughts as well."""
        while True:
            try:
                return await self.database.query(lambda tx: self.seen(tx, found, lambda _: see()))
            except Needs as needs:
                lacking = needs.needs
            found.answers |= await self._thought(found.caller, lacking)

    async def look(self, caller: Caller, see: Callable[[Found], T]) -> T:
        """What is seen on one snapshot. Refuses as `see` does."""
        return await self.database.read(lambda tx: self.seen(tx, self._found(caller), see))

    async def glance(self, caller: Caller, see: Callable[[Found], T]) -> T:
        """As `look`, with a snapshot for each look-up, which others that wait may share."""
        return await self.database.query(lambda tx: self.seen(tx, self._found(caller), see))

    def introduce(self, caller: Caller, subject: str) -> None:
        """Lets a caller to whom a right was just given make changes of the subject at once."""
        self._writers.note(caller, subject)

    def _found(self, caller: Caller) -> Found:
        return Found(caller, self._tools.clock())

    async def seen(self, tx: Transaction, found: Found, see: Callable[[Found], T]) -> T:
        """What is seen, once all that is asked for was looked up. Raises Needs, of a thought."""
        pace = Pace.while_locked()
        while True:
            try:
                return see(found)
            except Needs as needs:
                need = needs.need
                if isinstance(need, Thought):
                    raise
            await self._look_up(tx, found, need)
            if tx.has_one_writer and tx.may_pause:  # whose statements leave the loop to nobody
                await pace.keep()

    async def _admit(self, change: Change[Any]) -> None:
        """Keeps callers without the right out of the queue of writers, by looks of readers."""

        async def see(tx: Transaction) -> None:
            found, has_right = self._found(change.caller), False
            while not has_right:
                try:
                    change.decide(found)
                    return
                except Needs as needs:
                    need = needs.need
                await self._look_up(tx, found, need)
                has_right = getattr(found.answers[need], "may_change", False)

        await self.database.query(see)

    async def _make(self, change: Change[T], known: Known) -> T:
        caller, subject = change.caller, change.subject
        if subject is not None and not (change.is_admitted or self._writers.knows(caller, subject)):
            await self._admit(change)
            self._writers.note(caller, subject)
        if subject is None:
            alone = partial(self._stored, change, known)
            if change.in_turns:
                return await self.database.write_in_turns(alone)
            return await self.database.write(alone)
        try:
            if caller.has_key:
                alone = partial(run_alone, self._tools, change, known)
                return await self.database.write(alone, subject=subject)
            return await self._batches.make(change, known)
        except Refusal as refusal:
            if refusal.kind in LACKS_RIGHT:
                self._writers.forget(caller, subject)
            raise

    async def _stored(self, change: Change[T], known: Known, tx: Transaction) -> T:
        """The answer to a change that says itself which streams it locks."""

        def decide(found: Found) -> Decision[T]:
            decision = change.decide(found)
            found.require_locked(decision.streams)
            return decision

        found = Found(change.caller, self._tools.clock(), known.copy())
        decision = await self.seen(tx, found, decide)
        await Storing(tx, self._tools, found).store(decision)
        return decision.answer

    async def _thought(self, caller: Caller, lacking: Sequence[Need[Any]]) -> Known:
        """What these come to. Whatever else is needed is looked up."""
        assert caller.actor is not None  # authenticated before any is asked for
        who, verdicts = caller.actor.id, [each for each in lacking if isinstance(each, Verdict)]
        known: Known = {}
        if verdicts:
            faults = await self._parse(who, [verdict.text for verdict in verdicts])
            known |= zip(verdicts, faults, strict=True)
        for each in lacking:
            if isinstance(each, Matching):
                async with self._matching.held_by(who, WAIT_SECONDS):
                    known[each] = await matched(each)
        assert known
        return known

    async def _look_up(self, tx: Transaction, found: Found, need: Need[Any]) -> None:
        found.answers[need] = await answered(LOOK_UPS[type(need)], tx, self._tools, found, need)

    async def close(self) -> None:
        """Waits for the changes under way."""
        await self._batches.close()


class Storing:
    """Stores the decisions of one request, whose transaction has locked what was found to be.

    Of much that is written others have the event loop in between, where the transaction may pause.
    """

    def __init__(self, tx: Transaction, tools: Tools, found: Found) -> None:
        self._tx = tx
        self._tools = tools
        self._found = found
        self._trail = OwnTrail(tx, tools.chain)
        self._places: dict[str, CheckedStream] = {}
        self._pace = Pace.while_locked()

    async def store(self, decision: Decision[Any]) -> None:
        """Writes what was decided and records it. Refuses: trail_altered, what is taken.

        The system's stream, on which invitations and tokens of every organization wait, is locked
        last, unless the decision rests on it, and so for the shortest time. That is out of id
        order, and yet makes no deadlock: a transaction that locks it together with teams or
        workspaces locks their organization before, and here that is locked already.
        """
        begun = {id_: self._tools.chain.open(id_, of) for id_, of in decision.opens.items()}
        self._places |= begun
        last = {SYSTEM_STREAM} - self._found.streams.keys()
        entries, after = await self._recorded(
            [note for note in decision.notes if note.stream_id not in last], decision.usage
        )
        ended = [id_ for note in decision.notes for id_ in note.closes]
        writes = [
            STATEMENTS[type(write)](self._tools, self._found, write) for write in decision.writes
        ]
        try:
            if len(writes) == len(entries) == len(decision.notes) == 1 and not (begun or ended):
                # None depends on another's effects.
                (one,) = writes
                await self._tx.write_each(one.part, *streams.appending(entries, after))
                return
            await streams.insert(self._tx, *begun.values())
            await self._write(writes)
        except Taken:
            if decision.taken is None:
                raise
            raise Refusal(decision.taken) from None
        await self._append(entries, after)
        if of_system := [note for note in decision.notes if note.stream_id in last]:
            self._found.streams |= await streams.lock(self._tx, last)
            await self._append(*await self._recorded(of_system, decision.usage))
        if ended:
            await streams.delete(self._tx, ended)

    def place_of(self, stream_id: str) -> CheckedStream:
        """Where a locked stream stands after all that was recorded so far."""
        if stream_id not in self._places:
            self._places[stream_id] = self._trail.check(self._found.streams[stream_id])
        return self._places[stream_id]

    async def _recorded(
        self, notes: Sequence[Note], usage: Usage | None
    ) -> tuple[list[AuditEntry], Sequence[CheckedStream]]:
        """The entries of all that is noted, and where their streams stand after them but for those
        that end. Refuses: trail_altered.
        """
        entries: list[AuditEntry] = []
        for id_, of_stream in groupby(notes, lambda note: note.stream_id):
            events = [self._ending(note) for note in of_stream]
            stream = self.place_of(id_)
            added, self._places[id_] = await self._trail.extend(stream, events, usage)
            entries += added
            await self._keep_pace()
        ended = {id_ for note in notes for id_ in note.closes}
        moved = {note.stream_id for note in notes} - ended
        return entries, [self._places[id_] for id_ in sorted(moved)]

    def _ending(self, note: Note) -> Event:
        if not note.closes:
            return note.event
        ended = [self._trail.end(self.place_of(id_)) for id_ in note.closes]
        told = [{"stream": s.id, "sequence": s.sequence, "link": s.link.hex()} for s in ended]
        return replace(note.event, details={**note.event.details, "closes": told})

    async def _write(self, statements: Sequence[Statement]) -> None:
        for sql, alike in groupby(statements, lambda statement: statement.sql):
            some = list(alike)
            if some[0].is_long:
                for statement in some:
                    await self._tx.execute_long(sql, *statement.args)
            else:
                await self._write_rows(sql, [statement.args for statement in some])

    async def _append(self, entries: Sequence[AuditEntry], after: Sequence[CheckedStream]) -> None:
        if len(entries) <= ROWS_AT_ONCE:
            await self._tx.write_each(*streams.appending(entries, after))
            return
        for sql, rows in streams.appending(entries, after):
            await self._write_rows(sql, rows)

    async def _write_rows(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for some in in_batches(rows, lambda _: 1, ROWS_AT_ONCE):
            await self._tx.execute_many(sql, some)
            await self._keep_pace()

    async def _keep_pace(self) -> None:
        if self._tx.may_pause:
            await self._pace.keep()
