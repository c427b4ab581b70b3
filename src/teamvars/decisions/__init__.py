"""What becomes of a request, decided by what was found and by nothing else.

A decision is a function: `decide(found, …) -> Decision`. It awaits nothing, and knows no store,
clock or chance: fresh ids are arguments, and the time is that of what was found. It asks `Found.of`
for what it decides by. What was not looked up yet it raises as `Needs`; `changes` looks that up and
calls it again, from the start. So the look before a change, the change, its dry run and its repeat
under an `Idempotency-Key` are one function, which can be tested without a store.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.audit import ACTIONS, Event, Stream
from teamvars.domain.errors import Fault, Refusal, not_found
from teamvars.domain.workspaces import Usage
from teamvars.kernel import Discreet

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
Answer = TypeVar("Answer", covariant=True)


class Need(msgspec.Struct, Generic[Answer], frozen=True):
    """What a decision asks for, by what the store finds it by, with what it is answered by.

    `changes` knows for each kind how it is looked up.
    """


class Locks(Need[Mapping[str, Stream]], frozen=True):
    """Streams that are to be locked before anything more is asked."""

    stream_ids: frozenset[str]


class Thought(Need[Answer], frozen=True):
    """What follows from itself, whatever the store has, and takes long: nobody waits for it with a
    lock.
    """


class Verdict(Discreet, Thought[Fault | None], frozen=True):
    """Whether a text parses as code: the fault if not, which points nowhere yet."""

    text: str


class Needs(Exception):
    """A decision takes what was not looked up yet. `need` is the first of `needs`."""

    def __init__(self, *needs: Need[Any]) -> None:
        self.needs = needs
        self.need = needs[0]


class Write(msgspec.Struct, frozen=True):
    """One change of rows; each kind says of what. `changes` knows the statement of each."""

    @property
    def row_id(self) -> str | None:
        """The only row that it changes and was decided by; None: there are more."""
        return None

    @property
    def says_all(self) -> bool:
        """Whether it says all of its row, and was not decided by it: nobody misses another write of
        that row just before.
        """
        return False


class Note(msgspec.Struct, frozen=True):
    """An event for the trail, and the stream that it goes into, which is locked by then."""

    stream_id: str
    event: Event

    @property
    def closes(self) -> list[str]:
        """The streams that end with it. Where they end is told with its entry."""
        closes: list[str] = self.event.details.get("closes", [])  # type: ignore[assignment]
        return closes


class Found(msgspec.Struct, eq=False):
    """What a decision knows: who asks, the time of the look-up in µs UTC, what was found so far,
    and the streams that are locked. An answer may be the refusal with which the look-up ended.
    """

    caller: Caller
    now: int
    answers: dict[Need[Any], Any] = {}
    streams: dict[str, Stream] = {}

    def of(self, need: Need[T]) -> T:
        """What was found. Raises Needs before the look-up, and refuses as the look-up did."""
        try:
            answer: T | Refusal = self.answers[need]
        except KeyError:
            raise Needs(need) from None
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def require_locked(self, stream_ids: Iterable[str]) -> None:
        """Raises Needs unless the streams are locked; what was found before is asked again then.

        One that has ended by then may be wanted no longer. Refuses: not found, where it still is.
        """
        missing = frozenset(id_ for id_ in stream_ids if id_ not in self.streams)
        if missing:
            self.of(Locks(missing))
            raise not_found()

    def forget(self) -> None:
        """Has everything asked again but what does not change."""
        self.answers = {
            need: answer for need, answer in self.answers.items() if isinstance(need, Thought)
        }

    def event(self, action: str, subject_id: str, details: Mapping[str, object]) -> Event:
        """What the caller does, at the time of the look-up; an action of `ACTIONS`."""
        caller = self.caller
        assert caller.actor is not None  # every change comes after its access check
        subject = ACTIONS[action].subject_type, subject_id
        said = caller.actor, caller.request_id, action, *subject, details
        return Event(*said, self.now, caller.address)

    def note(
        self, stream_id: str, action: str, subject_id: str, details: Mapping[str, object]
    ) -> Note:
        """As `event`, for the trail of a stream."""
        return Note(stream_id, self.event(action, subject_id, details))


class Decision(msgspec.Struct, Generic[T], frozen=True):
    """What becomes of a request: its answer, what is written, and what is recorded, in order.

    `opens` are the streams that begin, each with the id of its organization. `usage` is what the
    workspace holds afterwards, whose stream is the only one. `taken` is the fault where a key or
    name that is written is another's.
    """

    answer: T
    writes: tuple[Write, ...] = ()
    notes: tuple[Note, ...] = ()
    opens: Mapping[str, str] = {}
    usage: Usage | None = None
    taken: Fault | None = None

    @property
    def streams(self) -> set[str]:
        """Those that are to be locked: that go on or end."""
        noted = {id_ for note in self.notes for id_ in (note.stream_id, *note.closes)}
        return noted - self.opens.keys()


class Insert(Write, frozen=True):
    """A row that is new: a record of a kind that `storage.tables` knows."""

    row: msgspec.Struct


class Update(Write, frozen=True):
    """A row becomes another; what is the same in both is not written."""

    before: msgspec.Struct
    after: msgspec.Struct


class Delete(Write, frozen=True):
    """Rows of a kind go, by their keys, and all that belongs to them."""

    kind: type[msgspec.Struct]
    keys: tuple[str, ...]


def rewritten(kind: type[S], before: Mapping[str, S], after: Mapping[str, S]) -> list[Write]:
    """What is written where there are other rows of a kind than before, all by their keys."""
    gone = tuple(key for key in before if key not in after)
    new = {key: row for key, row in after.items() if before.get(key) != row}
    puts = (Update(before[key], row) if key in before else Insert(row) for key, row in new.items())
    return [*([Delete(kind, gone)] if gone else []), *puts]


def together(answer: T, *parts: Decision[Any]) -> Decision[T]:
    """All that the parts write and record, in their order, with one answer.

    A name that is another's already is that of the first part that can have one.
    """
    return Decision(
        answer,
        writes=tuple(write for part in parts for write in part.writes),
        notes=tuple(note for part in parts for note in part.notes),
        opens={id_: whose for part in parts for id_, whose in part.opens.items()},
        taken=next((part.taken for part in parts if part.taken is not None), None),
    )


def others(
    before: Mapping[str, object], after: Mapping[str, object], more: Iterable[str] = ()
) -> dict[str, object]:
    """What an entry says of something that is there already: how it is now, and what of it is
    another than before, with the names of `more` that is.
    """
    changed = [name for name in after if after[name] != before[name]]
    return {**after, "changed": [*changed, *more]}


def closes(*stream_ids: str) -> dict[str, object]:
    """What the entry above says of streams that end."""
    return {"closes": list(stream_ids)}


def opens(stream_id: str) -> dict[str, object]:
    """What the entry above says of a stream that begins."""
    return {"opens": [stream_id]}
