"""Waves of changes: what is looked up, decided and written together, and what has to come later."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from teamvars.changes import Look, Tools, waves
from teamvars.changes.waves import Attempt, Change, run
from teamvars.decisions import Decision, Found, Need, Needs, Verdict, Write
from teamvars.domain.audit import HeldStream, Stream
from teamvars.domain.errors import Code, Fault, Refusal, forbidden, not_found
from teamvars.security import keyring
from teamvars.security.chain import Chain
from teamvars.storage.database import Statement, Taken
from tests.security.samples import VARIABLE
from tests.support.deployment import operator

CHAIN = Chain(keyring.generate())
NOTHING: Any = None
TOOLS = Tools(NOTHING, CHAIN, lambda: 7)
KEY_TAKEN = Fault(Code.KEY_TAKEN, "taken")


class Enter(Need[Any], frozen=True):
    """The access to a stream, which is locked for whoever may change it."""

    stream_id: str


class Seen(Need[Any], frozen=True):
    """Something that is looked up with that of others."""

    what: str


class Alone(Need[Any], frozen=True):
    """Something that is looked up by itself."""

    what: str


class Granted(msgspec.Struct, frozen=True):
    stream: Stream
    may_change: bool


class Put(Write, frozen=True):
    id: str | None
    sql: str = "put"
    is_whole: bool = False

    @property
    def row_id(self) -> str | None:
        return self.id

    @property
    def says_all(self) -> bool:
        return self.is_whole


def granted(rows: Sequence[Any]) -> Any:
    if not rows:
        raise not_found()
    return rows[0][0]


class Store:
    """A transaction: `held` says of streams whether their look-ups lock them, one after another."""

    def __init__(
        self, *, one_writer: bool = False, once: bool = False, **held: Sequence[bool | None]
    ) -> None:
        self.has_one_writer, self.writes_once = one_writer, once
        self.unmoved: list[Stream | None] = []
        self.asked: list[tuple[str, list[str]]] = []
        self.written: list[list[str | None]] = []
        self.taken: set[str] = set()
        self._held = {id_: list(each) for id_, each in held.items()}
        self._streams: dict[str, HeldStream] = {}

    async def lock_each(self, _: object, calls: Sequence[Any]) -> list[Any]:
        ids = [args[0] for args in calls]
        self.asked.append(("lock", ids))
        return [self._locked(id_) for id_ in ids]

    async def look_up_each(self, _: object, calls: Sequence[Any]) -> list[Any]:
        self.asked.append(("look", [args[0] for args in calls]))
        return [[args] for args in calls]

    def write_if_unmoved(self, stream: Stream | None, after: Stream | None, *parts: Any) -> None:
        self.unmoved.append(stream)
        self._write(*parts)
        assert after is None or self._streams[after.id].head == after.head

    async def write_each(self, *parts: Any) -> None:
        self._write(*parts)

    def _write(self, *parts: Any) -> None:
        assert all(some for _, some in parts), "no statement is without a row"
        rows = [row for sql, some in parts if sql in ("put", "set") for row in some]
        if self.taken & {row[0] for row in rows}:
            raise Taken
        entries = [entry for _, some in parts for entry in some if len(entry) > 10]
        moves = [row for _, some in parts for row in some if len(row) == 6]
        told = [f"{one.stream_id}:{one.sequence}" for one in entries]
        self.written.append([*(row[0] for row in rows), *told])
        for id_, sequence, link, head, *_ in moves:
            self._streams[id_] = replace(
                self._streams[id_], sequence=sequence, link=link, head=head
            )

    def _locked(self, id_: str) -> Any:
        if id_ == "gone":
            return None, None
        if id_ == "nobody":
            return (None,), None
        stream = self._streams.setdefault(id_, CHAIN.open(id_, "org-1"))
        held = self._held.get(id_)
        return (Granted(stream, id_ != "shown"),), held.pop(0) if held else True


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def alone(_: object, __: object, ___: object, need: Alone) -> str:
        return need.what

    lookups = {
        Enter: Look(
            lambda _, need: (NOTHING, (need.stream_id,)),
            lambda _, __, rows: granted(rows),
            locks=True,
        ),
        Seen: Look(lambda _, need: (NOTHING, (need.what,)), lambda _, __, rows: rows[0][0]),
        Alone: alone,
    }
    monkeypatch.setattr(waves, "LOOK_UPS", lookups)
    statement = {Put: lambda _, __, write: Statement(write.sql, (write.id,))}
    monkeypatch.setattr(waves, "STATEMENTS", statement)


def change(
    stream_id: str, *writes: Put, asks: Sequence[Need[Any]] = (), noted: bool = True, **more: Any
) -> Change[int]:
    """A change of a stream, which is answered by where it stood. It is refused where it stands at
    its beginning with `first`, and elsewhere with `refusal`.
    """
    first, refusal = more.pop("first", None), more.pop("refusal", None)
    taken = more.pop("taken", KEY_TAKEN)

    def decide(found: Found) -> Decision[int]:
        access = found.of(Enter(stream_id))
        if not access.may_change:
            raise forbidden("no")
        for need in asks:
            found.of(need)
        if first is not None and access.stream.sequence == 0:
            raise first
        if refusal is not None:
            raise refusal
        note = found.note(stream_id, "variable.create", VARIABLE.id, VARIABLE.audited())
        return Decision(access.stream.sequence, writes, (note,) if noted else (), taken=taken)

    return Change(operator(), stream_id, decide, **more)


def become(attempt: Attempt[Any]) -> object:
    """What has become of a change."""
    if not attempt.has_ended:
        return "blocked" if attempt.is_blocked else "later"
    if isinstance(attempt.error, Refusal):
        return attempt.error.faults[0].code.word
    return attempt.error or attempt.result()


async def outcomes(store: Store, *changes: Change[Any], waits: bool = False) -> list[object]:
    """What becomes of changes that share a transaction."""
    attempts = [Attempt(one, {}) for one in changes]
    tx: Any = store
    await run(TOOLS, attempts, waits, tx)
    return [become(one) for one in attempts]


A, B = Put("a"), Put("b")


async def test_what_goes_together_is_looked_up_and_written_together() -> None:
    store = Store()
    some = change("one", A), change("two", B), change("one", Put("c"))
    assert await outcomes(store, *some) == [0, 0, 1]
    assert store.asked == [("lock", ["one", "two", "one"])]
    assert store.written == [["a", "b", "c", "one:1", "two:1", "one:2"]]


@pytest.mark.parametrize(
    ("some", "written"),
    [
        ([change("one", A), change("one", A)], [["a", "one:1"], ["a", "one:2"]]),
        ([change("one", A), change("two", A)], [["a", "a", "one:1", "two:1"]]),
        (
            [change("one", A), change("one", Put("a", is_whole=True))],
            [["a", "one:1", "one:2"]],
        ),
        (
            [change("one", A), change("one", Put("b", "set"))],
            [["a", "one:1"], ["b", "one:2"]],
        ),
        ([change("one", Put(None)), change("one", B)], [[None, "one:1"], ["b", "one:2"]]),
        ([change("one", Put(None)), change("two", B)], [[None, "b", "one:1", "two:1"]]),
        ([change("one"), change("one")], [["one:1", "one:2"]]),
        ([change(id_, Put(None), noted=False) for id_ in ("one", "two")], [[None, None]]),
        ([change("one", A, noted=False), change("one", B, noted=False)], [["a", "b"]]),
        ([change("one", noted=False)], []),
    ],
)
async def test_who_would_write_the_same_row_or_otherwise_comes_in_the_next_wave(
    some: Sequence[Change[Any]], written: object
) -> None:
    store = Store()
    assert "later" not in await outcomes(store, *some)
    assert store.written == written


@pytest.mark.parametrize(
    ("held", "waits", "outcome", "times"),
    [
        ([True], False, 0, 1),
        ([None], False, "blocked", 1),
        ([None, True], True, 0, 2),
        ([False, False, True], False, 0, 3),
        ([False] * 8, False, "storage_unavailable", 8),
        ([False] * 7 + [True], True, 0, 8),
    ],
)
async def test_a_stream_that_others_have_is_looked_at_again_or_waited_for_later(
    held: Sequence[bool | None], waits: bool, outcome: object, times: int
) -> None:
    store = Store(one=held)
    assert await outcomes(store, change("one", A), change("two", B), waits=waits) == [outcome, 0]
    assert sum("one" in ids for _, ids in store.asked) == times
    assert any("a" in rows for rows in store.written) is (outcome == 0)


async def test_whoever_comes_after_one_who_is_blocked_is_blocked() -> None:
    store = Store(one=[None, True])
    assert await outcomes(store, change("one", A), change("one", B)) == ["blocked"] * 2
    assert store.written == []


@pytest.mark.parametrize(
    ("stream_id", "outcome"), [("gone", "not_found"), ("shown", "forbidden"), ("one", 0)]
)
async def test_who_is_refused_is_so_alone(stream_id: str, outcome: object) -> None:
    refused = change("one", refusal=forbidden("no"))
    some = change(stream_id, A), refused, change("two", B)
    store = Store(shown=[False] * 9)
    assert await outcomes(store, *some) == [outcome, "forbidden", 0]


async def test_what_is_not_there_yet_is_decided_by_that_with_nothing_locked() -> None:
    def decide(found: Found) -> Decision[object]:
        return Decision(found.of(Enter("nobody")), (A,))

    store, entering = Store(), Change(operator(), "nobody", decide)
    assert await outcomes(store, entering, change("two", B)) == [None, 0]
    assert store.written == [["a", "b", "two:1"]]


async def test_a_verdict_is_asked_for_outside_and_ends_the_attempt() -> None:
    asks = change("one", A, asks=[Verdict("1")])
    first, second = await outcomes(Store(), asks, change("one", B))
    assert isinstance(first, Needs)
    assert second == 0


async def test_each_is_decided_by_what_those_before_have_left() -> None:
    asks = change("one", A, asks=[Seen("x")])
    for second, outcome in (
        (change("one", B), 1),
        (change("one", B, first=forbidden("as long as nobody wrote")), 1),
        (change("one", B, refusal=forbidden("always")), "forbidden"),
    ):
        store = Store()
        assert await outcomes(store, asks, second) == [0, outcome]
        assert store.asked == [("lock", ["one", "one"]), ("look", ["x"])]


@pytest.mark.parametrize(("noted", "times"), [(True, 2), (False, 1)])
async def test_what_is_written_otherwise_about_a_stream_is_looked_up_anew(
    noted: bool, times: int
) -> None:
    store = Store()
    some = change("one", A, noted=noted), change("one", Put("b", "set"), noted=noted)
    await outcomes(store, *some)
    assert len(store.asked) == times


async def test_what_is_foreseen_is_looked_up_at_once_and_by_kind() -> None:
    needs = Enter("one"), Seen("x"), Alone("y")
    some = [change("one", one, asks=needs[1:], foreseen=needs) for one in (A, B)]
    store = Store()
    assert await outcomes(store, *some) == [0, 1]
    assert store.asked == [("lock", ["one", "one"]), ("look", ["x", "x"])]


async def test_there_are_so_many_waves_and_the_rest_is_for_later() -> None:
    store = Store()
    found = await outcomes(store, *(change("one", A) for _ in range(10)))
    assert found == [*range(8), "later", "later"]
    assert len(store.written) == 8


@pytest.mark.parametrize(
    ("some", "refused"),
    [
        ([change("one", A)], Refusal),
        ([change("one", A), change("two")], Taken),
        ([change("one", A, taken=None)], Taken),
    ],
)
async def test_whose_key_is_taken_is_told_so_where_they_are_alone(
    some: Sequence[Change[Any]], refused: type[Exception]
) -> None:
    store = Store()
    store.taken = {"a"}
    with pytest.raises(refused):
        await outcomes(store, *some)


async def test_one_writer_writes_rows_one_after_another_and_what_is_recorded_together() -> None:
    store = Store(one_writer=True)
    store.taken = {"b"}
    some = change("one", A), change("one", B), change("one", Put("c", "set")), change("two", A)
    assert await outcomes(store, *some) == [0, "key_taken", 1, 0]
    assert store.written == [["a"], ["c"], ["a"], ["one:1", "one:2", "two:1"]]
    assert store.asked == [("lock", [id_]) for id_ in ("one", "one", "one", "two")]


async def test_whoever_writes_once_does_so_where_the_stream_is_as_it_was_found() -> None:
    store = Store(once=True)
    found = CHAIN.open("one", "org-1")
    assert await outcomes(store, change("one", A)) == [0]
    assert (store.unmoved, store.written) == ([found], [["a", "one:1"]])
    store = Store(once=True, one=[None, True])
    assert await outcomes(store, change("one", A)) == ["blocked"]
    assert store.unmoved == []


async def test_one_writer_raises_what_nobody_has_a_word_for() -> None:
    store = Store(one_writer=True)
    store.taken = {"a"}
    with pytest.raises(Taken):
        await outcomes(store, change("one", A, taken=None))
