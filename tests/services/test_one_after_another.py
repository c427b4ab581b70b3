"""Whoever makes one change after another is asked for no more than that takes, and what somebody
else has changed in between counts each time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.domain.workspaces import Usage, WorkspaceDraft
from teamvars.storage.access_statements import READ_WORKSPACE
from teamvars.storage.engines import combined, connections, postgres
from teamvars.storage.engines.combined import Expectations, Expected
from tests.services.calls import Calls, caller, draft
from tests.services.test_data_keys import use_another
from tests.storage.proxy import way_to
from tests.storage.stores import words
from tests.support.deployment import open_deployment
from tests.support.tenant import build_tenant

ASLEEP = "SELECT pg_sleep(0.1)"
ROUNDS = 3
"""By then a node expects what it finds."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What PostgreSQL is asked, statement by statement."""
    found: list[str] = []
    fetch = postgres.PostgresTransaction.fetch

    async def noted(self: Any, sql: str, *args: object) -> Any:
        found.append(sql)
        return await fetch(self, sql, *args)

    monkeypatch.setattr(postgres.PostgresTransaction, "fetch", noted)
    return found


@pytest.mark.parametrize("furnished_store", ["postgres"], indirect=True)
async def test_each_is_one_statement_and_one_more_for_the_variable_that_it_changes(
    calls: Calls, asked: list[str]
) -> None:
    made, *_ = [await calls.create("writer", key=f"before-{n}") for n in range(ROUNDS)]
    asked.clear()
    await calls.create("writer", key="after")
    assert len(asked) == 1
    place = ToWorkspace(calls.tenant.workspaces["network"]), made.id
    variables, who = calls.services.variables, calls.tenant
    await variables.update(caller(who, "writer"), *place, VariableDraft(value="new"), ANY_VERSION)
    assert len(asked) == 3
    await variables.delete(caller(who, "writer"), *place, ANY_VERSION)
    assert len(asked) == 5
    assert await calls.list() == {"before-1": "eu", "before-2": "eu", "after": "eu"}
    assert await calls.node.audit_holds()


async def revoke(calls: Calls) -> None:
    hash_ = caller(calls.tenant, "writer").token_hash
    await calls.node.execute("DELETE FROM tokens WHERE hash = $1", hash_)


async def expire(calls: Calls) -> None:
    hash_ = caller(calls.tenant, "writer").token_hash
    await calls.node.execute("UPDATE tokens SET expires_at = 1 WHERE hash = $1", hash_)


async def disable(calls: Calls) -> None:
    user = calls.tenant.users["writer"]
    await calls.node.execute("UPDATE users SET disabled = 1 WHERE id = $1", user)


async def leave(calls: Calls) -> None:
    one = calls.tenant.memberships["writer"]
    await calls.node.execute("DELETE FROM team_members WHERE membership_id = $1", one)


async def lower(calls: Calls) -> None:
    one = calls.tenant.workspaces["network"]
    await calls.node.execute("UPDATE grants SET level = 1 WHERE workspace_id = $1", one)


async def end(calls: Calls) -> None:
    one = calls.tenant.workspaces["network"]
    who = caller(calls.tenant, "owner")
    await calls.services.workspaces.delete(who, one, only_unlocked=False)


Meanwhile = Callable[[Calls], Awaitable[object]]


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [
        (revoke, "unauthenticated"),
        (expire, "unauthenticated"),
        (disable, "unauthenticated"),
        (leave, "not_found"),
        (lower, "forbidden"),
        (end, "not_found"),
    ],
)
async def test_who_may_no_longer_is_refused_the_next(
    both_nodes: tuple[Calls, Calls], meanwhile: Meanwhile, said: str
) -> None:
    one, other = both_nodes
    for n in range(ROUNDS):
        await one.create("writer", key=f"before-{n}")
    await meanwhile(other)
    place = ToWorkspace(one.tenant.workspaces["network"])
    for _ in range(ROUNDS):
        who = caller(one.tenant, "writer")
        with pytest.raises(Refusal) as refused:
            await one.services.variables.create(who, place, draft(key="after"))
        assert words(refused.value) == [said]
        assert (who.actor is None) == (said == "unauthenticated")  # or it would count as used
    assert await one.node.audit_holds()


@pytest.mark.parametrize("column", ["sequence", "link", "head"])
async def test_a_stream_that_somebody_has_altered_has_no_next(
    own_calls: Calls, column: str
) -> None:
    for n in range(ROUNDS):
        await own_calls.create("writer", key=f"before-{n}")
    one = own_calls.tenant.workspaces["network"]
    sql = f"UPDATE streams SET {column} = (SELECT {column} FROM streams WHERE id = 'system')"  # noqa: S608
    await own_calls.node.execute(f"{sql} WHERE id = $1", one)
    with pytest.raises(Refusal) as refused:
        await own_calls.create("writer", key="after")
    assert words(refused.value) == ["trail_altered"]
    assert len(await own_calls.list()) == ROUNDS


async def rename(calls: Calls) -> None:
    one = calls.tenant.workspaces["network"]
    draft = WorkspaceDraft(name="renamed")
    await calls.services.workspaces.update(caller(calls.tenant, "owner"), one, draft)


async def make(calls: Calls) -> None:
    await calls.create(key="theirs")


@pytest.mark.parametrize("meanwhile", [rename, make, use_another])
async def test_what_others_have_changed_is_what_the_next_goes_by(
    both_nodes: tuple[Calls, Calls], meanwhile: Meanwhile
) -> None:
    one, other = both_nodes
    place = ToWorkspace(one.tenant.workspaces["network"])
    for n in range(ROUNDS):
        await one.create("writer", key=f"before-{n}")
    await meanwhile(one if meanwhile is use_another else other)
    who = caller(one.tenant, "writer")
    await one.services.variables.create(who, place, draft(key="after"))
    assert who.place is not None
    assert who.place.workspace == ("renamed" if meanwhile is rename else "network")
    assert (await one.list())["after"] == "eu"
    assert await one.node.audit_holds()


async def test_two_nodes_that_take_turns_expect_nothing_of_each_other(
    both_nodes: tuple[Calls, Calls],
) -> None:
    for n in range(2 * ROUNDS):
        await both_nodes[n % 2].create("writer", key=f"key-{n}")
    assert len(await both_nodes[0].list()) == 2 * ROUNDS
    assert await both_nodes[0].node.audit_holds()


@asynccontextmanager
async def losing_all(url: str) -> AsyncIterator[Calls]:
    """A node that makes one change after another, and has just lost all of its connections."""
    async with way_to(url) as way, open_deployment(way.url) as node:
        calls = Calls(await build_tenant(node))
        for n in range(ROUNDS):
            await calls.create("writer", key=f"before-{n}")
        asleep = [node.services.database.query(lambda tx: tx.fetch(ASLEEP)) for _ in range(4)]
        await asyncio.gather(*asleep)  # each on a connection of its own
        await calls.create("writer", key="just-before")
        way.lose()
        yield calls


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
async def test_whoever_is_next_after_a_pause_does_not_notice_that_connections_were_lost(
    own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FRESH_SECONDS", 0)
    async with losing_all(own_url) as calls:
        for n in range(ROUNDS):
            await calls.create("writer", key=f"after-{n}")
        assert len(await calls.list()) == 2 * ROUNDS + 1


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
async def test_of_changes_whose_connections_were_lost_one_alone_has_an_unknown_outcome(
    own_url: str,
) -> None:
    async with losing_all(own_url) as calls:
        with pytest.raises(Refusal) as refused:
            await calls.create("writer", key="lost")
        assert words(refused.value) == ["outcome_unknown"]
        for n in range(ROUNDS):
            await calls.create("writer", key=f"after-{n}")
        assert len(await calls.list()) == 2 * ROUNDS + 1


def found(n: int = 0, sequence: int = 1) -> Expected:
    """What a look-up of one of many workspaces has found."""
    row = ("user", f"ws-{n}", sequence, b"link", b"head", sequence, 0, 2)
    return Expected(READ_WORKSPACE, (b"token", sequence, f"ws-{n}"), row)


def left(n: int = 0, sequence: int = 2) -> Stream:
    """Where its stream was left."""
    return Stream(f"ws-{n}", "org", sequence, b"link", b"head", Usage(sequence, 0))


def test_a_row_is_expected_once_it_was_found_as_it_had_been_left() -> None:
    known = Expectations()
    known.note(found(), left())
    assert known.of(READ_WORKSPACE, (b"token", 9, "ws-0")) is None
    known.note(found(sequence=2), left(sequence=3))
    row = known.of(READ_WORKSPACE, (b"token", 9, "ws-0"))
    assert row is not None
    assert row.row == found(sequence=3).row
    assert known.of(READ_WORKSPACE, (b"other", 9, "ws-0")) is None
    known.note(found(sequence=7), left(sequence=8))  # somebody else has changed it
    assert known.of(READ_WORKSPACE, (b"token", 9, "ws-0")) is None
    known.forget([row])
    known.note(found(sequence=8), left(sequence=9))
    assert known.of(READ_WORKSPACE, (b"token", 9, "ws-0")) is None


def test_no_more_rows_are_kept_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combined, "MOST_EXPECTED", 2)
    known = Expectations()
    for n in range(3):
        for sequence in (1, 2):
            known.note(found(n, sequence), left(n, sequence + 1))
    kept = [known.of(READ_WORKSPACE, (b"token", 9, f"ws-{n}")) is not None for n in range(3)]
    assert kept == [False, True, True]
