"""Lookups in one statement: each caller has its own rows, and none old ones."""

import asyncio
import math
from collections.abc import Callable, Sequence

import asyncpg
import pytest
from msgspec.structs import force_setattr

from teamvars.domain.errors import storage_unavailable
from teamvars.storage.database import Lookup, Row
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines.coalescing import BATCH_LIMIT
from teamvars.storage.engines.postgres import Queries
from tests.storage.stores import words
from tests.support.tenant import Tenant, variable_document

LOOKUP = Lookup("one", "many")


class Slow:
    """A store that answers when it is told to, and notes what it was asked."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.go = asyncio.Event()
        self.failure: Exception | None = None
        """What the next statement raises."""
        self.damaged: object = None
        """Whose rows no statement can read."""

    async def fetch(self, _: Deadline, sql: str, *args: object) -> Sequence[Row]:
        self.statements.append(sql)
        await self.go.wait()
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        if self.damaged in (args if sql == "one" else args[0]):  # type: ignore[operator]
            raise storage_unavailable(asyncpg.DataCorruptedError("invalid page in block 3"))
        if sql == "one":
            return found(args[0])
        (asked,) = args
        assert isinstance(asked, list)
        return [(n, *row) for n, number in enumerate(asked, start=1) for row in found(number)]


def found(number: object) -> list[Row]:
    """As many rows as the number says."""
    assert isinstance(number, int)
    return [(number, nth) for nth in range(number)]


def never() -> Deadline:
    """The deadline of who has all the time there is."""
    return Deadline.after(math.inf)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
        await asyncio.sleep(0)


async def test_everybody_who_waits_shares_the_next_statement() -> None:
    store = Slow()
    lookups = Queries(store.fetch, never)
    first = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 7))
    await until(lambda: store.statements == ["one"])
    others = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(20)]
    await asyncio.sleep(0)
    store.go.set()
    assert await first == found(7)
    assert await asyncio.gather(*others) == [[], *map(found, range(1, 20))]
    assert store.statements == ["one", "many"]


async def test_nobody_is_answered_by_a_statement_that_began_before_they_asked() -> None:
    store = Slow()
    lookups = Queries(store.fetch, never)
    early = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 1))
    await until(lambda: store.statements == ["one"])
    late = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 1))
    store.go.set()
    await asyncio.gather(early, late)
    assert store.statements == ["one", "one"]


async def test_a_statement_that_fails_fails_its_callers_and_no_others() -> None:
    store = Slow()
    lookups = Queries(store.fetch, never)
    store.failure = ConnectionResetError()
    callers = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(3)]
    await until(lambda: store.statements != [])
    store.go.set()
    for caller in callers:
        with pytest.raises(ConnectionResetError):
            await caller
    assert await lookups.look_up_all(LOOKUP, 5) == found(5)


async def test_who_asks_for_what_is_damaged_is_refused_alone() -> None:
    store = Slow()
    store.damaged = 2
    lookups = Queries(store.fetch, never)
    first = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 2))
    await until(lambda: store.statements == ["one"])
    # In the queue behind it, and then in one statement.
    callers = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(4)]
    store.go.set()
    outcomes = await asyncio.gather(first, *callers, return_exceptions=True)
    assert words(*outcomes) == [
        "storage_unavailable",
        "done",
        "done",
        "storage_unavailable",
        "done",
    ]
    assert [await callers[n] for n in (0, 1, 3)] == [found(n) for n in (0, 1, 3)]


async def test_who_has_no_time_left_is_refused_alone() -> None:
    store, left = Slow(), iter([never(), Deadline(math.inf, 1, latest=0), *[never()] * 80])
    lookups = Queries(store.fetch, lambda: next(left))
    first = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 1))
    await until(lambda: store.statements == ["one"])
    others = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(81)]
    await asyncio.sleep(0)
    store.go.set()
    assert await first == found(1)
    late, *rest = await asyncio.gather(*others, return_exceptions=True)
    assert words(late) == ["storage_unavailable"]
    assert rest == [*map(found, range(1, 81))]


async def test_a_statement_that_ends_with_one_callers_time_is_asked_again_for_the_others() -> None:
    store, short = Slow(), Deadline(math.inf, 1)
    left = iter([short, never(), never()])
    lookups = Queries(store.fetch, lambda: next(left))
    callers = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(3)]
    await until(lambda: store.statements == ["many"])
    store.failure = storage_unavailable()
    force_setattr(short, "latest", 0.0)  # so much time has gone by
    store.go.set()
    late, *rest = await asyncio.gather(*callers, return_exceptions=True)
    assert words(late) == ["storage_unavailable"]
    assert rest == [found(1), found(2)]
    assert store.statements == ["many", "many"]


async def test_a_caller_who_goes_away_leaves_the_others_their_answers() -> None:
    store = Slow()
    lookups = Queries(store.fetch, never)
    callers = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(1, 4)]
    await until(lambda: store.statements != [])
    callers[0].cancel()
    callers[1].cancel()
    store.go.set()
    assert await callers[2] == found(3)


async def test_nobody_asks_for_those_who_went_away_while_they_waited() -> None:
    store = Slow()
    lookups = Queries(store.fetch, never)
    first = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 1))
    await until(lambda: store.statements != [])
    gone = [asyncio.ensure_future(lookups.look_up_all(LOOKUP, n)) for n in range(1000)]
    last = asyncio.ensure_future(lookups.look_up_all(LOOKUP, 2))
    await asyncio.sleep(0)
    for caller in gone:
        caller.cancel()
    await asyncio.sleep(0)
    store.go.set()
    assert [await first, await last] == [found(1), found(2)]
    assert store.statements == ["one", "one"]


async def test_more_callers_than_fit_go_into_several_statements() -> None:
    store = Slow()
    store.go.set()
    lookups = Queries(store.fetch, never)
    many = 2 * BATCH_LIMIT + 1
    answers = await asyncio.gather(*(lookups.look_up_all(LOOKUP, n) for n in range(1, many + 1)))
    assert answers == [found(n) for n in range(1, many + 1)]
    assert store.statements == ["many", "many", "one"]


async def test_callers_who_list_at_the_same_time_each_get_what_they_may_see(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    callers = ["owner", "writer", "reader", "plain", "outsider", "owners-token", None] * 15
    answers = await asyncio.gather(*(tenant.call(w, "GET", tenant.vars_path()) for w in callers))
    expected = {"plain": 404, "outsider": 404, None: 401}
    for who, answer in zip(callers, answers, strict=True):
        assert answer.status_code == expected.get(who, 200)
    elsewhere = f"/workspaces/{tenant.other_workspace}/vars"
    mixed = await asyncio.gather(
        *(
            tenant.call("outsider", "GET", path)
            for path in (tenant.vars_path(), elsewhere, "/workspaces/ws-none/vars") * 20
        )
    )
    assert [answer.status_code for answer in mixed] == [404, 200, 404] * 20


async def test_lists_that_are_asked_for_at_the_same_time_are_each_their_own(
    tenant: Tenant,
) -> None:
    await tenant.make_variable("a-region")
    await tenant.make_variable("secret", value="hidden", sensitive=True)
    path = tenant.vars_path("payments")
    long = [variable_document(key=f"key-{n}", value="v" * 2000) for n in range(60)]
    answers = await asyncio.gather(*(tenant.call("owner", "POST", path, one) for one in long))
    assert {answer.status_code for answer in answers} == {201}
    elsewhere = f"/workspaces/{tenant.other_workspace}/vars"
    asked = [("owner", tenant.vars_path()), ("owner", path), ("outsider", elsewhere)]
    at_once = await asyncio.gather(*(tenant.call(who, "GET", path) for who, path in asked))
    found = [
        [(one["attributes"]["key"], one["attributes"]["value"]) for one in answer.json()["data"]]
        for answer in at_once
    ]
    ordered = sorted((f"key-{n}", "v" * 2000) for n in range(60))
    assert found == [[("a-region", "eu"), ("secret", None)], ordered, []]
