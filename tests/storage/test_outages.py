"""An outage is told once, with what the driver said, and its end once."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from teamvars.domain.errors import Refusal, not_found
from teamvars.storage.database import Transaction
from teamvars.storage.engines.outages import WatchedDatabase, reason
from teamvars.storage.engines.sqlite import SqliteDatabase


async def look(tx: Transaction) -> None:
    await tx.fetch("SELECT 1")


async def find_nothing(_: Transaction) -> None:
    raise not_found()


async def refused(work: Awaitable[object]) -> None:
    with pytest.raises(Refusal):
        await work


async def test_an_outage_and_its_end_are_told_once_each_whatever_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "teamvars.db"
    database = WatchedDatabase(SqliteDatabase(path, create=True))
    await database.open()
    asked: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: database.read(look),
        lambda: database.query(look),
        lambda: database.write(look),
        lambda: database.batch(look, database.deadline(), waits=False),
    )
    with capture_logs() as lines:
        for again in range(2):
            path.rename(path.with_suffix(".away"))
            await asyncio.gather(*[refused(ask()) for ask in asked])
            assert len(lines) == 2 * again + 1
            path.with_suffix(".away").rename(path)
            await refused(database.read(find_nothing))
            await asyncio.gather(*[ask() for ask in asked])
    assert [line["event"] for line in lines] == [
        "storage is unavailable",
        "storage is available again",
    ] * 2
    assert {line["log_level"] for line in lines} == {"warning"}
    assert lines[0]["reason"].startswith("FileNotFoundError: ")
    await database.close()


async def test_a_file_that_is_no_database_is_told_in_the_drivers_words(tmp_path: Path) -> None:
    path = tmp_path / "teamvars.db"
    path.write_text("no database at all" * 100)
    database = WatchedDatabase(SqliteDatabase(path))
    with capture_logs() as lines:
        await refused(database.open())
        await refused(database.query(look))
    assert [line["reason"] for line in lines] == ["NotADBError: file is not a database"]
    await database.close()


def test_further_lines_of_a_drivers_error_are_left_out() -> None:
    error = OSError("no space\nDETAIL:  Failing row contains (hunter2).")
    assert reason(error) == "OSError: no space"
    assert reason(TimeoutError()) == "TimeoutError"
