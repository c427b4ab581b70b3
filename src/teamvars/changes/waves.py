"""Many changes in one transaction: looked up, decided and written together, wave after wave.

In a wave each look-up and each write is one statement for all of them, on PostgreSQL. Changes of
one stream are decided one after another, each by what the one before has left of the stream. What
they write is written together, and so no two in a wave write the same row, nor different things in
one stream; whoever would comes in the next wave, and looks up anew.

An engine with one writer needs one wave: each change is looked up and decided, and its row written,
once the one before has been.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.changes import Look, Tools, answered
from teamvars.changes.nouns import LOOK_UPS, STATEMENTS
from teamvars.changes.trails import Trail
from teamvars.decisions import Decision, Found, Need, Needs, Thought
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, CheckedStream, Stream
from teamvars.domain.errors import Fault, Refusal, storage_unavailable
from teamvars.storage import streams
from teamvars.storage.database import Lookup, Part, Row, Statement, Taken, Transaction
from teamvars.storage.deadlines import NONE, Deadline

T = TypeVar("T")

_MOST_WAVES = 8
"""Of a batch on PostgreSQL: each adds steps during which all its locks are held."""
_MOST_LOOKS = 8
"""Each further one means that somebody has changed the stream during the one before."""


class Change(msgspec.Struct, Generic[T], frozen=True):
    """What somebody asks for, and what decides it.

    With a `subject` it may share a transaction, and is made after what was asked of that before:
    the stream that its access look-up locks, or, where nobody knows that yet or nothing is locked,
    what else it is about. None: the decision says what is to be locked. `in_turns`: it may change
    many rows. `foreseen` are needs that it will hardly do without, each after those that it rests
    on: where it shares a transaction, they are looked up before it is decided at all.
    `is_admitted`: a look has shown already that the caller may be in the queue of writers.
    `is_brief`: it adds to one stream at most, and of all that it rests on no more needs to stay as
    it was looked up than that.
    """

    caller: Caller
    subject: str | None
    decide: Callable[[Found], Decision[T]]
    in_turns: bool = False
    foreseen: tuple[Need[Any], ...] = ()
    is_admitted: bool = False
    is_brief: bool = False


Known = dict[Need[Any], Any]
"""Answers that were found outside of any transaction: thoughts."""


class Attempt(Generic[T]):
    """A change to make by its deadline, and what has become of it in a transaction: `has_ended`
    once there is a `decision` or an `error`. `is_blocked`: somebody else has its stream locked.
    """

    def __init__(self, change: Change[T], known: Known, deadline: Deadline = NONE) -> None:
        self.change = change
        self.deadline = deadline
        self._known = known

    def begin(self, now: int) -> None:
        """Forgets what was found and decided, and that the streams are locked."""
        self.found = Found(self.change.caller, now, self._known.copy())
        self.access: Need[Any] | None = None
        self.looks = 0
        self.decision: Decision[T] | None = None
        self.error: Exception | None = None
        self.has_ended = self.is_blocked = False

    def fail(self, error: Exception) -> None:
        """It has come to that."""
        self.error = error
        self.has_ended = True

    def result(self) -> T:
        """What it has come to."""
        if self.error is not None:
            raise self.error
        assert self.decision is not None
        return self.decision.answer


async def run(tools: Tools, attempts: Sequence[Attempt[Any]], waits: bool, tx: Transaction) -> None:
    """Makes changes in their order. Those that neither end nor are blocked are for a later batch.

    `waits`: lookups wait for locks, so that none is blocked. Raises what a statement has raised
    that does not undo itself alone: nothing of this transaction may stay then.
    """
    if tx.has_one_writer:
        wave = _Wave(tx, tools, waits=waits)
        for attempt in attempts:
            attempt.begin(tools.clock())
            await wave.decide([attempt])
        await wave.write()
        return
    now = tools.clock()
    for attempt in attempts:
        attempt.begin(now)
    rest = some = attempts
    for _ in range(_MOST_WAVES):
        wave = _Wave(tx, tools, waits=waits)
        await wave.decide(some)
        await wave.write(is_alone=len(attempts) == 1)
        rest = [each for each in rest if not (each.has_ended or each.is_blocked)]
        if not rest or tx.writes_once:
            return
        ended = Counter(each.change.subject for each in some if each.has_ended)
        some = _within({each: 2 * max(ended[each], 1) for each in wave.full}, rest)
        now = tools.clock()
        for attempt in some:
            attempt.begin(now)


def _within(
    windows: Mapping[str | None, int], attempts: Sequence[Attempt[Any]]
) -> list[Attempt[Any]]:
    """Those that have a chance to be in a wave: of a subject of which the last one had room for few
    there are twice as many, lest all the others are looked up in vain.
    """
    seen: Counter[str | None] = Counter()
    some = []
    for attempt in attempts:
        subject = attempt.change.subject
        seen[subject] += 1
        if seen[subject] <= windows.get(subject, len(attempts)):
            some.append(attempt)
    return some


async def run_alone(tools: Tools, change: Change[T], known: Known, tx: Transaction) -> T:
    """Makes a change in a transaction of its own, whose lookups wait for locks. Raises Needs, of a
    thought.
    """
    attempt = Attempt(change, known)
    await run(tools, [attempt], True, tx)
    answer: T = attempt.result()
    return answer


_Asker = tuple[Attempt[Any], Need[Any]]
_Args = tuple[object, ...]
_SQL, _ARGS = attrgetter("sql"), attrgetter("args")


class _Group(msgspec.Struct):
    """What is written together of a wave: rows, by some statements for each decision, entries, and
    the streams of these.
    """

    rows: dict[Hashable, Sequence[_Args]] = {}
    """By what they are of: what says all of a row takes the place of what was said before."""
    entries: list[AuditEntry] = []
    after: dict[str, CheckedStream] = {}


class _Wave:
    """One wave: `decide`, then `write`."""

    def __init__(self, tx: Transaction, tools: Tools, *, waits: bool) -> None:
        self._tx = tx
        self._tools = tools
        self._waits = waits
        self._groups: dict[tuple[str, ...], _Group] = {}
        """By the statements for their rows; none: those are there already."""
        self._of_stream: dict[str, tuple[str, ...]] = {}
        """By stream, the statements that write about it."""
        self._rows: defaultdict[str | None, set[str | None]] = defaultdict(set)
        """By stream, the ids of the rows that are written."""
        self._streams: dict[str, CheckedStream] = {}
        """As what was decided so far leaves them."""
        self._found: Stream | None = None
        """The stream that was last added to, as it was found."""
        self._taken: Fault | None = None
        self.full: set[str | None] = set()
        """Subjects whose further changes are for the next wave."""
        self._blocked: set[str | None] = set()
        """Subjects whose streams others have locked."""

    async def decide(self, attempts: Sequence[Attempt[Any]]) -> None:
        """Has everything decided that can be in this wave."""
        asking: dict[type[Need[Any]], list[_Asker]] = {}
        for attempt in attempts:
            for need in attempt.change.foreseen:
                asking.setdefault(type(need), []).append((attempt, need))
        while True:
            for need_type, askers in asking.items():
                await self._answer(need_type, askers)
            asking = await self._decide_some(attempts)
            if not asking:
                return

    async def write(self, *, is_alone: bool = False) -> None:
        """Writes what was decided. Raises Taken, or refuses whoever is alone."""
        for sqls, group in self._groups.items():
            parts: list[Part] = [*zip(sqls, zip(*group.rows.values(), strict=True), strict=True)]
            if group.entries:
                parts += streams.appending(group.entries, group.after.values())
            if self._tx.writes_once:  # of one attempt, there is one group
                after = None if self._found is None else group.after[self._found.id]
                self._tx.write_if_unmoved(self._found, after, *parts)
                return
            try:
                await self._tx.write_each(*parts)
            except Taken:
                if is_alone and self._taken is not None:
                    raise Refusal(self._taken) from None
                raise

    async def _decide_some(
        self, attempts: Sequence[Attempt[Any]]
    ) -> dict[type[Need[Any]], list[_Asker]]:
        """Goes on as far as what was found allows for; returns what else is needed, by kind."""
        asking: dict[type[Need[Any]], list[_Asker]] = {}
        undecided = set()
        for attempt in attempts:
            subject = attempt.change.subject
            attempt.is_blocked = subject in self._blocked
            if attempt.has_ended or attempt.is_blocked or subject in self.full:
                continue
            # Whoever comes after one that asks is decided after it, and may ask meanwhile.
            for need in await self._decide(attempt, is_its_turn=subject not in undecided):
                asking.setdefault(type(need), []).append((attempt, need))
            if not attempt.has_ended:
                undecided.add(subject)
        return asking

    async def _decide(self, attempt: Attempt[Any], *, is_its_turn: bool) -> Sequence[Need[Any]]:
        """Decides it, by its stream as those before it leave that, or returns what it needs."""
        answers = attempt.found.answers
        if attempt.access is not None:
            granted = answers[attempt.access]
            if (after := self._streams.get(granted.stream.id)) is not None:
                answers[attempt.access] = replace(granted, stream=after)
        try:
            decision = attempt.change.decide(attempt.found)
            if is_its_turn:
                await self._take(attempt, decision)
        except Needs as needs:
            if not isinstance(needs.need, Thought):
                return (needs.need,)
            attempt.fail(needs)
        except Refusal as refusal:
            if is_its_turn:
                attempt.fail(refusal)
        return ()

    async def _take(self, attempt: Attempt[Any], decision: Decision[Any]) -> None:
        """Keeps what was decided, to be written; leaves what does not go with the others."""
        subject = attempt.change.subject
        stream_id = decision.notes[0].stream_id if decision.notes else None
        statements: list[Statement] = []
        row_ids: list[str | None] = []
        for write in decision.writes:
            is_written = stream_id is not None and write.row_id in self._rows[stream_id]
            if is_written and not write.says_all:  # and it was decided by that row
                self.full.add(subject)
                return
            statements.append(STATEMENTS[type(write)](self._tools, attempt.found, write))
            row_ids.append(write.row_id)
        sqls = () if self._tx.has_one_writer else tuple(map(_SQL, statements))
        if stream_id is not None and self._of_stream.setdefault(stream_id, sqls) != sqls:
            self.full.add(subject)
            return
        recorded = self._recorded(attempt.found, decision)
        if self._tx.has_one_writer:
            await self._write_rows(statements, decision)
        elif statements:
            place = attempt if None in row_ids else (stream_id, *row_ids)
            group = self._groups.setdefault(sqls, _Group())
            group.rows[place] = tuple(map(_ARGS, statements))
            self._rows[stream_id].update(row_ids)
            if None in row_ids:
                # Whatever else was looked up about the subject is out of date.
                self.full.add(subject)
        if recorded is not None:
            entry, after = recorded
            group = self._groups.setdefault(sqls, _Group())
            group.entries.append(entry)
            self._streams[after.id] = group.after[after.id] = after
        self._taken = decision.taken
        attempt.decision, attempt.has_ended = decision, True

    def _recorded(
        self, found: Found, decision: Decision[Any]
    ) -> tuple[AuditEntry, CheckedStream] | None:
        """The entry of what is noted, and the stream after it. Raises Needs; refuses:
        trail_altered.
        """
        if not decision.notes:
            return None
        (note,) = decision.notes
        trail = Trail(self._tools.chain, found.of)
        stream = self._streams.get(note.stream_id)
        if stream is None:
            self._found = found.streams[note.stream_id]
            stream = trail.check(self._found)
        (entry,), after = trail.extend(stream, [note.event], decision.usage)
        return entry, after

    async def _write_rows(self, statements: Sequence[Statement], decision: Decision[Any]) -> None:
        """Writes them at once, since the first undoes itself alone where its key is taken."""
        try:
            for statement in statements:
                await self._tx.write_each((statement.sql, [statement.args]))
        except Taken:
            if decision.taken is None:
                raise
            raise Refusal(decision.taken) from None

    async def _answer(self, need_type: type[Need[Any]], askers: list[_Asker]) -> None:
        """Looks up for all who ask. What rests on something that was not found stays unanswered:
        the decision asks for that first.
        """
        look = LOOK_UPS[need_type]
        if not isinstance(look, Look):
            for attempt, need in askers:
                try:
                    answer = await answered(look, self._tx, self._tools, attempt.found, need)
                except Needs:
                    continue
                attempt.found.answers[need] = answer
            return
        for lookup, (some, calls) in _by_lookup(look, askers).items():
            if look.locks:
                locked = await self._tx.lock_each(lookup, calls)
                for asker, (row, is_held) in zip(some, locked, strict=True):
                    self._note(look, asker, () if row is None else (row,), is_held)
            else:
                found = await self._tx.look_up_each(lookup, calls)
                for asker, rows in zip(some, found, strict=True):
                    self._note(look, asker, rows)

    def _note(
        self, look: Look, asker: _Asker, rows: Sequence[Row], is_held: bool | None = True
    ) -> None:
        """Notes what the rows say, or the refusal that they come to; an access as of the lock. Who
        has not the right needs none, to be refused.
        """
        attempt, need = asker
        found = attempt.found
        try:
            answer = look.read(found, need, rows)
        except Refusal as refusal:
            found.answers[need] = refusal
            return
        if not look.locks or answer is None or not answer.may_change:
            found.answers[need] = answer
        elif is_held:
            found.answers[need] = answer
            found.streams[answer.stream.id] = answer.stream
            attempt.access = need
        elif is_held is None and not self._waits:
            self._blocked.add(attempt.change.subject)
        else:
            found.now = self._tools.clock()  # whoever has changed the stream did so later
            attempt.looks += 1
            if attempt.looks == _MOST_LOOKS:
                attempt.fail(storage_unavailable())


def _by_lookup(
    look: Look, askers: Sequence[_Asker]
) -> dict[Lookup, tuple[list[_Asker], list[_Args]]]:
    """Who asks, and the parameters of each, by lookup."""
    found: dict[Lookup, tuple[list[_Asker], list[_Args]]] = {}
    for attempt, need in askers:
        try:
            lookup, args = look.ask(attempt.found, need)
        except (Needs, Refusal):
            continue
        some, calls = found.setdefault(lookup, ([], []))
        some.append((attempt, need))
        calls.append(args)
    return found
