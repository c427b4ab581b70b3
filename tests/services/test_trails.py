"""The only way to an entry, without a store: what goes on in which stream, and what is told."""

from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from teamvars.changes import trails
from teamvars.changes.trails import Alarm, LastNumber, Trail
from teamvars.decisions import Needs
from teamvars.domain.audit import (
    ACTIONS,
    Actor,
    AlteredStream,
    Event,
    HeldStream,
    Stream,
)
from teamvars.domain.errors import NAME_TAKEN, TRAIL_ALTERED, Refusal
from teamvars.security import keyring
from teamvars.security.chain import Chain

CHAIN = Chain(keyring.generate())


def event(action: str) -> Event:
    """An event that takes away, or one that does not."""
    subject = ACTIONS[action].subject_type, "one"
    return Event(Actor.operator("root"), "req-1", action, *subject, {}, 7)


TAKING, GIVING = event("grant.remove"), event("project-grant.put")
HELD = CHAIN.open("one", "org-1")
OTHER = CHAIN.open("two", "org-1")
ALTERED: Any = CHAIN.check(Stream("one", "org-1", 3, b"link", b"no head"))


def trail(last: int | None = None) -> Trail:
    """A trail in whose streams that is the last entry."""
    return Trail(CHAIN, lambda _: last)


def refused(ask: Any, *asked: Any) -> str:
    """The stream that is named."""
    with pytest.raises(Refusal) as refusal:
        ask(*asked)
    (fault,) = refusal.value.faults
    assert fault.code is TRAIL_ALTERED.code
    return str((fault.meta or {})["stream"])


def test_what_holds_goes_on_by_every_kind_of_entry() -> None:
    assert TAKING.only_takes_away
    assert not GIVING.only_takes_away
    for said in ([TAKING], [GIVING], [TAKING, GIVING]):
        entries, after = trail().extend(HELD, said)
        assert [entry.action for entry in entries] == [one.action for one in said]
        assert isinstance(after, HeldStream)
        assert CHAIN.head_holds(after)
    assert trail().extend(HELD, []) == ([], HELD)
    assert trail().end(HELD) == HELD


@pytest.mark.parametrize("last", [None, 2, 3, 5])
def test_what_was_altered_goes_on_by_what_takes_away_alone_and_carries_the_break(
    last: int | None,
) -> None:
    assert isinstance(ALTERED, AlteredStream)
    (entry,), after = trail(last).extend(ALTERED, [TAKING])
    assert entry.sequence > max(ALTERED.sequence, last or 0)
    assert isinstance(after, AlteredStream)
    assert not CHAIN.head_holds(after)
    for ask, asked in (
        (trail(5).extend, (ALTERED, [GIVING])),
        (trail(5).extend, (ALTERED, [TAKING, GIVING])),
        (trail(5).end, (ALTERED,)),
    ):
        assert refused(ask, *asked) == "one"
    assert trail(5).extend(ALTERED, []) == ([], ALTERED)


def test_a_request_that_does_more_than_take_away_goes_on_nowhere_once_a_stream_is_altered() -> None:
    first = trail(5)
    first.extend(ALTERED, [TAKING])
    assert refused(first.extend, OTHER, [GIVING]) == "one"
    second = trail(5)
    second.extend(OTHER, [GIVING])
    assert refused(second.extend, ALTERED, [TAKING]) == "one"
    third = trail(5)
    third.extend(ALTERED, [TAKING])
    assert refused(third.end, OTHER) == "one"
    fourth = trail(5)
    fourth.extend(ALTERED, [TAKING])
    fourth.extend(OTHER, [TAKING])
    put_back = trail(1)
    put_back.extend(OTHER, [GIVING])
    assert refused(put_back.extend, HELD, [TAKING]) == "one"
    untouched = trail(5)
    untouched.extend(ALTERED, [])
    untouched.extend(OTHER, [GIVING])


@pytest.mark.parametrize(("last", "goes_on"), [(None, True), (0, True), (1, False)])
def test_a_row_that_was_put_back_below_its_entries_does_not_hold(
    last: int | None, goes_on: bool
) -> None:
    assert trail(last).holds(HELD) is goes_on
    _, after = trail(last).extend(HELD, [TAKING])
    assert isinstance(after, HeldStream) is goes_on
    assert not trail(last).holds(ALTERED)


def test_the_last_entry_is_asked_for_only_where_it_matters() -> None:
    def last(asked: LastNumber) -> int | None:
        raise Needs(asked)

    asking = Trail(CHAIN, last)
    asking.extend(HELD, [GIVING])
    asking.extend(HELD, [])
    with pytest.raises(Needs):
        asking.holds(HELD)


def test_a_stream_that_does_not_hold_is_told_once_and_again_when_too_many_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trails, "_MOST_REMEMBERED", 2)
    alarm = Alarm()
    with capture_logs() as logs:
        for stream in ("one", "one", "two", "one", "three", "one"):
            alarm.raise_for(stream)
    assert [line["stream"] for line in logs] == ["one", "two", "three", "one"]


def test_a_refusal_is_heard_where_it_names_an_altered_stream() -> None:
    alarm = Alarm()
    with capture_logs() as logs:
        alarm.hear(Refusal(NAME_TAKEN.filled(what="a team")))
        alarm.hear(Refusal(replace(NAME_TAKEN, meta={"stream": "one"})))
        alarm.hear(Refusal(TRAIL_ALTERED.filled({"stream": "two"})))
    assert [line["stream"] for line in logs] == ["two"]


def test_who_finds_a_stream_altered_tells_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trails, "ALARM", Alarm())
    with capture_logs() as logs:
        assert trail().check(OTHER) == OTHER
        trail().check(ALTERED)
        trail(1).holds(OTHER)
    assert [line["stream"] for line in logs] == ["one", "two"]
    with capture_logs() as logs:
        trail().check(CHAIN.open("three", "org-1"))
    assert logs == []
