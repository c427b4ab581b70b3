"""What reaches a workspace is read at once or, if it is much, in turns, and is of one moment."""

import random

import pytest

from teamvars.storage import effective
from teamvars.storage.database import Transaction
from teamvars.storage.effective import KeptRows
from tests.storage.levels import AT_ONCE, Made, made, stored
from tests.storage.stores import bring_up, opened
from tests.support.observed_transaction import ObservedTransaction


def an_organization() -> tuple[Made, str]:
    """One with a workspace that three sets or more reach."""
    for number in range(AT_ONCE):
        one = made(number, random.Random(number))
        for workspace, place in one.places.items():
            reaching = [
                each
                for each in one.sets
                if each.is_global or not each.targets.isdisjoint((workspace, place))
            ]
            if len(reaching) >= 3:
                return one, workspace
    raise AssertionError


class Asked(list[object]):
    """What was asked of a store, and how often somebody paused."""

    pauses = 0

    async def pause(self) -> None:
        self.pauses += 1

    def note(self, sql: str, args: tuple[object, ...]) -> None:
        self.append(args)


READABLE = effective.READABLE


def reading(workspace: str, asked: Asked, kept: KeptRows | None = None) -> effective.Reading:
    """A reading of what lists show of a workspace."""
    return effective.Reading(READABLE, (workspace,), asked.pause, kept)


async def test_a_workspace_comes_with_one_statement_and_sets_one_by_one_where_they_are_many(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, workspace = an_organization()
    monkeypatch.setattr(effective, "_BATCH_BYTES", 0)

    async def body(tx: Transaction) -> None:
        await stored(tx, [one])
        asked = Asked()
        observed, its = ObservedTransaction(tx, asked.note), reading(workspace, asked)
        every = await its.look(observed)
        assert await its.winners(observed, every) is not None
        assert len(asked) == len(every)  # one of which has said which they are
        assert asked.pauses > len(every)

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.write(body)


async def test_what_has_moved_meanwhile_is_read_again_and_nothing_else(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, workspace = an_organization()
    monkeypatch.setattr(effective, "_BATCH_BYTES", 0)

    async def body(tx: Transaction) -> None:
        await stored(tx, [one])
        asked = Asked()
        observed, its = ObservedTransaction(tx, asked.note), reading(workspace, asked)
        every = await its.look(tx)
        moved = every[-1].source.id
        await tx.execute("UPDATE streams SET head = $1 WHERE id = $2", b"moved", moved)
        assert await its.runs(observed, every) is None
        asked.clear()
        assert await its.runs(observed, await its.look(tx)) is not None
        assert not asked  # it was read behind the move already
        await tx.execute("UPDATE streams SET head = $1 WHERE id = $2", b"again", moved)
        assert await its.runs(observed, await its.look(tx)) is not None
        assert len(asked) == 1
        assert moved in str(asked[0])

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.write(body)


async def test_a_set_is_read_once_for_all_workspaces_until_it_or_the_keys_are_others(
    empty_url: str,
) -> None:
    one, workspace = an_organization()

    async def body(tx: Transaction) -> None:
        await stored(tx, [one])
        kept, asked = KeptRows(1024 * 1024), Asked()
        observed = ObservedTransaction(tx, asked.note)

        async def read(keys: bytes) -> tuple[int, object]:
            asked.clear()
            its = reading(workspace, asked, kept)
            every = await its.look(tx)
            return len(asked), await its.runs(observed, every, keys)

        every = await effective.supplies(tx, workspace)
        first = await read(b"keys")
        assert asked
        assert await read(b"keys") == first
        assert not asked
        assert await read(b"others") == first
        assert asked
        moved = every[-1].source.id
        await tx.execute("UPDATE streams SET head = $1 WHERE id = $2", b"moved", moved)
        await read(b"others")
        assert len(asked) == 1
        assert moved in str(asked[0])

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.write(body)
