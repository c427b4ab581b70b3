"""What an installation is asked before anything is served, without a store."""

import asyncio
import gc
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from teamvars.services import installation
from teamvars.services.installation import Filled, Installation, upgrade
from teamvars.storage import installation as rows
from teamvars.storage import migrations
from teamvars.storage.engines import schemas
from teamvars.storage.engines.schemas import Progress

ONE, TWO, *_ = migrations.known()
SOME = {1: object()}
AHEAD = 400
"""How many rows are behind the first page of a backfill."""


class Store:
    """One whose schema is `there`, and in which the work goes on step by step; `asked` is by what
    it was looked at, and `contracts` whether each step could end the work of older nodes.
    """

    def __init__(self, there: object, *steps: Progress | None) -> None:
        self.there = there
        self.steps = list(steps)
        self.asked: list[object] = []
        self.contracts: list[bool] = []

    async def read(self, body: Any) -> Any:
        self.asked.append(body)
        answers = {schemas.schema: self.there, rows.knows_keys: "it knows"}
        return AHEAD if isinstance(body, partial) else answers.get(body)

    async def migrate(self, body: Any) -> Any:
        self.contracts.append(body.keywords["contract"])
        return self.steps.pop(0)


def has(there: object, *steps: Progress | None) -> Any:
    return Store(there, *steps)


@pytest.mark.parametrize(
    ("there", "wanted", "contract"), [({}, False, True), (SOME, False, False), (SOME, True, True)]
)
async def test_what_older_nodes_do_is_ended_where_that_is_wanted_or_there_are_none(
    there: object, wanted: bool, contract: bool
) -> None:
    store = has(there, Progress(ONE, 0, True), None)
    assert await upgrade(store, lambda _: None, contract=wanted) == [ONE]
    assert store.contracts == [contract] * 2


async def test_of_each_backfill_is_told_how_far_it_is_in_all() -> None:
    steps = [Progress(ONE, 0, False), Progress(ONE, 50, False), Progress(ONE, 7, True)]
    steps += [Progress(TWO, 9, True)]
    told: list[Filled] = []
    ended = await upgrade(has(SOME, *steps, None), told.append, contract=False)
    assert ended == [ONE, TWO]
    assert told == [
        Filled(ONE, 50, 50 + AHEAD),
        Filled(ONE, 57, 50 + AHEAD),
        Filled(TWO, 9, 9 + AHEAD),
    ]


@pytest.mark.parametrize(("there", "asked"), [({}, [schemas.require_whole]), ({0: object()}, [])])
async def test_a_store_without_migrations_must_not_be_a_part_of_one(
    there: object, asked: Sequence[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("check", "missing", "unfinished", "contracts"):
        monkeypatch.setattr(schemas, name, lambda _: [])
    store = has(there)
    await Installation(store, lambda: 0).outstanding()
    assert store.asked == [schemas.schema, *asked]


@pytest.mark.parametrize(("there", "knows"), [({}, False), (SOME, "it knows")])
async def test_a_store_without_a_schema_knows_no_keyring(there: object, knows: object) -> None:
    assert await Installation(has(there), lambda: 0).is_initialised() == knows


async def test_nobody_complains_of_a_check_that_failed_or_was_ended_for_nobody() -> None:
    loop, complaints = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, said: complaints.append(said))
    failed, ended = loop.create_future(), loop.create_future()
    failed.set_exception(ValueError())
    ended.cancel()
    retrieve: Any = installation._retrieve
    retrieve(failed)
    retrieve(ended)
    del failed
    gc.collect()
    assert complaints == []
