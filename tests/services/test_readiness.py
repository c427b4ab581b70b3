"""Whether the store can be served: asked once for all who want to know."""

import asyncio
import gc
from contextlib import suppress
from functools import partial
from typing import cast

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from teamvars.domain import keys
from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.domain.keys import NotedKey, noted_key
from teamvars.security import keyring
from teamvars.security.keyring import Keyring, KeysInUse
from teamvars.services import installation
from teamvars.services.installation import CLOCK_APART, Installation, Readiness
from teamvars.storage.database import NotReady, Transaction
from tests.services.calls import Calls, count
from tests.support.deployment import Deployment, operator
from tests.support.patience import until


class Counted(Installation):
    """Counts how often it is asked, and can be told to refuse."""

    asked = 0
    is_gone = False

    async def require_ready(self, keyring: Keyring) -> None:
        self.asked += 1
        await super().require_ready(keyring)
        if self.is_gone:
            raise storage_unavailable()


@pytest.fixture
def counted(deployment: Deployment) -> Counted:
    return Counted(deployment.services.database)


async def test_all_who_want_to_know_within_a_second_are_answered_together(
    deployment: Deployment, counted: Counted
) -> None:
    readiness = Readiness(counted, KeysInUse(deployment.keys))
    await asyncio.gather(*(readiness.require() for _ in range(100)))
    await readiness.require()
    assert counted.asked == 1


async def test_so_they_are_when_the_answer_is_no(deployment: Deployment, counted: Counted) -> None:
    counted.is_gone = True
    readiness = Readiness(counted, KeysInUse(deployment.keys))
    first = await asyncio.gather(*(readiness.require() for _ in range(9)), return_exceptions=True)
    with pytest.raises(Refusal):
        await readiness.require()
    assert [type(answer) for answer in first] == [Refusal] * 9
    assert counted.asked == 1


async def test_a_second_later_it_is_asked_again(
    deployment: Deployment, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    readiness = Readiness(counted, KeysInUse(deployment.keys))
    await readiness.require()
    counted.is_gone = True
    await readiness.require()
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", -1)
    with pytest.raises(Refusal):
        await readiness.require()
    counted.is_gone = False
    await asyncio.sleep(0.001)
    await readiness.require()


async def test_it_is_asked_now_and_then_though_nobody_wants_to_know(
    deployment: Deployment, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", 0)
    monkeypatch.setattr(installation, "WATCH_SECONDS", 0.001)
    counted.is_gone = True
    watching = asyncio.create_task(Readiness(counted, KeysInUse(deployment.keys)).watch())

    async def is_asked_again() -> bool:
        return counted.asked > 2

    await until(is_asked_again)
    assert not watching.done()
    watching.cancel()


async def test_whatever_goes_wrong_it_is_asked_again_and_not_ready_meanwhile(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Installation):
        asked = 0

        async def require_ready(self, keyring: Keyring) -> None:
            self.asked += 1
            raise RuntimeError

    said: list[float] = []
    monkeypatch.setattr(installation.READY, "set", said.append)
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", 0)
    monkeypatch.setattr(installation, "WATCH_SECONDS", 0.001)
    broken = Broken(deployment.services.database)

    async def is_asked_again() -> bool:
        return broken.asked > 1

    with capture_logs() as logged:
        watching = asyncio.create_task(Readiness(broken, KeysInUse(deployment.keys)).watch())
        await until(is_asked_again)
    assert not watching.done()
    watching.cancel()
    assert set(said) == {0}
    assert {line["event"] for line in logged} == {
        "whether the installation can be served is not known"
    }


async def test_who_goes_away_takes_no_answer_along(
    deployment: Deployment, counted: Counted
) -> None:
    readiness = Readiness(counted, KeysInUse(deployment.keys))
    gone, stays = (asyncio.ensure_future(readiness.require()) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await stays
    assert counted.asked == 1


async def test_each_reason_why_it_cannot_be_served_is_logged_once(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", 0)
    reasons: list[str | None] = [None, "migrate", "migrate", "keyring", None, None, "keyring"]

    class Changing(Installation):
        async def require_ready(self, keyring: Keyring) -> None:
            if reason := reasons.pop(0):
                raise NotReady(reason)

    changing = Changing(deployment.services.database)
    readiness = Readiness(changing, KeysInUse(deployment.keys))
    with capture_logs() as logged:
        while reasons:
            with suppress(NotReady):
                await readiness.require()
            await asyncio.sleep(0.001)
    cannot, can = "the installation cannot be served", "the installation can be served again"
    assert [(line["event"], line.get("reason")) for line in logged] == [
        (cannot, "migrate"),
        (cannot, "keyring"),
        (can, None),
        (cannot, "keyring"),
    ]


async def test_a_node_whose_data_keys_do_not_open_is_not_ready_until_they_do(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", 0)
    statuses = []
    for statement in (
        "CREATE TABLE kept AS SELECT * FROM data_keys",
        "UPDATE data_keys SET wrapped = substr(wrapped, 1, 20)",
        "DELETE FROM data_keys",
        "INSERT INTO data_keys SELECT * FROM kept",
    ):

        async def body(tx: Transaction, sql: str = statement) -> None:
            await tx.execute(sql)

        await own_calls.services.database.write(body)
        await asyncio.sleep(0.001)
        answer = await own_calls.node.client.get("http://teamvars.test/readyz")
        statuses.append(answer.status_code)
    assert statuses == [200, 503, 503, 200]


async def test_a_data_key_that_does_not_open_is_told_once_whosever_it_is_and_takes_no_node_away(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", 0)
    database = own_calls.services.database
    keep = "CREATE TABLE kept AS SELECT * FROM data_keys"
    damage = (
        "UPDATE data_keys SET wrapped = substr(wrapped, 1, 20) "
        "WHERE organization_id = (SELECT max(organization_id) FROM data_keys)"
    )
    mend = (
        "UPDATE data_keys SET wrapped = (SELECT kept.wrapped FROM kept "
        "WHERE kept.organization_id = data_keys.organization_id)"
    )
    many, told = await count(database, "SELECT count(*) FROM data_keys"), []
    ((last,),) = await database.read(
        lambda tx: tx.fetch("SELECT max(organization_id) FROM data_keys")
    )
    for change in (keep, damage, mend, damage):

        async def body(tx: Transaction, sql: str = change) -> None:
            await tx.execute(sql)

        await database.write(body)
        with capture_logs() as logged:
            for _ in range(2 * many):
                await asyncio.sleep(0.001)
                answer = await own_calls.node.client.get("http://teamvars.test/readyz")
                assert answer.status_code == 200
        told.append([line["reason"] for line in logged if "data key" in line["event"]])
    found = [f"The data key of {last} does not open."]
    assert told == [[], found, [], found]


async def test_no_other_keyring_is_taken_for_the_stores_own(own_calls: Calls) -> None:
    node, audit = own_calls.node, own_calls.node.keys.audit
    same_ids = replace(audit, keys=dict.fromkeys(audit.keys, b"\0" * keyring.KEY_BYTES))
    for ask in (
        node.services.installation.require_ready,
        partial(node.services.installation.initialise, caller=operator()),
    ):
        for another in (keyring.generate(), replace(node.keys, audit=same_ids)):
            with pytest.raises(NotReady, match="The keyring is not this database's"):
                await ask(another)
        await ask(node.keys)


async def test_a_store_that_does_not_admit_this_node_is_neither_served_nor_initialised(
    own_calls: Calls,
) -> None:
    node = own_calls.node
    await node.services.database.write(
        lambda tx: tx.execute("UPDATE schema_migrations SET admits = 1000000")
    )
    for ask in (
        node.services.installation.require_ready,
        partial(node.services.installation.initialise, caller=operator()),
    ):
        with pytest.raises(NotReady, match="admits no release"):
            await ask(node.keys)


KEYS = keyring.generate()
CHECKS = KEYS.checks()
MASTER, AUDIT = KEYS.master.active, KEYS.audit.active
NOTED = {id_: noted_key(id_, *check, 1, 1) for id_, check in CHECKS.items()}
UNUSED = noted_key("mk-unused", keys.MASTER, b"check", 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"mk-unused": UNUSED}, None),
        ({"mk-unused": replace(UNUSED, activated_at=2)}, "lacks the master key mk-unused"),
        ({AUDIT: noted_key(AUDIT, keys.AUDIT, b"another", 1, 1)}, f"lacks the audit key {AUDIT}"),
        ({AUDIT: noted_key(AUDIT, keys.AUDIT, b"another", 1)}, f"lacks the audit key {AUDIT}"),
        ({AUDIT: replace(NOTED[AUDIT], activated_at=None)}, None),
        ({MASTER: None, "mk-unused": UNUSED}, f"would use {MASTER}"),
        ({MASTER: replace(NOTED[MASTER], retired_at=2)}, f"would use {MASTER}"),
        ({id_: None for id_, (purpose, _) in CHECKS.items() if purpose == keys.SERVER}, None),
    ],
    ids=[
        "its own",
        "without one that was never in use",
        "without one that was in use",
        "with another audit key",
        "with another audit key that was never in use",
        "with an audit key that was never in use",
        "with a master key that nobody knows",
        "with a retired master key",
        "with a server key that nobody knows",
    ],
)
def test_a_keyring_fits_that_has_what_the_data_may_need_and_uses_nothing_else(
    change: dict[str, NotedKey | None], why: str | None
) -> None:
    noted = {id_: key for id_, key in {**NOTED, **change}.items() if key is not None}
    if why is None:
        installation._require_fit(noted, KEYS)
    else:
        with pytest.raises(NotReady, match=why):
            installation._require_fit(noted, KEYS)


async def test_it_is_asked_of_the_keys_of_now_and_is_not_ready_while_others_are_refused(
    counted: Counted, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", -1.0)
    in_use = KeysInUse(deployment.keys)
    readiness = Readiness(counted, in_use)
    await readiness.require()
    in_use.refuse("the file is no keyring")
    with pytest.raises(NotReady, match="no keyring"):
        await readiness.require()
    in_use.take(keyring.generate())
    with pytest.raises(NotReady, match="not this database's"):
        await readiness.require()
    in_use.take(deployment.keys)
    await readiness.require()


@pytest.mark.parametrize(
    ("ahead", "seconds"),
    [
        (CLOCK_APART, 0),
        (-CLOCK_APART, 0),
        (CLOCK_APART + 2_000_000, 32),
        (-CLOCK_APART - 2_000_000, -32),
    ],
)
async def test_a_clock_is_off_that_is_far_from_the_stores(
    counted: Counted,
    deployment: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    ahead: int,
    seconds: int,
) -> None:
    monkeypatch.setattr(Readiness, "clock_ahead", ahead)
    assert Readiness(counted, KeysInUse(deployment.keys)).clock_is_off == seconds


async def test_nobody_complains_of_a_check_that_failed_or_was_ended_for_nobody() -> None:
    loop, complaints = asyncio.get_running_loop(), list[object]()
    gc.collect()  # what other tests have left complains before this
    loop.set_exception_handler(lambda _, said: complaints.append(said))
    failed, ended = loop.create_future(), loop.create_future()
    failed.set_exception(ValueError())
    ended.cancel()
    installation._retrieve(cast("asyncio.Task[None]", failed))
    installation._retrieve(cast("asyncio.Task[None]", ended))
    del failed
    gc.collect()
    loop.set_exception_handler(None)
    assert complaints == []
