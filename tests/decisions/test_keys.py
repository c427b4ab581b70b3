"""What becomes of requests to add, activate or retire a key."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Needs, Update
from teamvars.decisions.keys import LiveNodes, NotedKeys, activate, add, retire, rotate
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.keys import AUDIT, MASTER, SERVER, KeyRefused, Node, NotedKey, NotedServerKey
from tests.decisions.directory import NOW, OPERATOR, actions, found

MADE = NotedKey("key-2", MASTER, b"check", NOW)
NOTED = replace(MADE, created_at=1)
OTHER = NotedKey("key-0", MASTER, b"other", 1, 1)
FORMER = NotedKey("key-1", MASTER, b"former", NOW, NOW)
SERVER_KEYS = [
    NotedServerKey("key-2", SERVER, b"check", NOW),
    NotedServerKey("key-1", SERVER, b"former", NOW, NOW),
]
OLD, BOTH = frozenset({"key-1"}), frozenset({"key-1", "key-2"})


def keys(noted: NotedKey | None, *nodes: Node) -> Found:
    """What there is of `key-2`, and of nodes that serve."""
    known = {} if noted is None else {noted.id: noted}
    answers = {NotedKeys(): known, LiveNodes(): nodes}
    return found(answers, actor=OPERATOR, locked=(SYSTEM_STREAM,))


def adding(known: Found, active: str | None = "key-1") -> Decision[None]:
    return add(known, MASTER, ("key-2", b"check"), None if active is None else (active, b"former"))


def rotating(known: Found, active: str | None = "key-1") -> Decision[None]:
    return rotate(
        known, "thumb", ("key-2", b"check"), None if active is None else (active, b"former")
    )


def activating(known: Found, purpose: str = MASTER) -> Decision[None]:
    return activate(known, purpose, "key-2", "key-1")


def retiring(known: Found, purpose: str = MASTER, *, leaked: bool = False) -> Decision[None]:
    return retire(known, purpose, "key-2", leaked=leaked)


@pytest.mark.parametrize("decide", [adding, rotating, activating, retiring])
def test_keys_are_changed_under_the_lock_of_the_system(decide: Callable[[Found], object]) -> None:
    with pytest.raises(Needs) as needs:
        decide(found({NotedKeys(): {}, LiveNodes(): ()}, actor=OPERATOR))
    assert getattr(needs.value.need, "stream_ids", None) == {SYSTEM_STREAM}


@pytest.mark.parametrize(
    ("decision", "action", "writes", "more"),
    [
        (adding(keys(OTHER)), "add", (Insert(MADE),), {}),
        (adding(keys(None)), "add", (Insert(FORMER), Insert(MADE)), {}),
        (adding(keys(None), None), "add", (Insert(MADE),), {}),
        (
            activating(keys(NOTED)),
            "activate",
            (Update(NOTED, replace(NOTED, activated_at=NOW)),),
            {"former": "key-1"},
        ),
        (retiring(keys(NOTED)), "retire", (Delete(NotedKey, ("key-2",)),), {}),
        (
            retiring(keys(NOTED), AUDIT, leaked=True),
            "retire",
            (Update(NOTED, replace(NOTED, retired_at=NOW)),),
            {"leaked": True},
        ),
        (
            retiring(keys(SERVER_KEYS[0]), SERVER),
            "retire",
            (Delete(NotedServerKey, ("key-2",)),),
            {},
        ),
        (retiring(keys(None)), "retire", (), {}),
    ],
)
def test_what_becomes_of_a_key_is_recorded_and_noted_where_something_is_under_it(
    decision: Decision[Any], action: str, writes: Any, more: dict[str, object]
) -> None:
    assert decision.writes == writes
    assert actions(decision) == [(SYSTEM_STREAM, f"key.{action}")]
    (note,) = decision.notes
    assert note.event.subject_id == "key-2"
    details = dict(note.event.details)
    assert details.pop("purpose") in (MASTER, AUDIT, SERVER)
    assert details == more


@pytest.mark.parametrize(
    ("active", "writes", "more"),
    [("key-1", [SERVER_KEYS[1], SERVER_KEYS[0]], {"former": "key-1"}), (None, SERVER_KEYS[:1], {})],
)
def test_a_server_key_is_recorded_with_the_one_that_it_takes_the_place_of(
    active: str | None, writes: list[NotedKey], more: dict[str, str]
) -> None:
    decision = rotating(keys(OTHER), active)
    assert decision.writes == tuple(map(Insert, writes))
    (note,) = decision.notes
    assert (note.event.action, note.event.subject_id) == ("server-key.rotate", "key-2")
    assert note.event.details == {"thumbprint": "thumb", **more}


def test_no_key_is_activated_that_a_node_lacks_and_none_retired_that_one_uses() -> None:
    has = Node("n-1", "here", BOTH, OLD)
    lacks, other = Node("n-2", "there", OLD, OLD), Node("n-3", "elsewhere", OLD, OLD)
    activating(keys(NOTED, has))
    with pytest.raises(KeyRefused, match="there serves without it"):
        activating(keys(NOTED, has, lacks))
    with pytest.raises(KeyRefused, match="there and elsewhere serve without it"):
        activating(keys(NOTED, has, lacks, other))
    retiring(keys(NOTED, has))
    with pytest.raises(KeyRefused, match="here serves with it"):
        retiring(keys(NOTED, replace(has, active=BOTH), lacks))


@pytest.mark.parametrize("noted", [None, replace(NOTED, retired_at=5)])
def test_no_key_is_activated_that_was_retired_meanwhile(noted: NotedKey | None) -> None:
    with pytest.raises(KeyRefused, match=r"key-2 was retired. Add another: .* keys add master"):
        activating(keys(noted))


def test_the_key_that_was_activated_last_of_its_purpose_is_not_retired() -> None:
    known = keys(replace(NOTED, activated_at=5))
    others = {
        "key-1": replace(NOTED, id="key-1", activated_at=2),
        "key-3": replace(NOTED, id="key-3"),
        "key-4": replace(NOTED, id="key-4", purpose=AUDIT, activated_at=9),
    }
    known.answers[NotedKeys()] |= others
    with pytest.raises(KeyRefused, match="key-2 is in use"):
        retiring(known, leaked=True)
    known.answers[NotedKeys()] |= {"key-3": replace(others["key-3"], activated_at=6)}
    assert retiring(known).writes
