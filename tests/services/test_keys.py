"""Keys are changed while nodes serve: nothing too early, nothing fails, nothing is lost."""

import asyncio
import dataclasses
import errno
import os
import signal
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from teamvars.changes.trails import OwnTrail
from teamvars.decisions import Found
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Refusal, Unfinished, storage_unavailable
from teamvars.domain.keys import AUDIT, MASTER, SERVER, KeyRefused, Node
from teamvars.domain.runners import Approval
from teamvars.protocol import Malformed
from teamvars.security import files, keyring
from teamvars.security.chain import Chain
from teamvars.security.keyring import Keyring, KeyringError, KeyringUnavailable, KeySet
from teamvars.services import installation, nodes
from teamvars.services import keys as service
from teamvars.services.issuers import Trust
from teamvars.services.nodes import ServingNode
from teamvars.storage import keys, migrations, runners, streams
from teamvars.storage.database import NotReady, Transaction
from tests.services.calls import Calls, refusal_of
from tests.services.jobs import Job, approve, propose
from tests.storage.stores import words
from tests.support.counting import counting, told
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.patience import HANGS, until
from tests.support.tenant import variable_document

PURPOSES = (MASTER, AUDIT, SERVER)
HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are made up never look at a file."""
    monkeypatch.setattr(service, "PATIENCE", 0.0)


class Hand:
    """An operator on the host of a node, whose keyring is in a file."""

    def __init__(self, node: Deployment, path: Path) -> None:
        self.node = node
        self.keys = node.services.keys
        self.path = path
        keyring.save_new(node.keys, path)

    def file(self, step: Callable[[Keyring], Keyring]) -> Keyring:
        changed = keyring.change(self.path, step)
        self.node.services.keys_in_use.take(changed)
        return changed

    async def add(self, purpose: str) -> str:
        return await self.keys.add(operator(), purpose, self.file)

    async def activate(self, key_id: str) -> None:
        await self.keys.activate(operator(), key_id, self.file)

    async def retire(self, key_id: str, *, leaked: bool = False) -> None:
        await self.keys.retire(operator(), key_id, self.file, leaked=leaked)

    async def rotate(self) -> tuple[KeySet, bool]:
        added, _, waits = await self.keys.rotate(operator(), self.file)
        return added, waits

    def beside(self, purpose: str, key_id: str) -> Callable[..., Keyring]:
        """As `file`, just after somebody else has put that key into use in it."""

        def file(step: Callable[[Keyring], Keyring]) -> Keyring:
            keyring.change(self.path, lambda keys_: keys_.using(purpose, key_id))
            return self.file(step)

        return file

    async def replaced(self, purpose: str) -> tuple[str, str]:
        """Has another key of that purpose in use; the former and the new one."""
        former = self.keyring.key_sets[purpose].active
        added = await self.add(purpose)
        await self.activate(added)
        return former, added

    @property
    def keyring(self) -> Keyring:
        return keyring.load(self.path)

    def serving(self) -> ServingNode:
        services = self.node.services
        load = partial(keyring.load, self.path)
        return ServingNode(services.installation, services.keys_in_use, self.path, load)

    async def see(self, name: str, keys_: Keyring) -> Node:
        """Another node serves with these keys."""
        node = Node(name, name, keys_.held, keys_.active)
        now = self.node.services.database.now()
        await self.node.services.database.write(partial(keys.see, node=node, now=now))
        return node

    async def dump(self) -> tuple[object, object, bytes]:
        """All that a refusal must leave as it is."""
        heads = await self.node.services.audit.heads()
        noted = await self.node.services.database.read(keys.noted)
        return heads, noted, self.path.read_bytes()


@pytest.fixture
async def hand(own_calls: Calls, tmp_path: Path) -> Hand:
    return Hand(own_calls.node, tmp_path / "keyring.json")


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_key_is_added_then_used_and_the_trail_tells(hand: Hand, purpose: str) -> None:
    former = hand.keyring.key_sets[purpose].active
    added = await hand.add(purpose)
    assert hand.keyring.key_sets[purpose].active == former
    assert added in hand.keyring.key_sets[purpose].keys
    noted = await hand.node.services.database.read(keys.noted)
    assert added in noted
    await hand.activate(added)
    assert hand.keyring.key_sets[purpose].active == added
    status = await hand.keys.status()
    active = [one.id for one in status if one.is_active]
    assert added in active
    assert former not in active
    assert not any(one.is_closed for one in status)
    assert await hand.node.audit_holds()


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_no_key_is_activated_before_every_live_node_has_it(hand: Hand, purpose: str) -> None:
    old = hand.keyring
    added = await hand.add(purpose)
    await hand.see("node-b", old)
    before = await hand.dump()
    with pytest.raises(KeyRefused, match=r"node-b serves without it\. .* counts for two min"):
        await hand.activate(added)
    assert await hand.dump() == before
    await hand.see("node-c", old)
    with pytest.raises(KeyRefused, match="node-b and node-c serve without it"):
        await hand.activate(added)
    for name in ("node-b", "node-c"):
        await hand.see(name, hand.keyring)
    await hand.activate(added)
    assert hand.keyring.key_sets[purpose].active == added


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_no_key_is_retired_that_is_in_use_here_or_at_a_node(hand: Hand, purpose: str) -> None:
    old = hand.keyring
    with pytest.raises(KeyRefused, match=r"is in use\. Activate another first"):
        await hand.retire(old.key_sets[purpose].active)
    former, added = await hand.replaced(purpose)
    last = (await hand.replaced(purpose))[1]
    await hand.see("node-b", old.holding(purpose, keyring.new_key(purpose)))
    with pytest.raises(KeyRefused, match="node-b serves with it"):
        await hand.retire(former)
    before = await hand.dump()
    await hand.see("node-b", hand.keyring.using(purpose, added))
    with pytest.raises(KeyRefused, match="node-b serves with it"):
        await hand.retire(added)
    assert await hand.dump() == before
    await hand.see("node-b", hand.keyring)
    await hand.keys.sign_anew()
    await hand.retire(added)
    its = hand.keyring.key_sets[purpose]
    assert (its.active, added in its.usable) == (last, False)
    assert (added in its.keys) is (purpose == AUDIT)  # which goes on to verify
    assert await hand.node.audit_holds()


async def test_nodes_that_have_not_looked_yet_are_waited_for(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PATIENCE", HANGS)
    monkeypatch.setattr(service, "_PAUSE_SECONDS", 0.01)
    activate, attempts = hand.keys._activate, []

    async def noted(*asked: Any) -> None:
        attempts.append(asked)
        await activate(*asked)

    monkeypatch.setattr(hand.keys, "_activate", noted)
    await hand.see("node-b", hand.keyring)
    added = await hand.add(MASTER)
    activating = asyncio.create_task(hand.activate(added))

    async def is_refused_once() -> bool:
        return len(attempts) > 1 or activating.done()

    await until(is_refused_once)
    await hand.see("node-b", hand.keyring)
    await activating
    assert hand.keyring.master.active == added


async def test_a_node_that_has_said_nothing_for_long_is_not_waited_for(hand: Hand) -> None:
    node = Node("gone", "gone", frozenset(), frozenset())
    long_ago = hand.node.services.database.now() - keys.SILENT
    await hand.node.services.database.write(partial(keys.see, node=node, now=long_ago))
    await hand.replaced(MASTER)
    await hand.serving().say()
    held = await hand.node.services.database.read(
        lambda tx: tx.fetch("SELECT id FROM nodes WHERE id = 'gone'")
    )
    assert not held


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("has_it", [True, False])
async def test_a_node_that_was_away_while_a_key_was_changed_changes_nothing_without_it(
    hand: Hand, own_calls: Calls, purpose: str, has_it: bool
) -> None:
    """As one that was frozen for long, with requests that wait in its sockets."""
    url, tenant = own_calls.node.config.url, own_calls.tenant
    async with open_deployment(url, keys=hand.keyring) as away:
        in_use, there = away.services.keys_in_use, Calls(tenant, away)
        former = hand.keyring.key_sets[purpose].active
        added = await hand.add(purpose)
        if has_it:
            in_use.take(hand.keyring)
        await there.create(key="before")
        await hand.activate(added)
        await hand.node.services.data_keys.renew()
        await hand.keys.sign_anew()
        await hand.retire(former)
        before = await hand.dump()
        assert await refusal_of(there.create(key="late")) == "storage_unavailable"
        assert await hand.dump() == before
        node = ServingNode(
            away.services.installation, in_use, hand.path, partial(keyring.load, hand.path)
        )
        assert await refusal_of(node.say()) == "storage_unavailable"
        await node.look()
        await node.say()
        await there.create(key="late")
    assert await own_calls.node.audit_holds()


async def test_a_node_that_was_away_while_a_master_key_was_changed_reads_nothing_without_it(
    hand: Hand, own_calls: Calls
) -> None:
    tenant = own_calls.tenant
    await own_calls.create(key="one")
    async with open_deployment(own_calls.node.config.url, keys=hand.keyring) as away:
        await hand.replaced(MASTER)
        await hand.node.services.data_keys.renew()
        ask = dataclasses.replace(tenant, deployment=away).call
        with capture_logs() as logged:
            answer = await ask("writer", "GET", tenant.vars_path())
        assert (answer.status_code, words_of(answer)) == (503, ["storage_unavailable"])
        assert [line["event"] for line in logged if "does not open" in line["event"]]
        away.services.keys_in_use.take(hand.keyring)
        assert (await ask("writer", "GET", tenant.vars_path())).status_code == 200


def words_of(answer: httpx.Response) -> list[str]:
    """The codes of an error."""
    return [one["code"] for one in answer.json()["errors"]]


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("step", ["activate", "retire"])
async def test_who_was_writing_with_the_keys_from_before_is_waited_for(
    hand: Hand, own_calls: Calls, step: str
) -> None:
    former, key_id = hand.keyring.audit.active, await hand.add(AUDIT)
    if step == "retire":
        await hand.activate(key_id)
        await hand.keys.sign_anew()
        key_id = former
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Transaction) -> None:
        begun.set()
        await go_on.wait()

    writing = asyncio.create_task(own_calls.services.database.write(slow))
    await begun.wait()
    before = hand.path.read_bytes()
    changing = asyncio.create_task(getattr(hand, step)(key_id))
    await asyncio.wait({changing}, timeout=0.5)
    meanwhile = hand.path.read_bytes()
    go_on.set()
    await asyncio.gather(writing, changing)
    assert meanwhile == before
    assert hand.path.read_bytes() != before


async def test_a_head_that_was_signed_with_a_key_while_that_was_retired_is_signed_anew(
    hand: Hand, own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    former, _ = await hand.replaced(AUDIT)
    monkeypatch.setattr(hand.keys, "_require_unneeded", lambda *_, **__: asyncio.sleep(0))
    await hand.retire(former)
    assert await own_calls.node.audit_holds()
    await own_calls.create()


async def test_a_master_key_that_wraps_keys_or_has_sealed_an_answer_is_not_retired(
    hand: Hand, own_calls: Calls
) -> None:
    former, _ = await hand.replaced(MASTER)
    before = await hand.dump()
    with pytest.raises(KeyRefused, match=r"it is needed \(data keys: 2\)"):
        await hand.retire(former)
    assert await hand.dump() == before
    second, _ = await hand.replaced(MASTER)
    third, _ = await hand.replaced(MASTER)
    await hand.retire(second)
    assert second not in hand.keyring.held

    async def keep(tx: Transaction) -> None:
        await tx.execute(
            "INSERT INTO idempotency_records VALUES ('n', 'p', $1, $2, 1, $3, $2)",
            third,
            b"x",
            own_calls.services.database.now() + 1_000_000_000,
        )

    await own_calls.services.database.write(keep)
    with pytest.raises(KeyRefused, match=r"kept answers: 1"):
        await hand.retire(third)


async def test_what_a_constraint_finds_is_told_as_what_was_counted(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    former, _ = await hand.replaced(MASTER)

    async def nothing(tx: Transaction, use: keys.Use, now: int) -> dict[str, int]:
        return {}

    monkeypatch.setattr(keys, "counted", nothing)
    with pytest.raises(KeyRefused, match="it wraps data keys again"):
        await hand.retire(former)
    assert former in hand.keyring.held
    assert former in await hand.node.services.database.read(keys.noted)


async def test_an_audit_key_is_closed_once_every_head_is_under_another(
    hand: Hand, own_calls: Calls
) -> None:
    await own_calls.create(key="before")
    former, _ = await hand.replaced(AUDIT)
    await own_calls.create(key="after")
    before = await hand.dump()
    with pytest.raises(KeyRefused, match="heads of streams"):
        await hand.retire(former)
    assert await hand.dump() == before
    await hand.keys.sign_anew()
    assert await own_calls.services.audit.heads() == before[0]
    await hand.retire(former)
    audit = hand.keyring.audit
    assert (former in audit.keys, former in audit.usable) == (True, False)
    assert await own_calls.node.audit_holds()
    await own_calls.create(key="later")
    assert await own_calls.node.audit_holds()
    with pytest.raises(KeyRefused, match="was retired"):
        await hand.activate(former)
    (row,) = [one for one in await hand.keys.status() if one.id == former]
    assert (row.is_closed, row.is_active, dict(row.needed)) == (True, False, {})


async def test_what_was_signed_while_a_clock_was_ahead_holds_once_its_key_is_closed(
    hand: Hand, own_calls: Calls
) -> None:
    database, stream_id = own_calls.services.database, own_calls.tenant.workspaces["network"]

    async def change(tx: Transaction) -> None:
        trail = OwnTrail(tx, Chain(hand.keyring))
        stream = trail.check((await streams.lock(tx, [stream_id]))[stream_id])
        said = "workspace.rename", stream_id, {"name": "network", "from": "net"}
        event = Found(operator(), database.now() + HOUR).event(*said)
        (entry,), after = await trail.extend(stream, [event])
        await streams.append(tx, entry, after)

    await database.write(change)
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    await hand.retire(former)
    assert await own_calls.node.audit_holds()


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_key_takes_the_place_of_one_that_was_activated_while_the_clock_was_ahead(
    hand: Hand, purpose: str
) -> None:
    async def be_ahead(tx: Transaction) -> None:
        await tx.execute("UPDATE keyring_keys SET activated_at = activated_at + $1", HOUR)
        await tx.execute("UPDATE server_keys SET activated_at = activated_at + $1", HOUR)

    await hand.node.services.database.write(be_ahead)
    former, added = await hand.replaced(purpose)
    await hand.keys.sign_anew()
    await hand.node.services.data_keys.renew()
    await hand.retire(former)
    noted = await hand.node.services.database.read(keys.noted)
    assert [one.id for one in noted.values() if one.purpose == purpose and not one.retired_at] == [
        added
    ]


async def cut_back(calls: Calls, head_of: Callable[[Stream], bytes]) -> None:
    """Drops the last entry of the workspace, and puts its stream back to where it was before."""
    stream_id = calls.tenant.workspaces["network"]

    async def body(tx: Transaction) -> None:
        stream = await streams.find(tx, stream_id)
        *_, last = await streams.entries(tx, [stream_id])
        assert stream is not None
        short = replace(stream, sequence=last.sequence - 1, link=last.previous)
        gone = "DELETE FROM audit_entries WHERE stream_id = $1 AND sequence = $2"
        await tx.execute(gone, stream_id, last.sequence)
        moved = "UPDATE streams SET sequence = $2, link = $3, head = $4 WHERE id = $1"
        await tx.execute(moved, stream_id, short.sequence, short.link, head_of(short))

    await calls.services.database.write(body)


async def test_whoever_has_a_leaked_audit_key_signs_nothing_backwards(
    hand: Hand, own_calls: Calls
) -> None:
    await own_calls.create(key="kept")
    thief = Chain(hand.keyring)
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    await hand.retire(former, leaked=True)
    await cut_back(own_calls, partial(thief.signed_by, former))
    assert not await own_calls.node.audit_holds()
    assert await refusal_of(own_calls.create(key="more")) == "trail_altered"


async def test_no_head_is_signed_anew_that_does_not_hold(hand: Hand, own_calls: Calls) -> None:
    """Or whoever has altered a stream would only have to wait for another key."""
    await own_calls.create(key="kept")
    await cut_back(own_calls, lambda stream: stream.head)
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    await hand.retire(former)
    assert not await own_calls.node.audit_holds()
    assert await refusal_of(own_calls.create(key="more")) == "trail_altered"


async def approval_of(calls: Calls) -> Approval | None:
    """That of the only runner there is."""
    (runner,) = await calls.services.database.read(runners.every)
    return runner.approval


async def test_approvals_are_made_anew_with_the_key_in_use(hand: Hand, own_calls: Calls) -> None:
    runner_id = await propose(own_calls.tenant)
    await approve(own_calls.tenant, runner_id)
    former, added = await hand.replaced(AUDIT)
    with pytest.raises(KeyRefused, match="approvals: 1"):
        await hand.retire(former)
    trail = await own_calls.services.audit.heads()
    await hand.keys.sign_anew()
    assert await own_calls.services.audit.heads() == trail
    await hand.retire(former)
    approval = await approval_of(own_calls)
    assert approval is not None
    assert approval.key_id == added
    job = Job.new(own_calls.tenant)
    await job.deliver(await job.exchange())
    former, _ = await hand.replaced(MASTER)
    await own_calls.services.data_keys.renew()
    await hand.retire(former, leaked=True)  # which approves nothing
    await job.deliver(await job.exchange())


async def test_an_approval_that_somebody_has_altered_is_not_made_anew(
    hand: Hand, own_calls: Calls
) -> None:
    runner_id = await propose(own_calls.tenant)
    await approve(own_calls.tenant, runner_id)
    by = "UPDATE runners SET approved_by = 'somebody'"
    await own_calls.services.database.write(lambda tx: tx.execute(by))
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    approval = await approval_of(own_calls)
    assert approval is not None
    assert approval.key_id == former
    with pytest.raises(Refusal):
        await Job.new(own_calls.tenant).exchange()


async def test_approvals_of_a_leaked_key_are_void_until_they_are_given_again(
    hand: Hand, own_calls: Calls
) -> None:
    runner_id = await propose(own_calls.tenant)
    await approve(own_calls.tenant, runner_id)
    job = Job.new(own_calls.tenant)
    issued = await job.exchange()
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    with pytest.raises(KeyRefused, match="tokens of jobs: 1"):
        await hand.retire(former)
    await hand.retire(former, leaked=True)
    for asked in (job.exchange(), job.deliver(issued)):
        with pytest.raises(Refusal):
            await asked
    await approve(own_calls.tenant, runner_id)
    await job.deliver(await job.exchange())
    assert await own_calls.node.audit_holds()


async def approve_long_after(calls: Calls, keys_: Keyring) -> Approval:
    """Writes into the runner's row that it was approved long after any key was replaced, under the
    audit key of that keyring.
    """
    (runner,) = await calls.services.database.read(runners.every)
    assert runner.approval is not None
    later = calls.services.database.now() + 2 * keys.SILENT
    made = Trust(keys_).sealed(runner, replace(runner.approval, approved_at=later))
    said = "UPDATE runners SET approved_at = $1, approval_mac = $2, approval_key_id = $3"
    args = made.approved_at, made.mac, made.key_id
    await calls.services.database.write(lambda tx: tx.execute(said, *args))
    return made


async def test_what_a_thief_approves_later_with_a_leaked_key_is_not_made_anew(
    hand: Hand, own_calls: Calls
) -> None:
    await approve(own_calls.tenant, await propose(own_calls.tenant))
    leaked = hand.keyring
    former, _ = await hand.replaced(AUDIT)
    forged = await approve_long_after(own_calls, leaked)
    await hand.keys.sign_anew()
    assert await approval_of(own_calls) == forged
    await hand.retire(former, leaked=True)
    assert await approval_of(own_calls) is None


async def test_what_was_approved_long_after_a_key_was_replaced_stays_when_that_leaks(
    hand: Hand, own_calls: Calls
) -> None:
    await approve(own_calls.tenant, await propose(own_calls.tenant))
    former, _ = await hand.replaced(AUDIT)
    made = await approve_long_after(own_calls, hand.keyring)
    await hand.keys.sign_anew()
    await hand.retire(former, leaked=True)
    assert await approval_of(own_calls) == made


@pytest.mark.parametrize("purpose", [MASTER, AUDIT])
async def test_no_if_match_fails_while_keys_change(
    hand: Hand, own_calls: Calls, purpose: str
) -> None:
    tenant = own_calls.tenant
    path = tenant.vars_path()

    async def tag() -> str:
        return (await tenant.call("writer", "GET", path)).headers["ETag"]

    async def applied(key: str, if_match: str) -> int:
        body = {"data": [variable_document(key=key)["data"]]}
        where = path.replace("/vars", "/actions/apply")
        return (
            await tenant.call("writer", "POST", where, body, {"If-Match": if_match})
        ).status_code

    first = await tag()
    former, _ = await hand.replaced(purpose)
    assert await applied("a", first) == 200
    second = await tag()
    await hand.keys.sign_anew()
    assert await applied("b", second) == 200
    assert await applied("c", second) == 412
    third = await tag()
    await hand.keys.sign_anew()
    if purpose == AUDIT:
        await hand.retire(former)
    assert await applied("d", third) == 200


async def test_an_answer_that_was_kept_under_the_former_key_is_found(
    hand: Hand, own_calls: Calls
) -> None:
    tenant, headers = own_calls.tenant, {"Idempotency-Key": f"key-{'1' * 20}"}
    body = variable_document(key="once")
    first = await tenant.call("writer", "POST", tenant.vars_path(), body, headers)
    await hand.replaced(MASTER)
    again = await tenant.call("writer", "POST", tenant.vars_path(), body, headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["data"]["id"] == first.json()["data"]["id"]


async def test_a_cursor_of_the_former_key_goes_on(hand: Hand, own_calls: Calls) -> None:
    tenant = own_calls.tenant
    for key in "abc":
        await own_calls.create(key=key)
    path = f"/organizations/{tenant.organization}/audit-events?page[size]=1"
    first = await tenant.call("owner", "GET", path)
    await hand.replaced(MASTER)
    following = first.json()["links"]["next"]
    answer = await tenant.call("owner", "GET", following.removeprefix("/api/v2"))
    assert answer.status_code == 200


async def test_no_key_is_changed_while_nodes_may_run_that_have_no_heartbeat(hand: Hand) -> None:
    contract = [one.number for one in migrations.known() if one.is_contract][-1]
    await hand.node.services.database.write(
        lambda tx: tx.execute("DELETE FROM schema_migrations WHERE number = $1", contract)
    )
    before = await hand.dump()
    some = hand.keyring.audit.active
    for change in (hand.add(MASTER), hand.rotate(), hand.activate(some), hand.retire(some)):
        with pytest.raises(KeyRefused, match="teamvars migrate up --contract"):
            await change
    assert await hand.dump() == before


@pytest.mark.parametrize("change", ["activate", "retire"])
async def test_what_is_no_key_of_the_keyring_is_not_found(hand: Hand, change: str) -> None:
    with pytest.raises(Refusal) as refused:
        await getattr(hand, change)("mk-unknown")
    assert words(refused.value) == ["not_found"]


@pytest.mark.parametrize("purpose", [*PURPOSES, "rotated"])
async def test_a_key_that_could_not_be_put_into_the_file_is_named_listed_and_retired(
    hand: Hand, monkeypatch: pytest.MonkeyPatch, purpose: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "replace", fail)
    ready, former = hand.node.services.installation.require_ready, hand.path.read_bytes()
    with pytest.raises(KeyringError) as raised:
        await (hand.rotate() if purpose == "rotated" else hand.add(purpose))
    (lacking,) = [one for one in await hand.keys.status() if one.is_lacking]
    assert f"{hand.path} cannot be written: No space left on device." in str(raised.value)
    assert f"teamvars keys retire {lacking.id}" in str(raised.value)
    with counting() as memory:
        await ready(hand.keyring)
        assert told(memory, installation.LACKING.name) == {(): 1}
        with pytest.raises(Refusal, match="not_found"):
            await hand.activate(lacking.id)
        await hand.retire(lacking.id)
        await ready(hand.keyring)
        assert told(memory, installation.LACKING.name) == {(): 0}
    assert lacking.id not in {one.id for one in await hand.keys.status()}
    with pytest.raises(Refusal, match="not_found"):
        await hand.retire(lacking.id)
    assert hand.path.read_bytes() == former
    assert await hand.node.audit_holds()


async def unavailable(*_: object, **__: object) -> None:
    """A step that the store does not take."""
    raise storage_unavailable(OSError("canceled"))


@pytest.mark.parametrize("change", ["activate", "retire"])
async def test_of_a_change_whose_rest_is_refused_nobody_is_told_that_nothing_was_changed(
    hand: Hand, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    former, key_id = hand.keyring.master.active, await hand.add(MASTER)
    if change == "retire":
        await hand.activate(key_id)
        await hand.node.services.data_keys.renew()
        key_id = former
    monkeypatch.setattr(hand.node.services.data_keys, "outlast_writers", _failing_last(change))
    with pytest.raises(Unfinished) as refused:
        await getattr(hand, change)(key_id)
    assert "Nothing was changed" not in str(refused.value)
    rest = f"A part of this is done. 'teamvars keys {change} {key_id}' does the rest."
    assert str(refused.value).endswith(f"canceled). {rest}")
    monkeypatch.undo()
    await getattr(hand, change)(key_id)
    assert (key_id in hand.keyring.active) == (change == "activate")
    assert (key_id in hand.keyring.held) == (change == "activate")


def _failing_last(change: str) -> Callable[[], Any]:
    """In the place of a wait for writers, of which a key that is retired takes two."""
    left = {"activate": 0, "retire": 1}[change]

    async def outlast() -> None:
        nonlocal left
        if not left:
            await unavailable()
        left -= 1

    return outlast


async def test_a_server_key_that_was_added_and_cannot_be_used_is_named(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand.node.services.data_keys, "outlast_writers", unavailable)
    with pytest.raises(Unfinished) as refused:
        await hand.rotate()
    monkeypatch.undo()
    told = str(refused.value)
    await hand.activate(told.rpartition("To use it: teamvars keys activate ")[2])
    assert hand.keyring.server is not None
    assert f"does the rest. {hand.keyring.server.active} was added. " in told


async def test_of_a_leaked_key_whose_approvals_are_void_by_now_a_part_is_said_to_be_done(
    hand: Hand, own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await approve(own_calls.tenant, await propose(own_calls.tenant))
    former, _ = await hand.replaced(AUDIT)
    await hand.keys.sign_anew()
    monkeypatch.setattr(hand.keys, "_retire", unavailable)
    with pytest.raises(Unfinished, match=f"'teamvars keys retire {former}' does the rest"):
        await hand.retire(former, leaked=True)
    monkeypatch.undo()
    assert await approval_of(own_calls) is None
    await hand.retire(former, leaked=True)


# What a node does


async def test_a_node_takes_the_keyring_of_its_file_and_says_so(hand: Hand) -> None:
    node, in_use = hand.serving(), hand.node.services.keys_in_use
    await node.look()
    await node.say()
    changed = keyring.change(
        hand.path, lambda keys_: keys_.holding(MASTER, keyring.new_key(MASTER))
    )
    assert in_use.keyring != changed
    await node.look()
    assert in_use.keyring == changed
    await node.say()
    now = hand.node.services.database.now()
    (said,) = await hand.node.services.database.read(partial(keys.live, now=now))
    assert (said.held, said.active) == (changed.held, changed.active)
    await node.leave()
    assert not await hand.node.services.database.read(partial(keys.live, now=now))


async def test_a_keyring_that_lacks_a_key_in_use_is_refused_and_the_node_goes_on(
    hand: Hand, own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", -1.0)
    old = hand.path.read_bytes()
    await hand.replaced(AUDIT)
    good = hand.path.read_bytes()
    node = hand.serving()

    async def ready() -> int:
        return (await own_calls.node.client.get("http://teamvars.test/readyz")).status_code

    for key, bad in (("a", old), ("b", b"{}"), ("c", old.replace(b'"ak-', b'"xx-'))):
        hand.path.write_bytes(bad)
        with capture_logs() as logged:
            await node.look()
            await node.look()
        assert [line["event"] for line in logged] == ["the keyring of the file is refused"]
        assert await ready() == 503
        await own_calls.create(key=key)
    hand.path.write_bytes(good)
    await node.look()
    assert await ready() == 200
    assert await own_calls.node.audit_holds()


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_key_that_a_keyring_lacks_is_told_until_it_has_it_or_nobody_will_need_it(
    hand: Hand, purpose: str
) -> None:
    ready, former = hand.node.services.installation.require_ready, hand.keyring
    added = await hand.add(purpose)
    with counting() as memory:
        await ready(former)
        assert told(memory, installation.LACKING.name) == {(): 1}
        await ready(hand.keyring)
        assert told(memory, installation.LACKING.name) == {(): 0}
        await hand.retire(added)
        await ready(former)
        assert told(memory, installation.LACKING.name) == {(): 0}


async def test_a_node_stays_ready_while_nobody_can_unwrap_the_file_and_asks_again(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, in_use = hand.serving(), hand.node.services.keys_in_use
    await node.look()
    changed = keyring.change(
        hand.path, lambda keys_: keys_.holding(MASTER, keyring.new_key(MASTER))
    )
    unwrapped = node._load

    def is_away() -> Keyring:
        raise KeyringUnavailable("it sleeps")

    with capture_logs() as logged:
        monkeypatch.setattr(node, "_load", is_away)
        for _ in range(2):
            await node.look()
        assert in_use.refused is None
        assert in_use.keyring != changed
        monkeypatch.setattr(node, "_load", unwrapped)
        await node.look()
    assert in_use.keyring == changed
    assert [line["event"] for line in logged] == [
        "the keyring of the file waits for what unwraps it",
        "the keyring of the file is in use",
    ]


async def test_a_keyring_that_was_refused_is_looked_at_again_though_its_file_is_the_same(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, in_use = hand.serving(), hand.node.services.keys_in_use
    with monkeypatch.context() as refusing:

        async def refuses(_: Keyring) -> None:
            raise NotReady("the database is that of another installation")

        refusing.setattr(hand.node.services.installation, "require_ready", refuses)
        await node.look()
    assert in_use.refused == "the database is that of another installation"
    with capture_logs() as logged:
        await node.look()
        assert in_use.refused is None
        await node.look(anew=True)  # which finds the one that is in use
    assert [line["event"] for line in logged] == ["the keyring of the file is in use"]


async def test_a_node_says_from_time_to_time_that_it_serves_and_not_always(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "SAY_SECONDS", HANGS)
    node, written = hand.serving(), []
    see = keys.see

    async def noted(*args: Any, **more: Any) -> None:
        written.append(more["node"])
        await see(*args, **more)

    monkeypatch.setattr(keys, "see", noted)
    for _ in range(2):
        await node.say()
    assert len(written) == 1
    monkeypatch.setattr(nodes, "SAY_SECONDS", 0.0)
    await node.say()
    assert len(written) == 2


async def test_a_file_that_is_not_there_is_not_read_unless_somebody_says_so(hand: Hand) -> None:
    node, in_use = hand.serving(), hand.node.services.keys_in_use
    hand.path.unlink()
    await node.look()
    assert in_use.refused is None
    await node.look(anew=True)
    assert in_use.refused is not None
    assert "There is no keyring" in in_use.refused


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_keyring_is_refused_that_would_use_a_key_that_was_retired(
    hand: Hand, purpose: str
) -> None:
    _, retired = await hand.replaced(purpose)
    stale = hand.keyring
    await hand.replaced(purpose)
    await hand.keys.sign_anew()
    await hand.retire(retired)
    its = stale.key_sets[purpose]
    newest = hand.keyring.key_sets[purpose]
    stale = stale.holding(purpose, replace(newest, keys={**its.keys, **newest.keys}))
    with pytest.raises(NotReady, match=f"it would use {retired}, which was retired"):
        await hand.node.services.installation.require_ready(stale)
    await hand.node.services.installation.require_ready(hand.keyring)


async def test_a_store_of_an_older_release_knows_server_keys_from_the_next_one_on(
    hand: Hand,
) -> None:
    former = hand.keyring
    assert former.server is not None
    await hand.node.services.database.write(lambda tx: tx.execute("DELETE FROM server_keys"))
    require = hand.node.services.installation.require_ready
    await require(former)
    added = await hand.add(SERVER)
    await require(former)
    await hand.activate(added)
    with pytest.raises(NotReady, match=f"lacks the server key {added}"):
        await require(former)
    await require(hand.keyring.using(SERVER, former.server.active))
    await hand.retire(former.server.active)
    assert former.server.active not in hand.keyring.held
    await require(hand.keyring)


async def test_a_node_whose_keyring_has_no_server_key_goes_on_until_one_is_in_use(
    hand: Hand,
) -> None:
    older, database = replace(hand.keyring, server=None), hand.node.services.database
    await database.write(lambda tx: tx.execute("DELETE FROM server_keys"))
    hand.path.unlink()
    keyring.save_new(older, hand.path)
    hand.node.services.keys_in_use.take(older)

    async def is_refused() -> bool:
        refusing = keys.refusing(older.held, older.active)
        return bool(await database.read(lambda tx: tx.fetch(refusing)))

    elsewhere = await hand.see("node-b", older)
    added, waits = await hand.rotate()
    assert (waits, await is_refused()) == (True, False)
    await database.write(lambda tx: keys.leave(tx, elsewhere.id))
    await hand.activate(added.active)
    assert await is_refused()


async def test_a_server_key_is_in_use_at_once_where_no_node_serves(hand: Hand) -> None:
    first, waits = await hand.rotate()
    assert not waits
    assert first.active in hand.keyring.active
    await hand.see("node-b", hand.keyring)
    second, waits = await hand.rotate()
    assert waits
    assert first.active in hand.keyring.active
    assert second.active in hand.keyring.held


async def test_a_server_key_that_clients_still_pin_may_be_used_again_until_it_is_retired(
    hand: Hand, own_calls: Calls
) -> None:
    tenant = own_calls.tenant
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)  # which pins the former one alone
    former, added = await hand.replaced(SERVER)
    with pytest.raises(Malformed):
        await job.deliver(await job.exchange())
    await hand.see("node-b", hand.keyring.using(SERVER, former))
    with pytest.raises(KeyRefused, match="node-b serves with it"):
        await hand.retire(former)
    await hand.activate(former)
    await job.deliver(await job.exchange())
    with pytest.raises(KeyRefused, match="is in use"):
        await hand.retire(former)
    await hand.activate(added)
    await hand.see("node-b", hand.keyring)
    await hand.retire(former)
    assert former not in hand.keyring.held
    with pytest.raises(Refusal, match="not_found"):
        await hand.activate(former)


async def test_a_key_that_was_never_in_use_may_be_missing_and_may_not_be_another(
    hand: Hand,
) -> None:
    old = hand.keyring
    added = await hand.add(MASTER)
    require = hand.node.services.installation.require_ready
    await require(old)
    other = replace(keyring.new_key(MASTER), active=added)
    forged = replace(other, keys={added: bytes(keyring.KEY_BYTES)})
    with pytest.raises(NotReady, match="not this database's"):
        await require(old.holding(MASTER, forged))
    await hand.activate(added)
    with pytest.raises(NotReady, match="not this database's"):
        await require(old)


async def test_what_the_store_knows_by_now_is_refused_whatever_the_file_said(hand: Hand) -> None:
    """As to an operator whose command has read the file before another's has changed it."""
    stale = hand.keyring
    _, second = await hand.replaced(MASTER)
    in_use = hand.node.services.keys_in_use
    in_use.take(hand.keyring.using(MASTER, stale.master.active))
    before = await hand.dump()
    with pytest.raises(KeyRefused, match=f"{second} is in use"):
        await hand.retire(second)
    assert await hand.dump() == before
    server = await hand.add(SERVER)
    keyring.change(hand.path, lambda keys_: keys_.using(SERVER, server))
    with pytest.raises(KeyRefused, match=f"{server} is in use"):
        await hand.retire(server)
    assert keyring.load(hand.path).held >= {server}


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_key_that_was_retired_while_its_activation_stood_still_comes_into_no_keyring(
    hand: Hand, monkeypatch: pytest.MonkeyPatch, purpose: str
) -> None:
    data_keys, key_id = hand.node.services.data_keys, await hand.add(purpose)
    outlast = data_keys.outlast_writers

    async def stand_still() -> None:
        monkeypatch.setattr(data_keys, "outlast_writers", outlast)
        await hand.replaced(purpose)
        await hand.retire(key_id)
        await outlast()

    monkeypatch.setattr(data_keys, "outlast_writers", stand_still)
    with pytest.raises(KeyRefused, match=f"^{key_id} is not in use: .* was activated after it"):
        await hand.activate(key_id)
    assert key_id not in hand.keyring.active
    await hand.node.services.installation.require_ready(hand.keyring)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_key_takes_no_place_that_another_one_has_taken_meanwhile(
    hand: Hand, purpose: str
) -> None:
    """Which the store may know as the newest, and whose operator was told that it is in use."""
    key_id, other = await hand.add(purpose), await hand.add(purpose)
    refused = rf"^{key_id} is not in use: {other} came into use meanwhile\.$"
    with pytest.raises(KeyRefused, match=refused):
        await hand.keys.activate(operator(), key_id, hand.beside(purpose, other))
    assert other in hand.keyring.active
    hand.node.services.keys_in_use.take(hand.keyring)  # as the next command reads it
    await hand.activate(key_id)
    assert key_id in hand.keyring.active


async def test_a_rotation_beside_another_names_the_key_that_was_in_use_before_it(
    hand: Hand,
) -> None:
    """Clients that know the new one alone would refuse what nodes sign by that."""
    other = await hand.add(SERVER)
    added, former, _ = await hand.keys.rotate(operator(), hand.beside(SERVER, other))
    assert former is not None
    assert former.active == other
    assert added.active in hand.keyring.active


@pytest.fixture
async def following(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hand]:
    """A node that follows its file, and looks at it when it is told to alone."""
    monkeypatch.setattr(nodes, "LOOK_SECONDS", 3600.0)
    task = asyncio.create_task(hand.serving().follow())
    yield hand
    task.cancel()
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


async def said(hand: Hand) -> frozenset[str]:
    """The keys that the nodes have said to have."""
    now = hand.node.services.database.now()
    found = await hand.node.services.database.read(partial(keys.live, now=now))
    return frozenset(key_id for node in found for key_id in node.held)


async def test_a_hangup_has_a_node_look_once_and_say_what_it_has(
    following: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand, looks = following, []

    async def has_said() -> bool:
        return await said(hand) == hand.keyring.held

    await until(has_said)
    look = ServingNode.look

    async def counted(node: ServingNode, *, anew: bool = False) -> None:
        looks.append(anew)
        await look(node, anew=anew)

    monkeypatch.setattr(ServingNode, "look", counted)
    keyring.change(hand.path, lambda keys_: keys_.holding(AUDIT, keyring.new_key(AUDIT)))
    os.kill(os.getpid(), signal.SIGHUP)
    await until(has_said)
    await asyncio.sleep(0.05)
    assert looks == [True]
    assert hand.node.services.keys_in_use.keyring == hand.keyring


async def test_what_fails_is_tried_again_at_the_next_look(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "LOOK_SECONDS", 0.01)
    failures: list[Exception] = [storage_unavailable(), RuntimeError("a bug")]
    look = ServingNode.look

    async def failing(node: ServingNode, *, anew: bool = False) -> None:
        if failures:
            raise failures.pop(0)
        await look(node, anew=anew)

    monkeypatch.setattr(ServingNode, "look", failing)
    keyring.change(hand.path, lambda keys_: keys_.holding(AUDIT, keyring.new_key(AUDIT)))

    async def has_said() -> bool:
        return await said(hand) == hand.keyring.held

    with capture_logs() as logged:
        task = asyncio.create_task(hand.serving().follow())
        await until(has_said)
        task.cancel()
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
    told = [line["event"] for line in logged]
    assert told == ["the keyring is looked at later", "the keyring of the file is in use"]


async def test_a_store_that_is_put_back_is_told_of_later_keys_and_of_none_that_was_retired(
    hand: Hand,
) -> None:
    services, before = hand.node.services, hand.keyring
    former, _ = await hand.replaced(SERVER)
    await hand.retire(former)
    waiting, used = keyring.new_key(AUDIT), keyring.new_key(MASTER)
    later = hand.keyring.holding(AUDIT, waiting).holding(MASTER, used)
    assert before.server is not None
    later = later.using(MASTER, used.active).holding(SERVER, before.server)
    known = await services.database.read(keys.noted)
    await services.installation.adopt(later)
    noted = await services.database.read(keys.noted)
    assert noted.keys() - known.keys() == {waiting.active, used.active}
    assert noted[waiting.active].activated_at is None
    assert noted[used.active].activated_at is not None
