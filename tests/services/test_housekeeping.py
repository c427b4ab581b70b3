"""What is kept beside the requests: last uses, workspace usage, readiness, few statements."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from teamvars import wiring
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor, AuditFilter
from teamvars.domain.errors import OUTCOME_UNKNOWN, Refusal, storage_unavailable
from teamvars.domain.moves import MoveDraft
from teamvars.domain.projects import ProjectDraft
from teamvars.domain.tokens import OwnerName
from teamvars.domain.variable_sets import SetDraft
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.security import keyring
from teamvars.security.tokens import hash_token
from teamvars.services.installation import Installation
from teamvars.services.tokens import _USES_AT_ONCE
from teamvars.storage import migrations, streams
from teamvars.storage.database import Body, Database, NotReady, T, Transaction
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines import database_for
from tests.services.calls import Calls, caller, caller_with, count, dump, refusal_of
from tests.storage.stores import fresh, opened
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.observed_transaction import ObservedTransaction
from tests.support.patience import HANGS
from tests.support.tenant import Tenant, build_tenant

SLACK = 60_000_000


class Watched:
    """A store that notes the statements of each transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reads: list[list[str]] = []
        self.writes: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._database, name)
        if name in ("migrate", "in_request", "now", "takes_writes", "deadline", "refuse_also"):
            return method
        transactions = self.writes if name == "write" else self.reads
        return lambda body, **more: method(self._noting(body, transactions), **more)

    async def __aenter__(self) -> Self:
        await self._database.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> T:
        del waits, is_brief  # as if each were alone
        noting = self._noting(body, self.writes)
        return await self._database.batch(noting, deadline, waits=True)

    def _noting(self, body: Body[T], transactions: list[list[str]]) -> Body[T]:
        async def noting(tx: Transaction) -> T:
            statements: list[str] = []
            transactions.append(statements)

            def note(sql: str, args: tuple[object, ...]) -> None:
                statements.append(f"{sql} -- {args[:1]}")

            return await body(ObservedTransaction(tx, note))

        return noting


@pytest.fixture
async def watched_calls(
    tenant: Tenant, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Calls]:
    """A node whose statements are noted; none are at first."""

    def watched(url: str, *, create: bool = False) -> Watched:
        return Watched(database_for(url, create=create))

    monkeypatch.setattr("tests.support.deployment.database_for", watched)
    async with open_deployment(store_url, keys=tenant.deployment.keys) as node:
        calls = Calls(tenant, node)
        statements = watched_of(calls)
        statements.reads.clear()
        statements.writes.clear()
        yield calls


def watched_of(calls: Calls) -> Watched:
    """The store of a watched node."""
    store: Any = calls.services.database
    assert isinstance(store, Watched)
    return store


@pytest.fixture
def watched(watched_calls: Calls) -> Watched:
    return watched_of(watched_calls)


# Statements


async def test_listing_takes_two_statements_however_many_there_are(
    watched: Watched, watched_calls: Calls, calls: Calls
) -> None:
    for number in range(3):
        await calls.create(key=f"key-{number}")
    assert len(await watched_calls.list("reader")) == 3
    assert sum(len(statements) for statements in watched.reads) == 2
    assert watched.writes == []


async def test_creating_takes_four_statements_in_one_transaction(
    watched: Watched, watched_calls: Calls
) -> None:
    await watched_calls.create("writer")
    watched.reads.clear()  # this node had not seen the writer before, and looked first
    await watched_calls.create("writer", key="another")
    assert [len(statements) for statements in watched.writes] == [4, 4]
    assert watched.reads == []


async def test_a_request_that_is_refused_for_want_of_rights_takes_one_and_no_write(
    watched: Watched, watched_calls: Calls
) -> None:
    for who in ("outsider", "reader"):
        with pytest.raises(Refusal):
            await watched_calls.create(who)
    assert [len(statements) for statements in watched.reads] == [1, 1]
    assert watched.writes == []


async def test_a_move_takes_as_many_statements_however_many_sets_the_projects_have(
    watched: Watched, watched_calls: Calls, calls: Calls
) -> None:
    tenant, services = calls.tenant, calls.services
    owner, name = caller(tenant, "owner"), tenant.organization
    made = await services.projects.create(owner, name, ProjectDraft(name="shop"))
    shop, taken = made.project.id, []
    for number in range(4):
        draft = SetDraft(name=f"set-{number}", project_id=shop)
        await services.variable_sets.create(owner, name, draft)
        for project_id in (shop, tenant.project):
            ids = MoveDraft((tenant.workspaces["network"],))
            await watched_calls.services.projects.move(owner, project_id, ids)
        taken.append(sum(map(len, (*watched.reads, *watched.writes))))
        watched.reads.clear()
        watched.writes.clear()
    assert len(set(taken[1:])) == 1


# Last use


async def last_use(calls: Calls, token_id: str) -> int | None:
    (found,) = (
        one.token for one in await calls.services.issued_tokens.list() if one.token.id == token_id
    )
    return found.last_used_at


async def use(calls: Calls, secret: str) -> None:
    """What a request does to sessions."""
    asking = caller_with(secret)
    await calls.services.sessions.authenticate(asking)
    calls.services.sessions.note_use(asking)


async def test_the_last_use_of_a_token_is_stored_without_a_write_per_request(
    watched: Watched, watched_calls: Calls
) -> None:
    owner = OwnerName(user=watched_calls.named("reader")[0])
    new = await watched_calls.services.tokens.create(operator(), owner, None)
    watched.writes.clear()
    for _ in range(5):
        await use(watched_calls, new.secret)
    assert watched.writes == []
    assert await last_use(watched_calls, new.token.id) is None
    before = watched.now()
    await use(watched_calls, new.secret)
    await watched_calls.services.sessions.store_uses()
    assert len(watched.writes) == 1
    stored = await last_use(watched_calls, new.token.id)
    assert stored is not None
    # Asked again, the server may say a little less.
    assert before - SLACK <= stored <= watched.now() + SLACK
    await watched_calls.services.sessions.store_uses()
    assert len(watched.writes) == 1


async def test_whoever_has_no_token_uses_none(watched: Watched, watched_calls: Calls) -> None:
    nobody = operator()
    assert nobody.actor is not None
    assert nobody.actor.token_id is None
    watched_calls.services.sessions.note_use(nobody)
    await watched_calls.services.sessions.store_uses()
    assert watched.writes == []


async def test_an_older_use_that_another_node_stores_later_does_not_win(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    owner = OwnerName(user=one.named("reader")[0])
    new = await one.services.tokens.create(operator(), owner, None)
    await use(one, new.secret)
    # Each node reckons the server's time, and one may be a little ahead of the other.
    used = one.services.database.now()
    while other.services.database.now() <= used:  # noqa: ASYNC110 - of a clock
        await asyncio.sleep(0.001)
    await use(other, new.secret)
    await other.services.sessions.store_uses()
    newest = await last_use(one, new.token.id)
    await one.services.sessions.store_uses()
    assert await last_use(one, new.token.id) == newest


async def test_last_uses_of_many_are_stored_some_at_a_time_and_without_a_stream(
    watched: Watched, watched_calls: Calls
) -> None:
    sessions = watched_calls.services.sessions
    people = ("writer", "owner", "reader", "manager", "plain")
    for who in people:
        await use(watched_calls, watched_calls.tenant.tokens[who])
    for number in range(_USES_AT_ONCE):
        sessions.note_use(Caller(b"", "", Actor("user", "user-gone", f"at-gone-{number}")))
    before = (await dump(watched_calls.services.database))["streams"]
    watched.writes.clear()
    await sessions.store_uses()
    assert list(map(len, watched.writes)) == [1, 1]
    assert (await dump(watched_calls.services.database))["streams"] == before
    question = "SELECT count(*) FROM tokens WHERE hash = $1 AND last_used_at IS NOT NULL"
    for who in people:
        used = hash_token(watched_calls.tenant.tokens[who])
        assert await count(watched_calls.services.database, question, used) == 1


async def test_a_chore_that_fails_keeps_none_of_the_others_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_done = asyncio.Event()

    async def fail() -> None:
        raise ValueError

    async def do() -> None:
        is_done.set()

    monkeypatch.setattr(wiring, "HOUSEKEEPING_SECONDS", 0)
    house = asyncio.create_task(wiring._each_minute(fail, do))
    async with asyncio.timeout(HANGS):
        await is_done.wait()
    house.cancel()


async def test_of_an_outage_chores_say_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = iter([storage_unavailable(), Refusal(OUTCOME_UNKNOWN), ValueError()])

    async def fail() -> None:
        for failure in failures:
            raise failure
        await asyncio.Event().wait()

    monkeypatch.setattr(wiring, "HOUSEKEEPING_SECONDS", 0)
    with capture_logs() as lines:
        house = asyncio.create_task(wiring._each_minute(fail))
        async with asyncio.timeout(HANGS):
            while not lines:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0)
        house.cancel()
    assert [line["event"] for line in lines] == ["housekeeping is put off"]
    assert list(failures) == [], "it was told of the last one"


async def test_last_uses_that_could_not_be_stored_are_stored_later(own_calls: Calls) -> None:
    async def rename(before: str, after: str) -> None:
        async def body(tx: Transaction) -> None:
            await tx.script(f"ALTER TABLE {before} RENAME TO {after}")

        await own_calls.services.database.write(body)

    owner = OwnerName(user=own_calls.named("reader")[0])
    new = await own_calls.services.tokens.create(operator(), owner, None)
    await use(own_calls, new.secret)
    await rename("tokens", "out_of_the_way")
    assert await refusal_of(own_calls.services.sessions.store_uses()) == "storage_unavailable"
    await rename("out_of_the_way", "tokens")
    assert await last_use(own_calls, new.token.id) is None
    await own_calls.services.sessions.store_uses()
    assert await last_use(own_calls, new.token.id) is not None


# Workspace usage

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["create", "update", "delete", "hide", "taken", "invalid"]),
        st.integers(0, 5),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    ),
    max_size=12,
)


USAGE = (
    (
        "SELECT variables FROM streams WHERE id = $1",
        "SELECT count(*) FROM variables WHERE workspace_id = $1",
    ),
    (
        "SELECT value_bytes FROM streams WHERE id = $1",
        "SELECT coalesce(sum(value_bytes), 0) FROM variables WHERE workspace_id = $1",
    ),
)
"""What a workspace says it holds, and what it holds; the bytes come last."""


async def operate(calls: Calls, operation: str, number: int, value: str) -> None:
    """One operation of a sequence; many of them are refused."""
    place = caller(calls.tenant, "owner"), ToWorkspace(calls.tenant.workspaces["network"])
    found = await calls.variable_ids()
    patches = {
        "update": VariableDraft(value=value),
        "hide": VariableDraft(sensitive=True),
        "taken": VariableDraft(key="key-0", value=value),
        "invalid": VariableDraft(key="no key", value=value),
    }
    if operation == "create":
        await calls.create(key=f"key-{number}", value=value)
    elif not found:
        return
    elif operation == "delete":
        target = found[number % len(found)]
        await calls.services.variables.delete(*place, target, ANY_VERSION)
    else:
        target = found[number % len(found)]
        await calls.services.variables.update(*place, target, patches[operation], ANY_VERSION)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
async def test_a_workspace_knows_what_it_holds_whatever_was_done(
    deployment: Deployment, operations: list[tuple[str, int, str]]
) -> None:
    calls = Calls(await build_tenant(deployment))
    for operation in operations:
        try:
            await operate(calls, *operation)
        except Refusal as refusal:
            assert refusal.faults[0].code.word in ("key_taken", "invalid_value")  # noqa: PT017
    stream = calls.tenant.workspaces["network"]
    held = "".join(value or "" for value in (await calls.list()).values())
    said = 0
    for known, actual in USAGE:
        said = await count(deployment.services.database, known, stream)
        assert said == int(await count(deployment.services.database, actual, stream))
    assert said >= len(held.encode())


# Readiness


@asynccontextmanager
async def installation_on(url: str) -> AsyncIterator[Installation]:
    async with opened(url) as database:
        yield Installation(database)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store of this test's own that has nothing yet, on each engine."""
    with fresh(request, tmp_path) as url:
        yield url


async def test_an_installation_is_ready_step_by_step(empty_url: str) -> None:
    keys = keyring.generate()
    async with installation_on(empty_url) as installation:
        assert not await installation.is_initialised()
        with pytest.raises(NotReady, match="migrate up"):
            await installation.require_ready(keys)
        assert await installation.migrate() == list(migrations.known())
        assert not (await installation.outstanding()).missing
        await installation.adopt(keys)  # which is for a store that had a keyring
        assert not await installation.is_initialised()
        with pytest.raises(NotReady, match="teamvars init"):
            await installation.require_ready(keys)
        assert await installation.initialise(keys, operator())
        await installation.require_ready(keys)
        assert await installation.is_initialised()
        assert not await installation.initialise(keys, operator())
        begun = partial(streams.search, wanted=AuditFilter(action="server-key.create"), limit=2)
        (noted,) = await installation.database.read(begun)
        assert keys.server is not None
        assert noted.subject_id == keys.server.active


@pytest.mark.parametrize(
    "altered",
    ["DELETE FROM schema_migrations", "UPDATE schema_migrations SET checksum = 'another'"],
)
async def test_a_store_whose_schema_is_a_part_or_was_altered_is_not_ready(
    own_url: str, altered: str
) -> None:
    async with installation_on(own_url) as installation:
        assert not (await installation.outstanding()).missing
        await installation.database.migrate(lambda tx: tx.execute(altered))
        with pytest.raises(NotReady):
            await installation.outstanding()


async def test_nodes_that_begin_at_once_agree_on_one_keyring(own_url: str) -> None:
    keys = [keyring.generate() for _ in range(3)]
    async with installation_on(own_url) as one, installation_on(own_url) as other:
        await one.migrate()
        outcomes = await asyncio.gather(
            *(
                node.initialise(k, operator())
                for node, k in zip((one, other, one), keys, strict=True)
            ),
            return_exceptions=True,
        )
        assert outcomes.count(True) == 1
        assert sum(isinstance(outcome, NotReady) for outcome in outcomes) == 2
        await other.require_ready(keys[outcomes.index(True)])


async def test_another_keyring_is_refused_and_touches_nothing(own_calls: Calls) -> None:
    deployment = own_calls.tenant.deployment
    stranger = keyring.generate()
    imposter = keyring.Keyring(
        keyring.KeySet(
            deployment.keys.master.active, dict.fromkeys(deployment.keys.master.keys, b"k" * 32)
        ),
        deployment.keys.audit,
    )
    half = keyring.Keyring(deployment.keys.master, stranger.audit)
    before = await dump(own_calls.services.database)
    for keys in (stranger, imposter, half):
        for asked in (
            own_calls.services.installation.require_ready(keys),
            own_calls.services.installation.initialise(keys, operator()),
        ):
            with pytest.raises(NotReady, match="not this database's"):
                await asked
    assert await dump(own_calls.services.database) == before
    await own_calls.services.installation.require_ready(deployment.keys)


# Sealed values


ANOTHER_ROWS = (
    "UPDATE variables SET sealed_value = (SELECT v.sealed_value FROM variables v "
    "WHERE v.workspace_id = $1 AND v.key = 'a') WHERE workspace_id = $1 AND key = 'b'"
)
FLAG = "UPDATE variables SET sensitive = 0 WHERE workspace_id = $1 AND key = 'hidden'"


@pytest.mark.parametrize(("move", "place"), [(ANOTHER_ROWS, 1), (FLAG, 2)])
async def test_a_value_that_was_moved_in_the_database_is_not_shown(
    calls: Calls, move: str, place: int
) -> None:
    await calls.create(key="a", value="of a")
    await calls.create(key="b", value="of b")
    await calls.create(key="hidden", value="of nobody", sensitive=True)
    workspace = calls.tenant.workspaces["network"]

    async def attack(tx: Transaction) -> None:
        await tx.execute(move, workspace)

    await calls.services.database.write(attack)
    moved = (await calls.variable_ids())[place]
    read = calls.services.variables.read(
        caller(calls.tenant, "owner"), ToWorkspace(workspace), moved
    )
    assert await refusal_of(read) == "damaged_value"
