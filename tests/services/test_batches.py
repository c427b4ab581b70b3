"""Changes that share a transaction on PostgreSQL: each has its own outcome, whatever others do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from asyncpg import exceptions as pg

from teamvars.changes.batches import (
    LOCK_WAITERS,
    RETRY_SECONDS,
    Batches,
    Waiting,
    _SubjectQueue,
)
from teamvars.changes.trails import OwnTrail
from teamvars.changes.waves import Attempt, Change, _within
from teamvars.decisions import Decision, Found
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.applies import ApplyDraft, CopyDraft, ItemDraft, OnConflict
from teamvars.domain.audit import AuditEntry
from teamvars.domain.directory import TagsEntry
from teamvars.domain.errors import OUTCOME_UNKNOWN, Refusal, not_found, storage_unavailable
from teamvars.domain.variable_sets import OwnedVariable
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.security.chain import Chain
from teamvars.storage import organizations, streams
from teamvars.storage.database import Locked, Transaction
from teamvars.storage.deadlines import NONE, Deadline
from teamvars.storage.engines import coalescing, poolers, postgres
from teamvars.storage.engines.coalescing import BATCH_LIMIT, Waiter
from tests.services.calls import Calls, caller, count, draft, refusal_of
from tests.services.jobs import Job, approve, propose
from tests.storage.proxy import way_to
from tests.storage.stores import fresh_postgres, words
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.patience import HANGS
from tests.support.postgres import Postgres
from tests.support.tenant import Tenant, build_tenant

WORKSPACES = [f"s{number}" for number in range(8)]
LETTERS = "abcdefgh"

Making = asyncio.Task[OwnedVariable]


class Crowd:
    """An owner who does much at the same time in workspaces of one store."""

    def __init__(self, calls: Calls, ids: Mapping[str, str]) -> None:
        self.calls = calls
        self.variables = calls.services.variables
        self.ids = ids

    def make(self, key: str, workspace: str = "s0", who: str = "owner") -> Making:
        """A variable is being made."""
        place = caller(self.calls.tenant, who), ToWorkspace(self.ids[workspace])
        made = self.variables.create(*place, draft(key))
        return asyncio.create_task(made)

    def make_each(self, workspaces: Iterable[str] = WORKSPACES, key: str = "x") -> list[Making]:
        """One is being made in each workspace."""
        return [self.make(key, workspace) for workspace in workspaces]

    def make_all(self, keys: Iterable[str]) -> list[Making]:
        """All are being made in the first workspace."""
        return [self.make(key) for key in keys]

    def update(self, id_: str, who: str = "owner", workspace: str = "s0", **said: Any) -> Making:
        """A variable is being changed."""
        place = caller(self.calls.tenant, who), ToWorkspace(self.ids[workspace]), id_
        patch = VariableDraft(**said)
        return asyncio.create_task(self.variables.update(*place, patch, ANY_VERSION))

    def delete(self, id_: str) -> "asyncio.Task[None]":
        """One of the first workspace is being deleted."""
        place = caller(self.calls.tenant, "owner"), ToWorkspace(self.ids["s0"]), id_
        return asyncio.create_task(self.variables.delete(*place, ANY_VERSION))

    async def keys(self) -> dict[str, str]:
        """By workspace, the keys in the order in which its trail has their creation."""
        return {
            name: "".join(key for _, key in await self._created(id_))
            for name, id_ in self.ids.items()
        }

    async def transactions(self, *keys: str) -> list[str]:
        """The transactions that have written variables with these keys, each once."""

        async def body(tx: Transaction) -> list[str]:
            rows = await tx.fetch(
                "SELECT key, CAST(xmin AS TEXT) FROM variables WHERE workspace_id IN {each $1}",
                self._all_ids(),
            )
            return sorted({xmin for key, xmin in rows if key in keys})

        return await self.calls.services.database.read(body)

    async def holds(self) -> bool:
        """Whether the trail of each does."""
        return await self.calls.node.audit_holds()

    async def _created(self, id_: str) -> list[tuple[int, str]]:
        async def body(tx: Transaction) -> list[tuple[int, str]]:
            rows = await tx.fetch(
                "SELECT sequence, key FROM audit_entries "
                "JOIN variables ON variables.id = audit_entries.subject_id "
                "WHERE stream_id = $1 AND action = 'variable.create' ORDER BY sequence",
                id_,
            )
            return [(sequence, key) for sequence, key in rows if key != "known"]

        return await self.calls.services.database.read(body)

    def _all_ids(self) -> str:
        return "[" + ", ".join(f'"{id_}"' for id_ in self.ids.values()) + "]"


async def ids_of(tenant: Tenant, names: Sequence[str]) -> dict[str, str]:
    """The ids of workspaces of the tenant."""

    async def body(tx: Transaction) -> dict[str, str]:
        rows = await tx.fetch(
            "SELECT workspaces.name, workspaces.id FROM workspaces JOIN organizations "
            "ON organizations.id = organization_id WHERE organizations.name = $1",
            tenant.organization,
        )
        return {name: id_ for name, id_ in rows if name in names}

    return await tenant.deployment.services.database.read(body)


async def crowd_in(deployment: Deployment) -> Crowd:
    """A crowd in workspaces of its own, where it is known to write."""
    calls = Calls(await build_tenant(deployment))
    await calls.apply(workspaces=(*calls.tenant.workspaces, *WORKSPACES))
    crowd = Crowd(calls, await ids_of(calls.tenant, WORKSPACES))
    await asyncio.gather(*crowd.make_each(key="known"))
    return crowd


@asynccontextmanager
async def elsewhere(crowd: Crowd, url: str) -> AsyncIterator[Crowd]:
    """The same on another node."""
    async with open_deployment(url, keys=crowd.calls.node.keys) as node:
        other = Crowd(Calls(crowd.calls.tenant, node), crowd.ids)
        await asyncio.gather(*other.make_each(key="known_here"))
        yield other


@pytest.fixture(scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    with fresh_postgres(postgres) as url:
        yield url


@pytest.fixture(scope="module")
async def node(url: str) -> AsyncIterator[Deployment]:
    async with open_deployment(url) as deployment:
        yield deployment


@pytest.fixture
async def crowd(node: Deployment) -> Crowd:
    return await crowd_in(node)


@pytest.fixture
async def admin(postgres: Postgres, url: str) -> AsyncIterator[Any]:
    """A connection of its own to the database, for what happens beside the store."""
    connection = await asyncpg.connect(postgres.beside(url))
    yield connection
    await connection.close()


@asynccontextmanager
async def locked(admin: Any, crowd: Crowd, *workspaces: str) -> AsyncIterator[None]:
    """While this lasts another has the streams of these workspaces locked."""
    async with admin.transaction():
        ids = [crowd.ids[workspace] for workspace in workspaces]
        await admin.fetch("SELECT 1 FROM streams WHERE id = ANY ($1) FOR UPDATE", ids)
        yield


_WAIT = "datname = current_database() AND wait_event_type = 'Lock'"
WAITING = f"SELECT count(*) FROM pg_stat_activity WHERE {_WAIT}"  # noqa: S608
END_THEM = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_WAIT}"  # noqa: S608


async def until_waiting(admin: Any, number: int = 1) -> None:
    """Until so many connections to this database wait for somebody's lock."""
    async with asyncio.timeout(HANGS):
        while await admin.fetchval(WAITING) < number:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.005)


async def test_those_that_wait_at_the_same_time_share_a_transaction(crowd: Crowd) -> None:
    await asyncio.gather(*crowd.make_each())
    assert len(await crowd.transactions("x")) == 1
    assert await crowd.keys() == dict.fromkeys(WORKSPACES, "x")


async def test_whoever_renames_a_workspace_keeps_those_waiting_who_ask_for_it_and_no_others(
    crowd: Crowd, admin: Any
) -> None:
    tenant = crowd.calls.tenant
    runner_id = await propose(tenant)
    await approve(tenant, runner_id)
    async with admin.transaction():
        row = tenant.workspaces["network"]
        await admin.fetch("SELECT 1 FROM workspaces WHERE id = $1 FOR UPDATE", row)
        jobs = [asyncio.create_task(Job.new(tenant).exchange()) for _ in range(LOCK_WAITERS + 10)]
        await until_waiting(admin)
        for key in "ab":
            await asyncio.gather(*crowd.make_each(key=key))
        assert not any(job.done() for job in jobs)
    assert {issued.runner_id for issued in await asyncio.gather(*jobs)} == {runner_id}


async def test_no_batch_is_larger_than_it_may_be(crowd: Crowd) -> None:
    keys = [f"k{number}" for number in range(BATCH_LIMIT // len(WORKSPACES))]
    await asyncio.gather(*(each for key in keys for each in crowd.make_each(key=key)))
    assert len(await crowd.transactions(*keys)) == 1
    keys = [f"more_{key}" for key in keys]
    many = [each for key in keys for each in crowd.make_each(key=key)]
    await asyncio.gather(*many, crowd.make("more"))
    assert len(await crowd.transactions(*keys, "more")) == 2


async def test_those_about_one_workspace_come_one_after_the_other_and_share_too(
    crowd: Crowd,
) -> None:
    keys = [*LETTERS, *LETTERS.upper()]
    await asyncio.gather(*crowd.make_all(keys), *crowd.make_each(["s1"]))
    assert len(await crowd.transactions(*keys, "x")) == 1
    assert (await crowd.keys())["s0"] == "".join(keys)
    assert await crowd.holds()


async def test_those_about_one_variable_come_one_after_the_other(crowd: Crowd) -> None:
    made = (await crowd.make("x")).variable
    values = [str(number) for number in range(20)]
    answers = await asyncio.gather(*(crowd.update(made.id, value=value) for value in values))
    assert [answer.variable.value for answer in answers] == values
    assert len({answer.variable.version_id for answer in answers}) == len(values)
    assert (await crowd.calls.services.variables.read(
        caller(crowd.calls.tenant, "owner"), ToWorkspace(crowd.ids["s0"]), made.id
    )).variable.value == values[-1]  # fmt: skip
    assert await crowd.holds()


async def test_what_is_done_to_one_workspace_in_many_ways_is_done_in_order(crowd: Crowd) -> None:
    one, two = [made.variable for made in await asyncio.gather(*crowd.make_all("ab"))]
    outcomes = await asyncio.gather(
        crowd.update(one.id, value="1"),
        crowd.update(two.id, key="c"),
        crowd.make("b"),
        crowd.delete(one.id),
        crowd.update(one.id, value="2"),
        crowd.make("a"),
        crowd.make("c"),
        return_exceptions=True,
    )
    assert words(*outcomes) == [*["done"] * 4, "not_found", "done", "key_taken"]
    assert sorted((await crowd.keys())["s0"]) == ["a", "b", "c"]
    assert await crowd.holds()


@pytest.mark.parametrize("waits", [False, True], ids=["in_batches", "after_a_lock"])
async def test_what_takes_more_waves_than_a_transaction_has_is_made_once_and_in_order(
    crowd: Crowd, admin: Any, *, waits: bool
) -> None:
    made = (await crowd.make("x")).variable
    async with locked(admin, crowd, *["s0"] * waits):
        turns = [(crowd.make(key), crowd.update(made.id, value=key)) for key in LETTERS]
        if waits:
            await until_waiting(admin)
    answers = await asyncio.gather(*(update for _, update in turns))
    assert [answer.variable.value for answer in answers] == [*LETTERS]
    assert (await crowd.keys())["s0"] == f"x{LETTERS}"
    await crowd.calls.services.changes.close()
    updates = "SELECT count(*) FROM audit_entries WHERE subject_id = $1 AND action LIKE '%.update'"
    assert await count(crowd.calls.services.database, updates, made.id) == len(LETTERS)


async def test_a_batch_is_planned_once_however_many_share_it(crowd: Crowd, url: str) -> None:
    async with elsewhere(crowd, url) as there:
        for number in range(2, len(WORKSPACES) + 1):
            await asyncio.gather(*there.make_each(WORKSPACES[:number], key=f"x{number}"))
        database: Any = there.calls.services.database
        plans = [
            (generic, custom)
            for connection in database._connections._idle
            for generic, custom in await connection.fetch(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements "
                "WHERE statement LIKE '%SKIP LOCKED%' OR statement LIKE '%calls_0%'"
            )
        ]
    assert sum(generic for generic, _ in plans) >= 2 * (len(WORKSPACES) - 1)
    assert not any(custom for _, custom in plans)


async def test_a_taken_key_is_refused_to_one_and_the_others_are_made_once(crowd: Crowd) -> None:
    taken, *others = await asyncio.gather(
        crowd.make("known"), *crowd.make_each(WORKSPACES[1:]), return_exceptions=True
    )
    assert words(taken) == ["key_taken"]
    assert words(*others) == ["done"] * 7
    assert await crowd.keys() == {"s0": "", **dict.fromkeys(WORKSPACES[1:], "x")}


async def test_of_those_about_one_workspace_who_is_refused_is_so_alone(crowd: Crowd) -> None:
    await crowd.make("d")
    *before, taken = crowd.make_all(LETTERS[:4])
    after = crowd.make_all(LETTERS[4:])
    await asyncio.gather(*before, *after, *crowd.make_each(WORKSPACES[1:]))
    assert words(*await asyncio.gather(taken, return_exceptions=True)) == ["key_taken"]
    assert (await crowd.keys())["s0"] == "dabcefgh"
    assert await crowd.holds()


async def test_a_row_that_another_has_locked_keeps_nobody_else_waiting(
    crowd: Crowd, admin: Any
) -> None:
    async with locked(admin, crowd, "s0"):
        waiting, *others = crowd.make_each()
        await asyncio.gather(*others)
        (later,) = crowd.make_each(["s1"])  # its key is taken, and it does not wait
        assert words(*await asyncio.gather(later, return_exceptions=True)) == ["key_taken"]
        assert not waiting.done()
    await waiting
    assert (await crowd.keys())["s0"] == "x"


async def test_those_who_wait_for_one_locked_row_go_on_together_and_in_order(
    crowd: Crowd, admin: Any
) -> None:
    async with locked(admin, crowd, "s0"):
        begun = crowd.make_all(LETTERS[:3])
        await asyncio.gather(*crowd.make_each(WORKSPACES[1:]))
        later = crowd.make_all(LETTERS[3:])
        await until_waiting(admin)
        assert not any(task.done() for task in [*begun, *later])
    await asyncio.gather(*begun, *later)
    assert len(await crowd.transactions(*LETTERS[:3])) == 1
    assert len(await crowd.transactions(*LETTERS[3:])) == 1
    assert (await crowd.keys())["s0"] == LETTERS


async def by_create(crowd: Crowd) -> None:
    await crowd.make("x")


async def by_apply(crowd: Crowd) -> None:
    wanted = ApplyDraft([ItemDraft(draft("x"))])
    where = caller(crowd.calls.tenant, "owner"), ToWorkspace(crowd.ids["s0"])
    await crowd.calls.services.applies.apply(*where, wanted, ANY_VERSION)


async def by_copy(crowd: Crowd) -> None:
    await crowd.make("x", "s1")
    wanted = CopyDraft(crowd.ids["s1"], on_conflict=OnConflict.SKIP)
    where = caller(crowd.calls.tenant, "owner"), ToWorkspace(crowd.ids["s0"])
    await crowd.calls.services.copies.copy(*where, wanted)


async def by_file(crowd: Crowd) -> None:
    await crowd.calls.apply(workspaces=["s0"], tags={"s0": TagsEntry(("x",))})


@pytest.mark.parametrize("by", [by_create, by_apply, by_copy, by_file])
async def test_whoever_has_waited_for_a_change_is_dated_after_it(
    crowd: Crowd, admin: Any, by: Callable[[Crowd], Coroutine[Any, Any, None]]
) -> None:
    database, stream_id = crowd.calls.services.database, crowd.ids["s0"]

    async def change(tx: Transaction) -> asyncio.Task[None]:
        trail = OwnTrail(tx, Chain(crowd.calls.node.keys))
        stream = trail.check((await streams.lock(tx, [stream_id]))[stream_id])
        waiting = asyncio.create_task(by(crowd))
        await until_waiting(admin)
        said = "workspace.rename", stream_id, {"name": "s0", "from": "s"}
        event = Found(operator(), database.now()).event(*said)
        entries, after = await trail.extend(stream, [event])
        await tx.write_each(*streams.appending(entries, [after]))
        return waiting

    await (await database.write(change))

    async def all_entries(tx: Transaction) -> Sequence[AuditEntry]:
        (above,) = (await organizations.find_all(tx, [crowd.calls.tenant.organization])).values()
        return await streams.entries(tx, [stream_id, above.id])

    entries = await database.read(all_entries)
    (renamed,) = (one.at for one in entries if one.action == "workspace.rename")
    assert max(one.at for one in entries if one.action != "workspace.rename") >= renamed
    assert await crowd.holds()


async def test_of_many_locked_workspaces_a_few_have_connections_and_all_go_on_in_the_end(
    crowd: Crowd, admin: Any
) -> None:
    async with locked(admin, crowd, *WORKSPACES[1:]):
        waiting = crowd.make_each(WORKSPACES[1:])
        await asyncio.gather(*crowd.make_each(["s0"]))
        await asyncio.sleep(3 * RETRY_SECONDS)
        await until_waiting(admin, LOCK_WAITERS)
        # One that is tried again by itself may wait for a moment as well.
        assert min([await admin.fetchval(WAITING) for _ in range(100)]) == LOCK_WAITERS
        await crowd.make("another")
        assert not any(task.done() for task in waiting)
    await asyncio.gather(*waiting)
    assert await crowd.keys() == {**dict.fromkeys(WORKSPACES, "x"), "s0": "xanother"}


async def test_who_may_not_write_is_answered_while_another_has_the_row_locked(
    crowd: Crowd, admin: Any
) -> None:
    made = (await crowd.make("x")).variable
    async with locked(admin, crowd, "s0"):
        refused = [crowd.update(made.id, who) for who in ("reader", "outsider", "plain")] * 5
        outcomes = await asyncio.gather(*refused, *crowd.make_each(["s1"]), return_exceptions=True)
        assert words(*outcomes) == ["not_found"] * 15 + ["done"]
        assert await admin.fetchval(WAITING) == 0


async def test_whose_row_stays_locked_is_refused_with_all_who_wait_for_it_and_nobody_else(
    crowd: Crowd, url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(poolers.ALWAYS, "lock_timeout", "1s")
    async with elsewhere(crowd, url) as crowd:
        async with locked(admin, crowd, "s0"):
            begun = crowd.make_all(LETTERS[:6])
            await until_waiting(admin)
            outcomes = asyncio.gather(*begun, *crowd.make_all(LETTERS[6:]), return_exceptions=True)
            await asyncio.gather(*crowd.make_each(WORKSPACES[1:]))
            refused = await asyncio.wait_for(outcomes, HANGS)
            assert words(*refused) == ["storage_unavailable"] * 8
        await crowd.make("after")
        assert (await crowd.keys())["s0"].endswith("after")


async def test_a_client_that_goes_away_takes_nobody_along(crowd: Crowd) -> None:
    gone, *others = crowd.make_each()
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(*others)
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await crowd.keys() == dict.fromkeys(WORKSPACES, "x")


async def test_a_connection_lost_before_the_commit_is_no_loss_to_anyone(
    crowd: Crowd, admin: Any
) -> None:
    async with locked(admin, crowd, "s0"):
        waiting = crowd.make_all(LETTERS)
        await until_waiting(admin)
        await admin.fetch(END_THEM)
    await asyncio.gather(*waiting)
    assert (await crowd.keys())["s0"] == LETTERS
    assert await crowd.holds()


async def test_whose_change_meets_a_damaged_page_is_refused_alone(crowd: Crowd, admin: Any) -> None:
    await admin.execute(
        "CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RAISE EXCEPTION USING ERRCODE = ''XX001''; END';"
        "CREATE TRIGGER damaged BEFORE INSERT ON variables FOR EACH ROW "
        "WHEN (NEW.key = 'damaged') EXECUTE FUNCTION damaged()"
    )
    made = [crowd.make("damaged"), *crowd.make_all("ab"), *crowd.make_each(WORKSPACES[1:])]
    outcomes = await asyncio.gather(*made, return_exceptions=True)
    assert words(*outcomes) == ["storage_unavailable", *["done"] * 9]
    assert await crowd.holds()


async def test_a_commit_that_may_have_been_made_is_made_no_second_time_whatever_ended_it(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a PANIC of the server, and what some poolers say of one that has gone."""
    commit = postgres._commit

    async def panic(connection: Any) -> None:
        await commit(connection)
        raise Refusal(OUTCOME_UNKNOWN) from pg.InternalServerError("cannot abort: was committed")

    monkeypatch.setattr(postgres, "_commit", panic)
    outcomes = await asyncio.gather(*crowd.make_each(), return_exceptions=True)
    assert words(*outcomes) == ["outcome_unknown"] * 8
    assert {key[-1] for key in (await crowd.keys()).values()} == {"x"}


async def test_a_commit_whose_answer_is_lost_has_an_unknown_outcome_for_all_in_it(
    crowd: Crowd, url: str
) -> None:
    async with way_to(url) as way, elsewhere(crowd, way.url) as there:
        way.cut = "before"
        outcomes = await asyncio.gather(*there.make_each(), return_exceptions=True)
        assert words(*outcomes) == ["outcome_unknown"] * 8
    assert {key[-1] for key in (await crowd.keys()).values()} == {"x"}


async def test_who_comes_after_those_whose_outcome_is_unknown_goes_on(
    crowd: Crowd, url: str, admin: Any
) -> None:
    async with way_to(url) as way, elsewhere(crowd, way.url) as there:
        async with locked(admin, crowd, "s0"):
            begun = there.make_all(LETTERS[:3])
            await until_waiting(admin)
            later = there.make_all(LETTERS[3:])
            await asyncio.gather(*there.make_each(WORKSPACES[1:]))
            way.cut = "before"
        outcomes = await asyncio.gather(*begun, *later, return_exceptions=True)
        assert words(*outcomes) == [*["outcome_unknown"] * 3, *["done"] * 5]
    assert (await crowd.keys())["s0"].endswith(LETTERS[3:])


async def test_closing_waits_for_the_changes_under_way(crowd: Crowd, url: str) -> None:
    async with elsewhere(crowd, url) as there:
        under_way = there.make_each()
        await asyncio.sleep(0)
        await there.calls.services.changes.close()
        assert all(task.done() for task in under_way)
    assert {key[-1] for key in (await crowd.keys()).values()} == {"x"}


def in_queue(queue: _SubjectQueue, subject: str, deadline: Deadline = NONE) -> Waiting:
    """A change that waits to be in a batch."""
    change: Change[None] = Change(operator(), subject, lambda _: Decision(None))
    waiter: Waiting = Waiter(
        Attempt(change, {}, deadline), asyncio.get_running_loop().create_future()
    )
    queue.put(waiter)
    return waiter


async def test_who_has_waited_too_long_to_be_in_time_is_refused_alone() -> None:
    queue = _SubjectQueue({})
    late, others = in_queue(queue, "a", Deadline(0, 1, 0)), [in_queue(queue, "a") for _ in "12"]
    assert queue.take() == others
    assert isinstance(refused := late.future.exception(), Refusal)
    assert refused.faults[0].code.word == "storage_unavailable"
    assert not any(other.future.done() for other in others)


async def test_whoever_has_been_in_a_batch_comes_last_in_the_next() -> None:
    queue = _SubjectQueue({})
    many = [in_queue(queue, "a") for _ in range(BATCH_LIMIT + 1)]
    other = in_queue(queue, "b")
    assert queue.take() == many[:BATCH_LIMIT]
    assert queue.take() == [other, many[BATCH_LIMIT]]
    later = [in_queue(queue, subject) for subject in "ca"]
    assert queue.take() == later


def test_of_a_subject_with_room_for_few_the_first_ones_have_a_chance_to_be_in_a_wave() -> None:
    def attempt(subject: str) -> Attempt[None]:
        return Attempt(Change(operator(), subject, lambda _: Decision(None)), {})

    many = [attempt(subject) for subject in "abaabc"]
    some = _within({"a": 2}, many)
    assert some == [many[0], many[1], many[2], many[4], many[5]]
    assert _within({}, many) == many


class Done:
    """A database in which whatever is asked for is done; `asked` says how many shared a
    transaction, and whether that was to be brief.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool]] = []

    def deadline(self) -> Deadline:
        return NONE

    async def batch(self, body: Any, _: object, *, waits: bool, is_brief: bool = False) -> None:
        calls = body.args[1]
        self.asked.append((len(calls), is_brief))
        for call in calls:
            call.begin(0)
            call.decision, call.has_ended = Decision(None), True


@pytest.mark.parametrize(
    ("brief", "asked"),
    [([True], [(1, True)]), ([False], [(1, False)]), ([True, True], [(2, False)])],
)
async def test_a_transaction_is_brief_of_one_change_that_may_be(
    brief: list[bool], asked: list[tuple[int, bool]]
) -> None:
    store: Any = Done()
    batches = Batches(store, store)
    some = [Change(operator(), "a", lambda _: Decision(None), is_brief=one) for one in brief]
    assert await asyncio.gather(*(batches.make(one, {}) for one in some)) == [None] * len(some)
    await batches.close()
    assert store.asked == asked


async def test_a_subject_that_runs_isolated_is_left_out_of_batches() -> None:
    isolated = {"a": asyncio.create_task(asyncio.sleep(0))}
    queue = _SubjectQueue(isolated)
    first, other = in_queue(queue, "a"), in_queue(queue, "b")
    assert queue.take() == [other]
    await isolated.pop("a")
    assert queue.take() == [first]


class Reluctant(Done):
    """A database that makes nothing in a batch, and everything by itself; `waited` says which had
    how many changes.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.waited: list[tuple[int, bool]] = []

    async def batch(self, body: Any, _: object, *, waits: bool, is_brief: bool = False) -> None:
        self.waited.append((len(body.args[1]), waits))
        if not waits:
            raise self.error
        for _ in range(9):  # while the others are at it
            await asyncio.sleep(0)
        await super().batch(body, _, waits=waits, is_brief=is_brief)


@pytest.mark.parametrize("error", [RuntimeError(), not_found()], ids=["failed", "refused"])
@pytest.mark.parametrize(("subjects", "waited"), [("abc", [1, 1, 1]), ("aa", [2])])
async def test_what_a_batch_could_not_do_is_done_by_itself_at_once_and_before_closing_ends(
    error: Exception, subjects: str, waited: list[int]
) -> None:
    store: Any = Reluctant(error)
    batches = Batches(store, store)
    changes = [Change(operator(), subject, lambda _: Decision(None)) for subject in subjects]
    assert len(waited) in (1, LOCK_WAITERS + 1)  # nobody waits for a lock here
    made = [batches.make(change, {}) for change in changes]
    await batches.close()
    assert [one.done() and one.result() for one in made] == [None] * len(made)
    assert store.waited == [(len(made), False), *((number, True) for number in waited)]


class Held(Reluctant):
    """A database in which every batch meets a row that is held until it `is_free`."""

    def __init__(self) -> None:
        super().__init__(Locked())
        self.is_free = asyncio.Event()

    def deadline(self) -> Deadline:
        return Deadline(10, 10, 9)

    async def batch(self, body: Any, _: object, *, waits: bool, is_brief: bool = False) -> None:
        if waits:
            await self.is_free.wait()
        await super().batch(body, _, waits=waits, is_brief=is_brief)


async def test_who_has_waited_too_long_for_a_place_is_refused_without_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one, which would end at once, all others of the worker would be taken for lost."""
    store: Any = Held()
    batches, now = Batches(store, store), 0.0
    monkeypatch.setattr(coalescing, "time", SimpleNamespace(monotonic=lambda: now))
    subjects = "abcd"[: LOCK_WAITERS + 1]
    made = [batches.make(Change(operator(), one, lambda _: Decision(None)), {}) for one in subjects]
    for _ in range(20):  # they meet it together, each by itself, and have or wait for a place
        await asyncio.sleep(0)
    assert store.waited == [(len(subjects), False), *[(1, False)] * len(subjects)]
    now = 9.5
    store.is_free.set()
    await batches.close()
    outcomes = await asyncio.gather(*made, return_exceptions=True)
    assert words(*outcomes) == [*["done"] * LOCK_WAITERS, "storage_unavailable"]
    assert store.waited.count((1, True)) == LOCK_WAITERS


class Away(Reluctant):
    """A database that makes nothing together, and is away once somebody `is_alone`."""

    def __init__(self) -> None:
        super().__init__(RuntimeError())
        self.is_alone = asyncio.Event()

    async def batch(self, body: Any, _: object, *, waits: bool, is_brief: bool = False) -> None:
        self.waited.append((number := len(body.args[1]), waits))
        if number > 1:
            raise self.error
        self.is_alone.set()
        for _ in range(9):  # while others come
            await asyncio.sleep(0)
        raise storage_unavailable()


async def test_whoever_waits_behind_one_for_whom_the_store_is_away_is_refused_at_once() -> None:
    store: Any = Away()
    batches = Batches(store, store)
    change = Change(operator(), "a", lambda _: Decision(None))
    made = [batches.make(change, {}) for _ in "ab"]
    await store.is_alone.wait()
    made.append(batches.make(change, {}))
    await batches.close()
    words = [await refusal_of(one) for one in made]
    assert words == ["storage_unavailable"] * 3
    assert store.waited == [(2, False), (2, True), (1, True)]
