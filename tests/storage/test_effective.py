"""What reaches a workspace is read at once or, if it is much, in turns, and is of one moment."""

import random

import pytest

from teamvars.storage import effective
from teamvars.storage.database import Transaction
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


async def test_a_little_comes_with_one_statement_and_much_source_by_source(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, workspace = an_organization()
    monkeypatch.setattr(effective, "_BATCH_BYTES", 0)

    async def body(tx: Transaction) -> None:
        await stored(tx, [one])
        every = await effective.supplies(tx, workspace)
        for few, statements in ((effective.FEW_BYTES, 1), (-1, len(every))):
            asked = Asked()
            reading = effective.Reading(asked.pause, few=few)
            chosen = await reading.chosen(ObservedTransaction(tx, asked.note), every)
            assert chosen is not None
            assert len(asked) == statements
            assert (asked.pauses > statements) is (few < 0)

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
        observed, reading = (
            ObservedTransaction(tx, asked.note),
            effective.Reading(asked.pause, few=-1),
        )
        every = await effective.supplies(tx, workspace)
        moved = every[-1].source.id
        await tx.execute("UPDATE streams SET head = $1 WHERE id = $2", b"moved", moved)
        assert await reading.chosen(observed, every) is None
        assert await effective.Reading(asked.pause).chosen(tx, every) is None
        asked.clear()
        chosen = await reading.chosen(observed, await effective.supplies(tx, workspace))
        assert chosen is not None
        assert not asked  # it was read behind the move already
        await tx.execute("UPDATE streams SET head = $1 WHERE id = $2", b"again", moved)
        assert await reading.chosen(observed, await effective.supplies(tx, workspace)) is not None
        assert len(asked) == 1
        assert moved in str(asked[0])

    async with opened(empty_url) as database:
        await bring_up(database)
        await database.write(body)
