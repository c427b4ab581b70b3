"""Generations of data keys: added, taken into use and retired while everybody reads and writes."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from teamvars import wiring
from teamvars.decisions.deliveries import HostDraft
from teamvars.domain import diagnosis as findings
from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.errors import Unfinished, storage_unavailable
from teamvars.domain.keys import DATA, KeyRefused, active_of
from teamvars.domain.organizations import OrganizationDraft
from teamvars.kernel.variables import Category
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import SealBroken
from teamvars.services.diagnosis import Diagnosis
from teamvars.services.directory_files.files import Options
from teamvars.storage import data_keys, organizations
from teamvars.storage import keys as key_rows
from teamvars.storage.database import Transaction
from teamvars.storage.engines import schemas
from tests.services.altered_trails import execute
from tests.services.calls import Calls, caller, once_it_is_looked_up
from tests.services.jobs import Job, approve, propose
from tests.services.test_rechecks import waits
from tests.support.deployment import Deployment, operator
from tests.support.tenant import build_tenant, variable_document

VALUES = {"one": "first value", "two": "second value"}
ALL_VALUES = VALUES | {f"{key}-secret": value for key, value in VALUES.items()}


class Ended(Exception):
    """Something has ended a step."""


async def use_another(calls: Calls) -> str:
    """Adds a generation and takes it into use."""
    key_id = await calls.services.data_keys.add(operator())
    await calls.services.data_keys.activate(operator(), key_id)
    return key_id


async def needed(calls: Calls) -> Mapping[int, Mapping[str, int]]:
    """What needs each generation."""
    return await calls.services.database.read(data_keys.needed)


async def actions(calls: Calls) -> list[str]:
    """What the trail says of keys, in order."""
    entries = await calls.services.audit.newest(1000, AuditFilter(stream_id="system"))
    return [
        f"{one.action} {one.subject_id}"
        for one in reversed(entries)
        if one.action.startswith(("key.", "rewrap."))
    ]


async def shown(calls: Calls, path: str) -> dict[str, str]:
    """The values by key that a list shows to the owner."""
    answer = await calls.tenant.call("owner", "GET", path)
    assert answer.status_code == 200, answer.text
    return {one["attributes"]["key"]: one["attributes"]["value"] for one in answer.json()["data"]}


async def handed_out(calls: Calls, workspace: str = "network") -> dict[str, str | None]:
    """The values by key that a command on the host gets, sensitive ones too."""
    draft = HostDraft(calls.tenant.organization, workspace, "ticket 4711", ())
    handed = await calls.services.host_deliveries.hand_out(operator(), draft)
    return {one.key: one.value for one in handed}


@pytest.fixture
async def both(own_calls: Calls) -> Calls:
    """`network` has a variable of each of two generations, and secrets likewise."""
    for n, (key, value) in enumerate(VALUES.items()):
        if n:
            await use_another(own_calls)
        await own_calls.create(key=key, value=value)
        name = f"{key}-secret"
        await own_calls.create(key=name, value=value, category=Category.ENV, sensitive=True)
    return own_calls


async def test_what_is_sealed_from_then_on_is_sealed_under_the_newest(both: Calls) -> None:
    found = await needed(both)
    assert {version: its["variables"] for version, its in found.items()} == {1: 2, 2: 2}
    assert found[2]["organizations"] == 2
    assert "organizations" not in found[1]


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
async def test_what_was_to_be_sealed_under_a_key_that_was_retired_meanwhile_opens(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def retire() -> None:
        await use_another(own_calls)
        await own_calls.services.data_keys.retire(operator(), "data-1")

    with once_it_is_looked_up(monkeypatch, retire):
        await own_calls.create(key="region", value="eu")
    assert await own_calls.list() == {"region": "eu"}
    assert (await needed(own_calls))[2]["variables"] == 1


async def test_lists_searches_and_single_reads_open_values_of_both_generations(
    both: Calls,
) -> None:
    tenant = both.tenant
    secrets = {f"{key}-secret": None for key in VALUES}
    path = tenant.vars_path()
    assert await shown(both, path) == VALUES | secrets
    assert await shown(both, path.replace("/vars", "/all-vars")) == VALUES | secrets
    found = await shown(both, f"/organizations/{tenant.organization}/vars?fields[vars]=key,value")
    assert found == VALUES | secrets
    for key, value in VALUES.items():
        (row,) = [one for one in await tenant.variables() if one["attributes"]["key"] == key]
        answer = await tenant.call("owner", "GET", f"{path}/{row['id']}")
        assert answer.json()["data"]["attributes"]["value"] == value


async def test_changes_and_copies_open_values_of_both_generations(both: Calls) -> None:
    tenant = both.tenant
    source = {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}}
    copy = {"data": {"type": "copies", "relationships": {"source": source}}}
    place = f"/workspaces/{tenant.workspaces['payments']}/actions/copy"
    copied = await tenant.call("owner", "POST", place, copy)
    assert copied.status_code == 200, copied.text
    for row in await tenant.variables():
        update = {"data": {**row, "attributes": {"sensitive": True}}}
        path = f"{tenant.vars_path()}/{row['id']}"
        assert (await tenant.call("owner", "PATCH", path, update)).status_code == 200
    assert (await needed(both))[1]["variables"] == 1  # that secret is as it was
    for workspace in ("network", "payments"):
        assert await handed_out(both, workspace) == ALL_VALUES


async def test_a_change_that_says_no_value_leaves_it_under_the_key_that_has_sealed_it(
    both: Calls,
) -> None:
    tenant = both.tenant
    (row,) = [one for one in await tenant.variables() if one["attributes"]["key"] == "one"]
    path = f"{tenant.vars_path()}/{row['id']}"
    update = {"data": {**row, "attributes": {"description": "another"}}}
    assert (await tenant.call("owner", "PATCH", path, update)).status_code == 200
    item = variable_document(key="one", value=VALUES["one"], description="one more")["data"]
    del item["attributes"]["value"]
    applied = await tenant.call(
        "owner",
        "POST",
        f"/workspaces/{tenant.workspaces['network']}/actions/apply",
        {"data": [item]},
    )
    assert applied.status_code == 200, applied.text
    assert (await shown(both, tenant.vars_path()))["one"] == VALUES["one"]
    assert (await needed(both))[1]["variables"] == 2


async def test_jobs_and_commands_on_the_host_get_values_of_both_generations(both: Calls) -> None:
    tenant = both.tenant
    assert await handed_out(both) == ALL_VALUES
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    _, delivered = await job.deliver(await job.exchange())
    assert {one.key: one.value for one in delivered} == ALL_VALUES


async def test_organizations_are_made_with_a_data_key_of_the_generation_in_use(
    own_calls: Calls,
) -> None:
    await use_another(own_calls)
    draft = OrganizationDraft(name="made-later", email="a@example.com")
    await own_calls.services.organizations.create(caller(own_calls.tenant, "admin"), draft)

    async def key_of(tx: Transaction) -> int:
        (made,) = (await organizations.find_all(tx, ["made-later"])).values()
        found = await organizations.data_key(tx, made.id)
        assert found is not None
        return found.version

    assert await own_calls.services.database.read(key_of) == 2


async def test_an_organization_that_is_made_while_another_comes_into_use_is_made_under_that(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = own_calls.services.organizations
    make = made._make

    async def make_after(*asked: Any) -> Any:
        await use_another(own_calls)
        return await make(*asked)

    monkeypatch.setattr(made, "_make", make_after)
    await made.create(caller(own_calls.tenant, "admin"), OrganizationDraft(name="made-meanwhile"))
    assert data_keys.ORGANIZATIONS not in (await needed(own_calls)).get(1, {})


async def test_whoever_applies_a_file_while_another_comes_into_use_is_waited_for(
    own_nodes: tuple[Deployment, Deployment],
    migrated_postgres: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deployment, node = own_nodes
    calls = Calls(await build_tenant(deployment))
    key_id = await node.services.data_keys.add(operator())
    look = data_keys.generations
    using: list[asyncio.Task[None]] = []

    async def and_another_comes_into_use(tx: Transaction) -> Any:
        monkeypatch.undo()
        found = await look(tx)
        use = node.services.data_keys.activate(operator(), key_id)
        using.append(asyncio.create_task(use))
        await waits(migrated_postgres, using[0])
        return found

    files = "teamvars.services.directory_files.files.data_keys.generations"
    monkeypatch.setattr(files, and_another_comes_into_use)
    directory = Directory(organizations=(OrganizationEntry("made-meanwhile"),))
    await deployment.services.directory.apply(operator(), directory, Options())
    await using[0]
    assert data_keys.ORGANIZATIONS not in (await needed(calls)).get(1, {})


async def test_one_that_is_added_is_not_in_use_before_it_is_activated(own_calls: Calls) -> None:
    keys = own_calls.services.data_keys
    assert await keys.add(operator()) == "data-2"
    with pytest.raises(KeyRefused, match="data-2 was added before"):
        await keys.add(operator())
    await own_calls.create(key="one")
    assert (await needed(own_calls)).keys() == {1}
    await keys.activate(operator(), "data-2")
    await keys.activate(operator(), "data-2")
    with pytest.raises(KeyRefused, match="newer than data-1"):
        await keys.activate(operator(), "data-1")
    for unknown in ("data-9", "data", "mk-1"):
        with pytest.raises(KeyRefused, match=f"There is no {unknown}:"):
            await keys.activate(operator(), unknown)
    assert await actions(own_calls) == ["key.add data-2", "key.activate data-2"]


async def test_one_that_anything_needs_is_not_retired(both: Calls) -> None:
    keys = both.services.data_keys
    with pytest.raises(KeyRefused, match=r"data-1 is not retired: it is needed \(variables: 2\)"):
        await keys.retire(operator(), "data-1")
    for key_id in ("data-2", await keys.add(operator())):
        with pytest.raises(KeyRefused, match=f"{key_id} is in use or will be"):
            await keys.retire(operator(), key_id)
    assert await shown(both, both.tenant.vars_path()) == await shown(both, both.tenant.vars_path())
    assert not [one for one in await actions(both) if one.startswith("key.retire")]


async def test_one_that_was_retired_is_gone_from_every_organization(own_calls: Calls) -> None:
    await use_another(own_calls)
    keys, sealer = own_calls.services.data_keys, own_calls.tools.sealer
    await keys.retire(operator(), "data-1", leaked=True)
    stored = await own_calls.services.database.read(lambda tx: data_keys.page(tx, ""))
    assert {sealer.generations(one) for one in stored} == {frozenset({2})}
    for again in (keys.retire, keys.activate):
        with pytest.raises(KeyRefused, match="gone for good"):
            await again(operator(), "data-1")
    generations = await own_calls.services.database.read(data_keys.generations)
    assert active_of(generations).id == "data-2"
    assert [one.id for one in generations if one.retired_at is None] == ["data-2"]
    assert await keys.add(operator()) == "data-3"


async def test_whoever_began_before_another_came_into_use_takes_no_organization_back(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, each = own_calls.services.data_keys, own_calls.services.data_keys._each

    async def after_another(*asked: Any) -> list[str]:
        monkeypatch.setattr(keys, "_each", each)
        await use_another(own_calls)
        return await each(*asked)

    monkeypatch.setattr(keys, "_each", after_another)
    assert await keys.renew() == []
    assert (await needed(own_calls)).keys() == {2}
    await keys.retire(operator(), "data-1")


async def test_whatever_ends_a_step_the_same_again_goes_on(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, replace_each = own_calls.services.data_keys, data_keys.replace_each
    monkeypatch.setattr(data_keys, "_PAGE", data_keys._PAGE.replace("LIMIT 50", "LIMIT 1"))

    async def first_alone(tx: Transaction, changed: Any) -> None:
        await replace_each(tx, changed)
        monkeypatch.setattr(data_keys, "replace_each", broken)

    async def broken(tx: Transaction, changed: Any) -> None:
        raise Ended

    async def ended(step: Any) -> None:
        monkeypatch.setattr(data_keys, "replace_each", first_alone)
        with pytest.raises(Ended):
            await step()
        monkeypatch.setattr(data_keys, "replace_each", replace_each)
        await step()

    await ended(lambda: keys.add(operator()))
    await ended(lambda: keys.activate(operator(), "data-2"))
    assert (await needed(own_calls)).keys() == {2}
    await ended(lambda: keys.retire(operator(), "data-1"))
    assert await actions(own_calls) == [
        "key.add data-2",
        "key.activate data-2",
        "key.retire data-1",
    ]


async def test_of_one_that_is_in_use_by_now_nobody_is_told_that_nothing_was_changed(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*_: object) -> None:
        raise storage_unavailable(OSError("canceled"))

    keys = own_calls.services.data_keys
    await keys.add(operator())
    monkeypatch.setattr(key_rows, "note_change", locked)
    told = r"^The rest was refused \(OSError: canceled\)\. A part of this is done\. "
    with pytest.raises(Unfinished, match=f"{told}'teamvars keys activate data-2' does the rest.$"):
        await keys.activate(operator(), "data-2")
    monkeypatch.undo()
    await keys.activate(operator(), "data-2")
    assert (await needed(own_calls)).keys() == {2}


@pytest.mark.parametrize("is_added", [False, True], ids=["adding", "activating"])
async def test_data_keys_that_do_not_open_are_named_and_stay(
    own_calls: Calls, is_added: bool
) -> None:
    keys = own_calls.services.data_keys
    if is_added:
        await keys.add(operator())
    before = await actions(own_calls)
    stored = await own_calls.services.database.read(lambda tx: data_keys.page(tx, ""))
    broken = stored[0]
    await execute(
        own_calls.services.database,
        broken.organization_id,
        "UPDATE data_keys SET wrapped = substr(wrapped, 2) WHERE organization_id = $1",
    )
    step = keys.activate(operator(), "data-2") if is_added else keys.add(operator())
    with pytest.raises(KeyRefused, match=f"{broken.organization_id} does not open"):
        await step
    assert await actions(own_calls) == before
    with pytest.raises(SealBroken):
        own_calls.tools.sealer.generations(
            (await own_calls.services.database.read(lambda tx: data_keys.page(tx, "")))[0]
        )


async def test_values_that_are_written_while_another_comes_into_use_all_open(
    own_calls: Calls,
) -> None:
    async def write() -> None:
        for n in range(20):
            await own_calls.create(key=f"key-{n}", value=f"value {n}")

    writing = asyncio.create_task(write())
    await use_another(own_calls)
    await writing
    wanted = {f"key-{n}": f"value {n}" for n in range(20)}
    assert await shown(own_calls, own_calls.tenant.vars_path()) == wanted


async def test_another_is_due_once_an_organization_has_made_many_entries_under_one(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def told() -> list[str]:
        diagnosis = Diagnosis(own_calls.services.database, wiring.clock)
        return [one.text for one in await diagnosis.of_data() if one.subject == "data keys"]

    assert await told() == []
    for n in range(3):
        await own_calls.create(key=f"key-{n}")
    monkeypatch.setattr(findings, "MOST_SEALS", 2)
    (text,) = await told()
    assert "teamvars keys add data" in text
    await use_another(own_calls)
    assert await told() == []
    for n in range(3):
        await own_calls.create(key=f"later-{n}")
    (text,) = await told()
    assert "may have sealed 3 values" in text


@pytest.mark.parametrize("own_url", ["postgres"], indirect=True)
async def test_whoever_was_writing_before_another_came_into_use_is_waited_for(
    own_calls: Calls,
) -> None:
    await use_another(own_calls)
    made, database = await own_calls.create(), own_calls.services.database
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tx: Transaction) -> None:
        begun.set()
        await go_on.wait()
        await tx.execute("UPDATE variables SET key_version = 1 WHERE id = $1", made.id)

    writing = asyncio.create_task(database.write(slow))
    await begun.wait()
    retiring = asyncio.create_task(own_calls.services.data_keys.retire(operator(), "data-1"))
    await asyncio.wait({retiring}, timeout=0.5)
    go_on.set()
    await writing
    with pytest.raises(KeyRefused, match=r"needed \(variables: 1\)"):
        await retiring


def no_file(_: object) -> Keyring:
    """Generations are in the store."""
    raise AssertionError


async def test_operators_name_generations_as_they_do_other_keys(own_calls: Calls) -> None:
    keys = own_calls.services.keys
    key_id = await keys.add(operator(), DATA, no_file)
    await keys.activate(operator(), key_id, no_file)
    await own_calls.create()
    listed = {one.id: one for one in await keys.status() if one.purpose == DATA}
    assert listed["data-2"].needed == {"organizations": 2, "variables": 1}
    assert [one.is_active for one in listed.values()] == [False, True]
    await keys.retire(operator(), "data-1", no_file, leaked=False)
    assert [one.id for one in await keys.status() if one.purpose == DATA] == ["data-2"]


async def test_there_is_one_generation_as_long_as_nodes_of_older_releases_may_run(
    own_calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "contracts", lambda _: ["one"])
    keys = own_calls.services.keys
    for step in (
        keys.add(operator(), DATA, no_file),
        keys.activate(operator(), "data-1", no_file),
        keys.retire(operator(), "data-1", no_file, leaked=False),
    ):
        with pytest.raises(KeyRefused, match="migrate up --contract"):
            await step
