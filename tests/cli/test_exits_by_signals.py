"""What a signal that ends a command leaves to be cleared up, or to be told."""

import asyncio
import signal

import pytest

from teamvars.cli.exits import UNKNOWN_OUTCOME, clearing_up
from teamvars.cli.operator.context import telling_of_change
from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for
from tests.support.commands import Host


def test_a_second_signal_interrupts_nothing_that_is_cleared_up() -> None:
    """A terminal that closes sends one, and its shell another."""
    before = signal.getsignal(signal.SIGTERM)
    cleared = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGQUIT)
            cleared.append("all")

    with pytest.raises(SystemExit) as ended, clearing_up():
        work()
    assert ended.value.code == 128 + signal.SIGTERM
    assert cleared == ["all"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_whoever_interrupts_a_change_that_happens_nevertheless_is_told_so(
    migrated_host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    url = migrated_host.settings.get("DATABASE_URL", f"sqlite:///{migrated_host.data}/teamvars.db")

    async def interrupted() -> None:
        command = asyncio.current_task()
        assert command is not None

        async def change(tx: Transaction) -> None:
            command.cancel()  # as Ctrl-C does
            await tx.execute("CREATE TABLE made (place INTEGER)")

        async with database_for(url) as database:
            with telling_of_change(database):
                await database.write(change)

    async def found() -> object:
        async with database_for(url) as database:
            return await database.query(lambda tx: tx.fetch("SELECT place FROM made"))

    with pytest.raises(SystemExit) as ended:
        asyncio.run(interrupted())
    assert ended.value.code == UNKNOWN_OUTCOME
    assert capsys.readouterr().err.startswith("teamvars: Interrupted. The change that is under way")
    assert asyncio.run(found()) == []
