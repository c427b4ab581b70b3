"""Everything comes under the keys in use, and nobody notices."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from msgspec.structs import astuple, replace

from teamvars.domain.access import WrappedKey
from teamvars.domain.audit import SYSTEM_STREAM, AuditFilter, Head
from teamvars.domain.errors import Unfinished, storage_unavailable
from teamvars.domain.keys import REWRAP_ID, KeyRefused, Rewrap, Sealed
from teamvars.domain.variable_sets import SetDraft
from teamvars.pace import Pace
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import SealBroken, Sealer
from teamvars.services import data_keys as services
from teamvars.services.data_keys import Outcome, Progress, Rewraps, UnderWay
from teamvars.storage import data_keys, rewraps
from teamvars.storage.database import Body, Database, T, Transaction
from teamvars.storage.rewraps import PARTS, SealedRow
from tests.services.altered_trails import execute
from tests.services.calls import Calls, caller
from tests.services.test_data_keys import actions, handed_out, needed, use_another
from tests.services.test_outbox import invite, node
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.mailbox import open_mailbox
from tests.support.patience import until
from tests.support.tenant import variable_document

MANY = 12


async def rewrap(calls: Calls, **asked: Any) -> Outcome:
    return await calls.services.rewraps.run(operator(), lambda _: None, **asked)


async def every_row(database: Database) -> list[SealedRow]:
    """Every sealed row there is, whatever has sealed it."""

    async def body(tx: Transaction) -> list[SealedRow]:
        return [row for part in PARTS for row in (await rewraps.page(tx, part, "", 2**31, 500))[1]]

    return await database.read(body)


async def heads_of(calls: Calls) -> dict[str, Head]:
    """Where every stream but the system's stands."""
    heads = [head for head, _ in await calls.services.audit.heads()]
    return {one.stream_id: one for one in heads if one.stream_id != SYSTEM_STREAM}


def opens(sealer: Sealer, row: SealedRow) -> bool:
    """Whether the row opens with these keys."""
    try:
        key = sealer.data_key(row.key)
        if row.link_hash:
            key.open_secret(row.sealed, row.id, row.link_hash)
        else:
            key.opener(row.owner_id, row.sensitive)(*row.sealed, row.id)
    except SealBroken:
        return False
    return True


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job has several steps, and one that was ended is soon nobody's."""
    monkeypatch.setattr(services, "_AT_ONCE", 5)
    monkeypatch.setattr(services, "_MOST_AT_ONCE", 6)
    monkeypatch.setattr(services, "HELD_FOR", 200_000)


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how many times as long as each step took a job rests, which it does not."""
    shares: list[float] = []

    async def give_way(pace: Pace) -> None:
        shares.append(pace._share)

    monkeypatch.setattr(Pace, "give_way", give_way)
    return shares


@pytest.fixture
async def older(own_calls: Calls) -> Calls:
    """Variables of a workspace and of a set, and a link, sealed under a generation that another has
    followed.
    """
    tenant = own_calls.tenant
    owner, draft = caller(tenant, "owner"), SetDraft(name="shared")
    made = await own_calls.services.variable_sets.create(owner, tenant.organization, draft)
    path = f"/varsets/{made.set.id}/relationships/vars"
    answer = await tenant.call("owner", "POST", path, variable_document(key="of-set"))
    assert answer.status_code == 201, answer.text
    for n in range(MANY):
        await own_calls.create(key=f"key-{n}", value=f"value {n}", sensitive=n % 2 == 0)
    async with open_mailbox() as mailbox, node(own_calls, mailbox.server(insecure=True)) as mailing:
        await invite(mailing)
    await use_another(own_calls)
    return own_calls


async def test_everything_is_sealed_under_the_newest_and_nothing_else_has_changed(
    older: Calls,
) -> None:
    tenant, told = older.tenant, list[Progress]()
    before = await tenant.call("owner", "GET", tenant.vars_path())
    heads = await heads_of(older)
    outcome = await older.services.rewraps.run(operator(), told.append)
    assert outcome == Outcome(MANY + 2, [])
    assert told[-1] == Progress(MANY + 2, MANY + 2)
    assert (await needed(older)).keys() == {2}
    after = await tenant.call("owner", "GET", tenant.vars_path())
    assert before.headers["ETag"] == after.headers["ETag"]
    assert before.json() == after.json()
    assert await heads_of(older) == heads
    assert (await actions(older))[-2:] == ["rewrap.begin data-2", "rewrap.end data-2"]
    assert await older.node.audit_holds()
    await older.services.data_keys.retire(operator(), "data-1")
    assert await handed_out(older) == {f"key-{n}": f"value {n}" for n in range(MANY)}
    rows = await every_row(older.services.database)
    assert [opens(older.tools.sealer, row) for row in rows] == [True] * (MANY + 2)


async def test_a_job_ends_though_another_generation_comes_into_use_meanwhile(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    async def give_way(_: Pace) -> None:
        nonlocal steps
        steps += 1
        assert steps < 100, "it does not end"
        if steps == 1:
            await use_another(older)
            await older.create(key="newer")

    monkeypatch.setattr(Pace, "give_way", give_way)
    told = list[Progress]()
    outcome = await older.services.rewraps.run(operator(), told.append)
    assert outcome == Outcome(MANY + 2, [])
    assert told[-1].all == told[-1].done
    assert (await needed(older)).keys() == {3}


async def test_of_two_jobs_at_once_one_is_told_of_the_other(older: Calls) -> None:
    outcomes = await asyncio.gather(
        *(rewrap(older, rate=10) for _ in range(2)), return_exceptions=True
    )
    assert sorted(map(type, outcomes), key=str) == [Outcome, UnderWay]
    assert (await needed(older)).keys() == {2}


async def test_a_job_that_was_ended_is_gone_on_with(older: Calls) -> None:
    done: list[int] = []

    def end(progress: Progress) -> None:
        done.append(progress.done)
        if progress.done:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            await older.services.rewraps.run(operator(), end)
    assert done == [5, 10]
    assert await rewrap(older) == Outcome(MANY + 2, [])
    assert (await actions(older))[-2:] == ["rewrap.begin data-2", "rewrap.end data-2"]
    assert (await needed(older)).keys() == {2}


async def take(calls: Calls) -> None:
    """Another run takes over the job that is under way."""

    async def body(tx: Transaction) -> None:
        found = await rewraps.find(tx)
        assert found is not None
        assert await rewraps.replace(tx, found, replace(found, holder="another"))

    await calls.services.database.write(body)


async def test_a_job_that_another_has_taken_over_writes_nothing_more(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = older.services.rewraps
    told: list[Progress] = []
    page = job.page

    async def take_over(*asked: Any) -> Any:
        if told:
            await take(older)
        return await page(*asked)

    monkeypatch.setattr(job, "page", take_over)
    with pytest.raises(UnderWay):
        await job.run(operator(), told.append, rate=50)
    assert (await needed(older))[1]["variables"] == MANY - 5


async def test_a_job_that_another_has_taken_over_in_the_end_leaves_it_to_that(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = services._Run.through

    async def stall(run: services._Run) -> list[str]:
        broken = await through(run)
        await take(older)
        return broken

    monkeypatch.setattr(services._Run, "through", stall)
    with pytest.raises(UnderWay):
        await rewrap(older)
    found = await older.services.database.read(rewraps.find)
    assert found is not None
    assert found.holder == "another"
    assert (await actions(older))[-1] == "rewrap.begin data-2"


async def test_a_job_that_is_taken_over_as_it_ends_does_not_end_that_of_another(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = older.services.rewraps
    end = job._end

    async def stall(*asked: Any) -> None:
        await take(older)
        await end(*asked)

    monkeypatch.setattr(job, "_end", stall)
    await rewrap(older)
    found = await older.services.database.read(rewraps.find)
    assert found is not None
    assert found.holder == "another"


async def test_a_value_that_is_written_meanwhile_is_not_overwritten(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, tenant = rewraps.put, older.tenant
    (row,) = [one for one in await tenant.variables() if one["attributes"]["key"] == "key-1"]
    page = rewraps.page

    async def change(*args: Any) -> Any:
        found = await page(*args)
        monkeypatch.setattr(rewraps, "page", page)
        waiting.set()
        return found

    waiting = asyncio.Event()
    monkeypatch.setattr(rewraps, "page", change)
    sealed = services.Rewraps.put

    async def after_change(self: Any, before: Rewrap, job: Rewrap, rows: Sequence[Any]) -> Rewrap:
        if waiting.is_set():
            waiting.clear()
            update = {"data": {**row, "attributes": {"value": "newer"}}}
            path = f"{tenant.vars_path()}/{row['id']}"
            assert (await tenant.call("owner", "PATCH", path, update)).status_code == 200
        return await sealed(self, before, job, rows)

    monkeypatch.setattr(services.Rewraps, "put", after_change)
    await rewrap(older)
    assert (await handed_out(older))["key-1"] == "newer"
    assert put is rewraps.put
    assert (await needed(older)).keys() == {2}


async def test_what_was_under_way_when_another_came_into_use_is_found_in_the_end(
    older: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is behind the job by then, as a slow writer leaves it."""
    rows = await every_row(older.services.database)
    (first, *_) = [row for row in rows if row.id.startswith("var-")]

    async def left(tx: Transaction) -> None:
        sql = "UPDATE variables SET sealed_value = $2, key_version = 1 WHERE id = $1"
        await tx.execute(sql, first.id, first.sealed.content)

    def tell(progress: Progress) -> None:
        if progress.done == MANY:
            told.append(asyncio.ensure_future(older.services.database.write(left)))

    told: list[asyncio.Task[None]] = []
    await older.services.rewraps.run(operator(), tell)
    await asyncio.gather(*told)
    assert (await needed(older)).keys() == {2}


async def test_what_does_not_open_is_left_and_named(older: Calls) -> None:
    (row,) = [one for one in await older.tenant.variables() if one["attributes"]["key"] == "key-3"]
    await execute(
        older.services.database,
        row["id"],
        "UPDATE variables SET sealed_value = substr(sealed_value, 2) WHERE id = $1",
    )
    outcome = await rewrap(older)
    assert outcome.sealed == MANY + 1
    (told,) = outcome.broken
    assert row["id"] in told
    assert (await needed(older))[1] == {"variables": 1}
    (entry,) = await older.services.audit.newest(1, AuditFilter(action="rewrap.end"))
    assert entry.read_details() == {"sealed": MANY + 1, "broken": 1}
    with pytest.raises(KeyRefused, match="variables: 1"):
        await older.services.data_keys.retire(operator(), "data-1")


async def test_a_job_may_be_as_slow_as_one_says(older: Calls) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await rewrap(older, rate=MANY + 2)
    assert loop.time() - begun >= 0.9


async def test_a_second_run_has_nothing_to_seal(older: Calls) -> None:
    await rewrap(older)
    rows = await every_row(older.services.database)
    assert await rewrap(older) == Outcome(0, [])
    assert [one.sealed for one in await every_row(older.services.database)] == [
        one.sealed for one in rows
    ]


def with_master(keys: Keyring, other: Keyring) -> Keyring:
    """These keys, and the other's master key in use."""
    both = {**keys.master.keys, **other.master.keys}
    return replace(keys, master=replace(other.master, keys=both))


async def test_data_keys_come_under_the_master_key_in_use_and_what_leaked_opens_old_copies_alone(
    older: Calls,
) -> None:
    leaked, database = older.node.keys, older.services.database
    old_rows = await every_row(database)
    fresh = keyring.generate()
    keys = with_master(leaked, fresh)

    async def note(tx: Transaction) -> None:
        key_id = fresh.master.active
        await tx.execute(
            "INSERT INTO keyring_keys (id, purpose, check_value, created_at) "
            "VALUES ($1, 'master', $2, 0)",
            key_id,
            keys.checks()[key_id][1],
        )

    await database.write(note)
    other = Sealer(keys)
    tools = replace(older.services.rewraps._tools, sealer=other)
    for one in (older.services.rewraps, older.services.data_keys):
        one._tools = tools
    await use_another(older)
    await rewrap(older)
    for key_id in ("data-1", "data-2"):
        await older.services.data_keys.retire(operator(), key_id)
    stored = await database.read(lambda tx: data_keys.page(tx, ""))
    assert {one.master_key_id for one in stored} == {fresh.master.active}
    rows, thief = await every_row(database), Sealer(leaked)
    new_alone = Sealer(replace(keys, master=fresh.master))
    assert [opens(thief, row) for row in old_rows] == [True] * (MANY + 2)
    assert [opens(thief, row) for row in rows] == [False] * (MANY + 2)
    assert [opens(new_alone, row) for row in rows] == [True] * (MANY + 2)
    # Not even with the data keys of the old copy.
    keys_of = {row.id: row.key for row in old_rows}
    assert not any(opens(thief, replace(row, key=keys_of[row.id])) for row in rows)


class Waiting:
    """Rows that wait to be sealed anew, by part and in pages, in no store.

    `late` comes into the first part once the last page of the last is asked for.
    """

    def __init__(self, *parts: list[list[str]], late: Sequence[str] = ()) -> None:
        self.sealed_anew: list[str] = []
        self.most: set[int] = set()
        self._parts = [[*pages] for pages in parts]
        self._late = list(late)

    async def page(self, job: Rewrap, most: int) -> tuple[str | None, list[SealedRow]]:
        self.most.add(most)
        pages, place = self._parts[job.part], int(job.after or 0)
        if place < len(pages):
            return str(place + 1), [self._row(id_) for id_ in pages[place]]
        if self._late and job.part == len(PARTS) - 1:
            self._parts[0], self._late = [self._late], []
        return None, []

    async def put(
        self, _: Rewrap, job: Rewrap, sealed: Sequence[tuple[SealedRow, Sealed]]
    ) -> Rewrap:
        done = [row.id for row, _ in sealed]
        self.sealed_anew += done
        self._parts = [
            [[id_ for id_ in page if id_ not in done] for page in pages] for pages in self._parts
        ]
        return job

    def sealed(self, row: SealedRow) -> Sealed:
        if row.id.startswith("broken"):
            raise SealBroken(row.id)
        return row.sealed

    def _row(self, id_: str) -> SealedRow:
        key = WrappedKey("org-1", 1, "mk-1", b"")
        return SealedRow(id_, "ws-1", False, b"", Sealed(b"", 1), key)


@pytest.mark.parametrize(
    ("job", "waiting", "sealed"),
    [
        (Rewrap("job-1", 0, 2), Waiting([], [], []), []),
        (Rewrap("job-1", 0, 2), Waiting([["a", "b"], ["c"]], [["d"]], []), [*"abcd"]),
        (Rewrap("job-1", 0, 2), Waiting([["a"]], [], [], late=["z"]), [*"az"]),
        (Rewrap("job-1", 0, 2, part=1, done=3), Waiting([["a"]], [["d"]], []), [*"da"]),
        (Rewrap("job-1", 0, 2, part=1, done=3), Waiting([["a"]], [], []), ["a"]),
        (Rewrap("job-1", 0, 2, after="1", done=3), Waiting([["a"], ["b"]], [], []), [*"ba"]),
        (Rewrap("job-1", 0, 2), Waiting([["broken", "a"]], [], [["broken-2"]]), ["a"]),
    ],
)
async def test_a_job_goes_through_all_until_nothing_is_left(
    job: Rewrap, waiting: Waiting, sealed: list[str]
) -> None:
    told: list[Progress] = []
    service: Any = waiting
    run = services._Run(service, job, len(sealed), told.append, None)
    broken = await run.through()
    assert waiting.sealed_anew == sealed
    assert (run.job.part, run.job.after, run.job.done) == (0, "", job.done + len(sealed))
    assert told[-1] == Progress(job.done + len(sealed), job.done + len(sealed))
    assert len(broken) == (2 if "broken" in str(waiting._parts) else 0)
    assert waiting.most == {5}


@pytest.mark.parametrize(("rate", "most"), [(3, 1), (40, 4), (10**9, 6)])
async def test_a_job_takes_no_more_at_once_than_in_a_tenth_of_a_second(
    rate: int, most: int
) -> None:
    waiting = Waiting([], [], [])
    service: Any = waiting
    await services._Run(service, Rewrap("job-1", 0, 2), 0, lambda _: None, rate).through()
    assert waiting.most == {most}


@pytest.mark.parametrize(("rate", "shares"), [(None, [9.0] * 6), (10**9, [])])
async def test_a_job_rests_after_each_step_unless_somebody_says_its_rate(
    rate: int | None, shares: list[float], rests: list[float]
) -> None:
    waiting = Waiting([["broken"], ["broken-2"]], [], [["broken-3"]])
    service: Any = waiting
    await services._Run(service, Rewrap("job-1", 0, 2), 0, lambda _: None, rate).through()
    assert rests == shares


async def test_data_keys_and_heads_are_changed_with_rests_whatever_the_rate_of_values(
    older: Calls, rests: list[float]
) -> None:
    await rewrap(older, rate=10**9)
    of_data_keys = len(rests)
    await older.services.keys.sign_anew()
    assert set(rests) == {9.0}
    assert 0 < len(rests) - of_data_keys < of_data_keys


class Meanwhile:
    """A store in which something happens as soon as a job was looked for."""

    def __init__(self, database: Database, happens: Body[object]) -> None:
        self._database = database
        self._happens = [happens]

    async def read(self, body: Body[T]) -> T:
        found = await self._database.read(body)
        if self._happens:
            await self._database.write(self._happens.pop())
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)


FREE = Rewrap("one", 0, 1, part=1, after="x", done=4)
HELD = replace(FREE, held_until=1)
FURTHER = replace(HELD, done=5)
OLDER = replace(FREE, generation=0)
AT_ONCE = replace(FREE, holder="another")


async def put_job(tx: Transaction, job: Rewrap | None, now: int) -> None:
    """Has that job under way alone; one that is held is so for a tenth of a second more."""
    await tx.execute("DELETE FROM rewraps")
    if job is not None:
        held_until = now + 100_000 if job.held_until else 0
        sql = (
            "INSERT INTO rewraps (id, holder, held_until, generation, part, after, done) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7)"
        )
        await tx.execute(sql, REWRAP_ID, *astuple(replace(job, held_until=held_until)))


@ON_SQLITE
@pytest.mark.parametrize(
    ("found", "then", "goes_on_at"),
    [
        (None, None, ("", 0)),
        (FREE, FREE, ("x", 4)),
        (HELD, HELD, ("x", 4)),
        (HELD, None, ("", 0)),
        (OLDER, OLDER, ("", 0)),
        (HELD, FURTHER, None),
        (FREE, AT_ONCE, None),
        (None, AT_ONCE, None),
    ],
)
async def test_a_job_is_gone_on_with_once_nobody_is_at_it(
    calls: Calls, found: Rewrap | None, then: Rewrap | None, goes_on_at: tuple[str, int] | None
) -> None:
    service, database = calls.services.rewraps, calls.services.database
    now = database.now()
    await database.write(lambda tx: put_job(tx, found, now))
    store = Meanwhile(database, lambda tx: put_job(tx, then, now))
    one = Rewraps(service._house, service._keys, service._sign_anew)
    one._database, one._clock = cast(Database, store), lambda: now
    if goes_on_at is None:
        with pytest.raises(UnderWay):
            await one._held(operator())
        return
    job = await one._held(operator())
    assert (job.after, job.done, job.generation) == (*goes_on_at, 1)
    assert job.held_until > now
    assert job.holder not in ("", "one", "another")
    assert await database.read(rewraps.find) == job


@ON_SQLITE
@pytest.mark.parametrize("stored", ["'soon'", "x'39'", "1.5"])
async def test_a_job_that_is_held_until_no_time_is_gone_on_with(calls: Calls, stored: str) -> None:
    service, database = calls.services.rewraps, calls.services.database
    await database.write(lambda tx: put_job(tx, FREE, 0))
    await calls.node.alter(f"UPDATE rewraps SET held_until = {stored}")  # noqa: S608
    job = await service._held(operator())
    assert (job.after, job.done) == ("x", 4)
    assert await database.read(rewraps.find) == job


@pytest.mark.parametrize("own_url", ["sqlite"], indirect=True)
async def test_what_is_under_another_generation_waits_and_no_organization_counts(
    older: Calls,
) -> None:
    service = older.services.rewraps
    assert (await service._waiting(2), await service._waiting(1)) == (MANY + 2, 0)


@pytest.mark.parametrize("own_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("at", ["_sign_anew", "_waiting", "page", "_end"])
async def test_of_a_job_that_is_refused_on_the_way_nobody_is_told_that_nothing_was_changed(
    older: Calls, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    async def unavailable(*_: Any) -> None:
        raise storage_unavailable(OSError("canceled"))

    monkeypatch.setattr(older.services.rewraps, at, unavailable)
    told = r"^The rest was refused \(OSError: canceled\)\. 'teamvars keys rewrap' goes on where"
    with pytest.raises(Unfinished, match=told):
        await rewrap(older)
    monkeypatch.undo()
    assert (await rewrap(older)).broken == []
    assert (await needed(older)).keys() == {2}


@pytest.mark.parametrize("slow", ["_sign_anew", "_waiting"])
async def test_a_job_holds_its_place_while_what_seals_no_value_takes_long(
    older: Calls, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    over = asyncio.Event()
    does = getattr(older.services.rewraps, slow)

    async def take_long(*asked: Any) -> Any:
        await over.wait()
        return await does(*asked)

    monkeypatch.setattr(older.services.rewraps, slow, take_long)
    job = asyncio.create_task(rewrap(older))
    held: list[int] = []

    async def is_held_longer() -> bool:
        found = await older.services.database.read(rewraps.find)
        held.extend(() if found is None else (found.held_until,))
        return len(set(held)) > 2

    await until(is_held_longer)
    over.set()
    await job
