"""How one change locks streams and adds to them."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from teamvars.changes import Look, Tools, making
from teamvars.changes.making import MOST_KNOWN, Changes, KnownCallers
from teamvars.changes.variables import LOOK_UPS
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found
from teamvars.decisions.needs import Unclaimed
from teamvars.decisions.variables import ToWorkspace, ValueOf, VariableOf
from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import Fault, Refusal, forbidden, not_found, storage_unavailable
from teamvars.domain.keys import Sealed
from teamvars.domain.tokens import OwnerName
from teamvars.domain.variables import StoredVariable
from teamvars.storage import streams, users
from teamvars.storage.database import Transaction
from tests.security.samples import VARIABLE
from tests.services.calls import Calls, caller
from tests.services.test_rechecks import waits
from tests.support.deployment import Deployment, operator
from tests.support.tenant import build_tenant

T = TypeVar("T")


async def made(calls: Calls, decide: Callable[[Found], Decision[T]]) -> T:
    """What an operator gets whose request is decided so."""

    async def parse(_: str, texts: Sequence[str]) -> Sequence[Fault | None]:
        return [None] * len(texts)

    changes = Changes(calls.services.database, calls.tools, parse)
    return await changes.make(Change(operator(), None, decide))


def test_who_passed_a_check_is_known_there_until_many_others_were_seen_since() -> None:
    known, somebody, other = KnownCallers(), Caller(b"1", "req-1"), Caller(b"2", "req-1")
    known.note(somebody, "ws-0")
    assert [known.knows(one, "ws-0") for one in (somebody, other)] == [True, False]
    assert not known.knows(somebody, "ws-1")
    for number in range(1, MOST_KNOWN):
        known.note(other, f"ws-{number}")
    assert known.knows(somebody, "ws-0")  # and so is no longer the one seen longest ago
    known.note(other, "one more")
    assert known.knows(somebody, "ws-0")
    assert not known.knows(other, "ws-1")
    known.forget(somebody, "ws-0")
    assert not known.knows(somebody, "ws-0")


async def test_a_sensitive_value_is_opened_for_no_decision() -> None:
    variable, look_up = VariableOf(ToWorkspace("ws-1"), "var-1"), LOOK_UPS[ValueOf]
    found = Found(operator(), 0)
    found.answers[variable] = StoredVariable(
        replace(VARIABLE, sensitive=True), Sealed(b"sealed", 1), 6
    )
    assert not isinstance(look_up, Look)
    nothing: Any = None  # neither a store nor a key is asked
    assert await look_up(nothing, nothing, found, ValueOf(variable)) is None


async def test_it_is_decided_again_until_all_that_is_asked_for_is_locked(calls: Calls) -> None:
    first, second = calls.tenant.teams["crew"], calls.tenant.teams["secret"]
    asked = iter([[first], [first, second], [second], ["never asked for"]])

    def decide(found: Found) -> Decision[set[str]]:
        found.require_locked(next(asked))
        return Decision(set(found.streams))

    assert await made(calls, decide) == {first, second}
    assert next(asked) == ["never asked for"]


async def test_what_is_recorded_is_decided_under_the_lock_of_its_stream(calls: Calls) -> None:
    team, seen = calls.tenant.teams["crew"], []
    details = {"organization-memberships": ["ou-1"]}

    def decide(found: Found) -> Decision[None]:
        seen.append(set(found.streams))
        actions = ("member.add", "member.remove")
        return Decision(None, notes=tuple(found.note(team, a, team, details) for a in actions))

    before = await sequence_of(calls, team)
    await made(calls, decide)
    assert seen == [set(), {team}]
    assert await sequence_of(calls, team) == before + 2
    assert await calls.node.audit_holds()


async def test_what_is_gone_before_it_is_locked_is_not_found(calls: Calls) -> None:
    def decide(found: Found) -> Decision[None]:
        found.require_locked(["team-gone"])
        return Decision(None)

    with pytest.raises(Refusal):
        await made(calls, decide)


async def test_nobody_is_taken_for_unclaimed_who_is_claimed_or_not_locked_by_then(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, unclaimed, new = (calls.tenant.users[who] for who in ("plain", "reader", "writer"))
    looks = iter([[claimed, unclaimed], [unclaimed, new]])

    async def looked(*_: object) -> list[str]:
        return next(looks)

    monkeypatch.setattr(users, "unclaimed", looked)
    found = await made(calls, lambda found: Decision(found.of(Unclaimed(0))))
    assert list(found) == [unclaimed]


async def test_what_changes_nothing_locks_nothing(calls: Calls) -> None:
    def decide(found: Found) -> Decision[set[str]]:
        return Decision(set(found.streams))

    assert await made(calls, decide) == set()


async def test_streams_are_locked_in_the_order_of_their_ids_and_of_those_there_are(
    calls: Calls,
) -> None:
    ids = calls.tenant.teams.values()
    found = await calls.services.database.write(lambda tx: streams.lock(tx, [SYSTEM_STREAM, *ids]))
    assert list(found) == [*sorted(ids), SYSTEM_STREAM]


async def test_an_organization_that_waits_to_go_holds_up_nobody_of_another(
    own_nodes: tuple[Deployment, Deployment], migrated_postgres: str
) -> None:
    """It waits for a workspace. Tokens elsewhere need the system's stream."""
    deployment, node = own_nodes
    tenant = await build_tenant(deployment)
    going = caller(tenant, "owner"), tenant.organization
    (outsider,) = Calls(tenant).named("outsider")

    async def body(tx: Transaction) -> asyncio.Task[None]:
        await streams.lock(tx, [tenant.workspaces["network"]])
        deleting = asyncio.create_task(deployment.services.organizations.delete(*going, force=True))
        await waits(migrated_postgres, deleting)
        await node.services.tokens.create(operator(), OwnerName(user=outsider), None)
        assert not deleting.done()
        return deleting

    await (await node.services.database.write(body))
    assert await deployment.audit_holds()


async def sequence_of(calls: Calls, stream_id: str) -> int:
    """How many entries the stream has."""
    stream = await calls.services.database.read(lambda tx: streams.find(tx, stream_id))
    assert stream is not None
    return stream.sequence


class Queue:
    """A database and its batches: `asked` says by what a change came, and whether it was looked at
    before. It is its own answer to who may change something.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.may_change = True
        self.refusal: Refusal | None = None
        look = Look(lambda *_: (NOTHING, ()), lambda *_: self)
        monkeypatch.setattr(making, "LOOK_UPS", {ToWorkspace: look})

    async def query(self, body: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        self.asked.append("look")
        tx: Any = self
        return await body(tx)

    async def look_up_each(self, *_: object) -> list[Any]:
        return [()]

    async def write(self, _: object, *, subject: str | None = None) -> None:
        self.asked.append("write" if subject is None else f"write {subject}")
        if self.refusal is not None:
            raise self.refusal

    async def write_in_turns(self, _: object) -> None:
        self.asked.append("turns")

    async def make(self, *_: object) -> None:
        self.asked.append("batch")
        if self.refusal is not None:
            raise self.refusal


NOTHING: Any = None


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(monkeypatch)


@pytest.fixture
def make(queue: Queue) -> Callable[..., Coroutine[Any, Any, None]]:
    """Makes a change of a workspace."""
    database: Any = queue
    changing = Changes(database, Tools(NOTHING, NOTHING, lambda: 7), NOTHING)
    changing._batches = database

    async def make(*, has_key: bool = False, subject: str | None = "ws-1", **more: Any) -> None:
        def decide(found: Found) -> Decision[None]:
            if not found.of(ToWorkspace("ws-1")).may_change:
                raise forbidden("no")
            found.of(VariableOf(ToWorkspace("ws-1"), "var-1"))  # which nobody looks up before
            return Decision(None)

        who = Caller(b"hash", "req-1", operator().actor, has_key=has_key)
        await changing.make(Change(who, subject, decide, **more))

    return make


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({}, ["look", "batch"]),
        ({"is_admitted": True}, ["batch"]),
        ({"has_key": True}, ["look", "write ws-1"]),
        ({"subject": None}, ["write"]),
        ({"subject": None, "in_turns": True}, ["turns"]),
    ],
)
async def test_whoever_has_the_right_is_looked_at_once_and_comes_into_the_queue(
    queue: Queue, make: Any, change: dict[str, Any], asked: list[str]
) -> None:
    await make(**change)
    assert queue.asked == asked
    await make(**change)
    assert queue.asked == [*asked, *(one for one in asked if one != "look")]


async def test_who_has_not_the_right_is_never_in_the_queue(queue: Queue, make: Any) -> None:
    queue.may_change = False
    for _ in range(2):
        with pytest.raises(Refusal):
            await make()
    assert queue.asked == ["look", "look"]


@pytest.mark.parametrize(
    ("refusal", "looks"), [(forbidden("no"), 2), (not_found(), 2), (storage_unavailable(), 1)]
)
@pytest.mark.parametrize("has_key", [False, True])
async def test_who_has_lost_the_right_is_looked_at_again(
    queue: Queue, make: Any, refusal: Refusal, looks: int, *, has_key: bool
) -> None:
    for queue.refusal in (refusal, None):
        with suppress(Refusal):
            await make(has_key=has_key)
    assert queue.asked.count("look") == looks
