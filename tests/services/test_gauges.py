"""What there is in the store is counted for whoever watches a node."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from teamvars import settings, wiring
from teamvars.domain.keys import AUDIT, DATA, MASTER
from teamvars.metrics import Gauge, Memory
from teamvars.security import keyring
from teamvars.services import gauges as service
from teamvars.services.gauges import COUNTED, ENDLESS, KEY_USES, OVERDUE, QUEUES, SEALS, WAITING
from teamvars.storage import data_keys, keys
from teamvars.storage.database import Transaction
from tests.services.calls import Calls
from tests.services.jobs import Job, approve, propose
from tests.services.test_keys import Hand
from tests.support.commands import Host
from tests.support.counting import counting, told
from tests.support.deployment import Deployment, started
from tests.support.patience import until
from tests.support.tenant import Tenant, variable_document

HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody rests after a page: on a host that is busy that takes minutes."""
    monkeypatch.setattr(service, "_PAUSE", 0)


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Where this process counts until the test has ended."""
    with counting() as memory:
        yield memory


async def test_messages_of_each_kind_that_wait_are_counted_and_how_long_the_first_has_been_due(
    tenant: Tenant, memory: Memory
) -> None:
    gauges, database = tenant.deployment.services.gauges, tenant.deployment.services.database
    execute = tenant.deployment.execute
    before = sum([(await database.read(queue.waiting))[0] for queue in QUEUES])
    now = database.now()
    of_memo = (
        "INSERT INTO memos (id, address, subject, text, due_at, attempts) "
        "VALUES ($1, 'a@b.example', 's', 't', $2, 0)"
    )
    invited = (
        "INSERT INTO invitations (membership_id, expires_at, delivery, sealed_secret, due_at) "
        "SELECT min(id), $2, 'waiting', $1, $2 FROM memberships"
    )
    kinds = ((of_memo, "memo-1", 10), (invited, b"sealed", 300))
    for number, (sql, id_, seconds) in enumerate(kinds, 1):
        await execute(sql, id_, now - seconds * 1_000_000)
        await gauges.count()
        assert told(memory, WAITING.name) == {(): before + number}
        assert told(memory, OVERDUE.name)[()] >= seconds
    await execute(of_memo, "memo-2", now + 90_000_000)
    await gauges.count()
    assert told(memory, WAITING.name) == {(): before + len(kinds) + 1}
    await execute("DELETE FROM memos WHERE id IN ('memo-1', 'memo-2')")
    await execute("DELETE FROM invitations WHERE sealed_secret = $1", b"sealed")


async def test_what_needs_each_key_is_counted_through_all_pages_and_what_is_gone_is_0(
    tenant: Tenant, memory: Memory
) -> None:
    deployment = tenant.deployment
    gauges, database = deployment.services.gauges, deployment.services.database
    path = f"/workspaces/{tenant.workspaces['network']}/vars"
    for number in range(3):
        document = variable_document(key=f"key-{number}")
        assert (await tenant.call("owner", "POST", path, document)).status_code == 201
    await gauges.count_key_uses()
    first = told(memory, KEY_USES.name)
    assert first == await said_of_keys(deployment)
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
    await gauges.count_key_uses()
    assert told(memory, KEY_USES.name) == {**first, ("data-2", "variables"): 250}
    await database.write(lambda tx: tx.execute("DELETE FROM variables WHERE key_version = 2"))
    await gauges.count_key_uses()
    assert told(memory, KEY_USES.name) == {**first, ("data-2", "variables"): 0}


async def said_of_keys(deployment: Deployment) -> dict[tuple[str, str], int]:
    """What needs each key, as whoever wants to retire it is told."""
    found = await deployment.services.keys.status()
    return {(key.id, what): count for key in found for what, count in key.needed.items()}


async def test_what_only_expires_or_is_signed_anew_is_counted_by_its_key(
    own_calls: Calls, tmp_path: Path, memory: Memory
) -> None:
    gauges, database = own_calls.services.gauges, own_calls.services.database
    hand = Hand(own_calls.node, tmp_path / "keyring.json")
    await approve(own_calls.tenant, await propose(own_calls.tenant))
    await Job.new(own_calls.tenant).exchange()
    (audit, _), (master, _) = await hand.replaced(AUDIT), await hand.replaced(MASTER)

    async def keep(tx: Transaction) -> None:
        sql = "INSERT INTO idempotency_records VALUES ($1, 'p', $2, $3, 1, $4, $3)"
        for name, end in (("live", database.now() + HOUR), ("ended", database.now() - HOUR)):
            await tx.execute(sql, name, master, b"x", end)

    await database.write(keep)
    await gauges.count_key_uses()
    first = told(memory, KEY_USES.name)
    assert first == await said_of_keys(own_calls.node)
    assert (first[master, "kept answers"], first[audit, "approvals"]) == (1, 1)
    assert first[audit, "tokens of jobs"] == 1
    assert first[audit, "heads of streams"] > 1
    await hand.keys.sign_anew()
    await gauges.count_key_uses()
    assert (audit, "heads of streams") not in await said_of_keys(own_calls.node)
    now = told(memory, KEY_USES.name)
    assert (now[audit, "heads of streams"], now[audit, "approvals"]) == (0, 0)


async def test_others_have_a_turn_after_each_page_of_what_is_counted(tenant: Tenant) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    await tenant.deployment.services.gauges.count_key_uses()
    waiting.cancel()
    assert turns > len(keys.USES) + len(data_keys.USES)


async def test_tokens_that_never_end_are_counted_and_others_are_not(
    tenant: Tenant, memory: Memory
) -> None:
    services = tenant.deployment.services
    (before,) = await services.database.read(
        lambda tx: tx.fetch("SELECT count(*) FROM tokens WHERE expires_at IS NULL")
    )
    await services.gauges.count()
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
    await services.gauges.count()
    assert told(memory, ENDLESS.name) == {(): before[0] + 2}


async def test_the_entries_that_seals_have_left_are_counted_since_the_data_key_is_in_use(
    own_calls: Calls, tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_keys, "_PAGE_ENTRIES", 3)
    gauges, database = own_calls.services.gauges, own_calls.services.database
    for number in range(8):
        await own_calls.create(key=f"key-{number}")
    at = database.now()
    await database.write(lambda tx: tx.execute("UPDATE audit_entries SET at = $1", at))
    most = await database.read(partial(data_keys.busiest, since=0))
    assert most is not None
    await gauges.count_seals()
    assert told(memory, SEALS.name) == {(): most.entries}
    hand = Hand(own_calls.node, tmp_path / "keyring.json")
    await hand.activate(await hand.add(DATA))
    await gauges.count_seals()
    assert told(memory, SEALS.name) == {(): 0}
    await own_calls.create(key="late")
    await gauges.count_seals()
    assert told(memory, SEALS.name) == {(): 1}


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
    loaded = keyring.load(config.keyring_path)
    wanted = COUNTED if number == 1 else ENDLESS
    async with started(wiring.asgi(config, loaded, memories=memories)):
        await until(lambda: has_told(memory, wanted))
    assert bool(told(memory, COUNTED.name)) is (number == 1)


async def has_told(memory: Memory, gauge: Gauge) -> bool:
    """Whether anybody has said how much there is."""
    return () in told(memory, gauge.name)
