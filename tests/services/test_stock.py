"""What there is in the store is counted for whoever watches a node."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from teamvars import metrics, settings, wiring
from teamvars.metrics import METRICS, Gauge
from teamvars.metrics.memory import Memory, Nowhere
from teamvars.security import keyring
from teamvars.services.stock import COUNTED, ENDLESS, KEY_USES, OVERDUE, WAITING
from teamvars.storage import data_keys, memos
from teamvars.storage.database import Transaction
from tests.support.commands import Host
from tests.support.deployment import Deployment, started
from tests.support.patience import until
from tests.support.tenant import Tenant, variable_document


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


async def test_what_needs_each_key_is_counted_through_all_pages_and_what_is_gone_is_0(
    tenant: Tenant, memory: Memory
) -> None:
    deployment = tenant.deployment
    stock, database = deployment.services.stock, deployment.services.database
    path = f"/workspaces/{tenant.workspaces['network']}/vars"
    for number in range(3):
        document = variable_document(key=f"key-{number}")
        assert (await tenant.call("owner", "POST", path, document)).status_code == 201
    needed = (await database.read(data_keys.needed))[1]
    await stock.count_key_uses()
    master = deployment.keys.master.active
    first = told(memory, KEY_USES.name)
    assert first == {
        (master, "data keys"): needed["organizations"],
        **{("data-1", what): count for what, count in needed.items()},
    }
    assert first["data-1", "variables"] >= 3
    assert told(memory, COUNTED.name)[()] > 0
    more = (
        "INSERT INTO variables (id, workspace_id, key, category, description, hcl, sensitive, "
        "value_bytes, version_id, created_at, sealed_value, key_version) "
        "SELECT id || '-' || $1, workspace_id, key || '-' || $1, category, description, hcl, "
        "sensitive, value_bytes, version_id, created_at, sealed_value, 2 FROM variables "
        "WHERE key = 'key-0'"
    )

    async def fill(tx: Transaction) -> None:
        for number in range(250):
            await tx.execute(more, str(number))

    await database.write(fill)
    await stock.count_key_uses()
    assert told(memory, KEY_USES.name) == {**first, ("data-2", "variables"): 250}
    await database.write(lambda tx: tx.execute("DELETE FROM variables WHERE key_version = 2"))
    await stock.count_key_uses()
    assert told(memory, KEY_USES.name) == {**first, ("data-2", "variables"): 0}


async def test_others_have_a_turn_after_each_page_of_what_is_counted(tenant: Tenant) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    await tenant.deployment.services.stock.count_key_uses()
    waiting.cancel()
    assert turns >= len(data_keys.USES)


async def test_tokens_that_never_end_are_counted_and_others_are_not(
    tenant: Tenant, memory: Memory
) -> None:
    services = tenant.deployment.services
    (before,) = await services.database.read(
        lambda tx: tx.fetch("SELECT count(*) FROM tokens WHERE expires_at IS NULL")
    )
    await services.stock.count()
    assert told(memory, ENDLESS.name) == {(): before[0]}

    async def add(tx: Transaction) -> None:
        for number, end in enumerate((None, None, 1)):
            await tx.execute(
                "INSERT INTO tokens (id, hash, user_id, created_at, expires_at) "
                "SELECT $1, $2, id, 0, $3 FROM users ORDER BY id LIMIT 1",
                f"at-more-{number}",
                bytes([number]),
                end,
            )

    await services.database.write(add)
    await services.stock.count()
    assert told(memory, ENDLESS.name) == {(): before[0] + 2}


@pytest.mark.parametrize("number", [1, 2])
async def test_the_first_worker_of_a_node_alone_counts_what_needs_each_key(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(wiring, "HOUSEKEEPING_SECONDS", 0.01)
    host = Host(tmp_path)
    host.succeed("init")
    config = settings.load(data_dir=host.data)
    memories = [Memory() for _ in range(3)]
    memories[number] = memory
    keys = keyring.load(config.keyring_path)
    wanted = COUNTED if number == 1 else ENDLESS
    async with started(wiring.asgi(config, keys, memories=memories)):
        await until(lambda: has_told(memory, wanted))
    assert bool(told(memory, COUNTED.name)) is (number == 1)


async def has_told(memory: Memory, gauge: Gauge) -> bool:
    """Whether anybody has said how much there is."""
    return () in told(memory, gauge.name)
