"""What there is in the store is counted for whoever watches a node."""

from collections.abc import Iterator

import pytest

from teamvars import metrics
from teamvars.metrics import METRICS
from teamvars.metrics.memory import Memory, Nowhere
from teamvars.services.stock import DATA_KEYS, OVERDUE, WAITING
from teamvars.storage import memos
from teamvars.storage.database import Transaction
from tests.support.deployment import Deployment
from tests.support.tenant import Tenant


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Where this process counts until the test has ended."""
    memory = Memory()
    metrics.count_in(memory)
    yield memory
    for metric in METRICS.values():
        metric.move(Nowhere())


def told(memory: Memory, name: str) -> dict[tuple[str, ...], float]:
    """The values of a gauge by its labels."""
    return {
        series.labels: memory.numbers[series.at]
        for series in memory.series()
        if series.name == name
    }


async def test_messages_that_wait_are_counted_and_how_long_the_first_has_been_due(
    deployment: Deployment, memory: Memory
) -> None:
    stock, database = deployment.services.stock, deployment.services.database
    before, _ = await database.read(memos.outbox)
    now = database.now()

    async def write(tx: Transaction) -> None:
        sql = (
            "INSERT INTO memos (id, address, subject, text, due_at, attempts) "
            "VALUES ($1, 'a@b.example', 's', 't', $2, 0)"
        )
        await tx.execute(sql, "memo-early", now - 90_000_000)
        await tx.execute(sql, "memo-late", now + 90_000_000)

    await database.write(write)
    await stock.count()
    assert told(memory, WAITING.name) == {(): before + 2}
    assert told(memory, OVERDUE.name)[()] >= 90
    await database.write(lambda tx: tx.execute("DELETE FROM memos WHERE id LIKE 'memo-%'"))
    await stock.count()
    assert told(memory, WAITING.name) == {(): before}


async def test_data_keys_are_counted_by_master_key_and_generation_and_what_is_gone_is_0(
    tenant: Tenant, memory: Memory
) -> None:
    deployment = tenant.deployment
    stock, database = deployment.services.stock, deployment.services.database
    await stock.count()
    master = deployment.keys.master.active
    (organizations,) = await database.read(
        lambda tx: tx.fetch("SELECT count(*) FROM organizations WHERE id <> 'none'")
    )
    first = {(master, "1"): organizations[0]}
    assert told(memory, DATA_KEYS.name) == first
    another = (
        "INSERT INTO data_keys (organization_id, version, master_key_id, wrapped, created_at) "
        "SELECT organization_id, 9, master_key_id, wrapped, created_at FROM data_keys LIMIT 1"
    )
    await database.write(lambda tx: tx.execute(another))
    await stock.count()
    assert told(memory, DATA_KEYS.name) == {**first, (master, "9"): 1}
    await database.write(lambda tx: tx.execute("DELETE FROM data_keys WHERE version = 9"))
    await stock.count()
    assert told(memory, DATA_KEYS.name) == {**first, (master, "9"): 0}
