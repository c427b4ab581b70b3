"""No change without its entry, and no secret in any."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.audit import SYSTEM_STREAM, AuditQuery, Head
from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import Status
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import Visibility
from teamvars.domain.tokens import OwnerName
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.storage.database import Transaction
from tests.services.calls import AS_WRITTEN, Calls, caller, dump, refusal_of
from tests.support.deployment import operator

CANARY = "canary-7Qx2-in-a-value"


async def all_kinds_of_changes(calls: Calls) -> None:
    """One of each, in an organization that has all of them left afterwards."""
    tenant = calls.tenant
    owner = caller(tenant, "owner")
    made = await calls.create(key="audited", value=CANARY)
    place = ToWorkspace(tenant.workspaces["network"]), made.id
    patch = VariableDraft(value=CANARY + "-2", sensitive=True)
    await calls.services.variables.update(owner, *place, patch, ANY_VERSION)
    await calls.services.variables.delete(owner, *place, ANY_VERSION)
    await calls.change("add", "plain")
    await calls.change("remove", "plain")
    token_owner = OwnerName(user=calls.named("writer")[0])
    new = await calls.services.tokens.create(operator(), token_owner, None)
    await calls.services.issued_tokens.revoke(operator(), new.token.id)
    user = UserEntry(
        f"new-{tenant.organization}", "n@example.com".replace("n", tenant.organization)
    )
    await calls.services.directory.apply(operator(), Directory((user,)), AS_WRITTEN)
    changed = UserEntry(user.username, site_admin=True)
    await calls.services.directory.apply(operator(), Directory((changed,)), AS_WRITTEN)
    await calls.apply(
        TeamEntry("extra", members=calls.named("plain"), workspaces={"network": AccessType.READ}),
        workspaces=("extra",),
        members={user.username: Status.INVITED},
    )
    await calls.apply(
        TeamEntry("extra", Visibility.SECRET, members=(), workspaces={}),
        members={user.username: Status.ACTIVE},
    )
    await calls.apply(
        *(TeamEntry(name) for name in tenant.teams),
        workspaces=tuple(tenant.workspaces),
        members=dict.fromkeys(calls.named(*tenant.memberships), Status.ACTIVE),
        options=Options(prune=True),
    )


ACTIONS = [
    "variable.create",
    "variable.update",
    "variable.delete",
    "member.add",
    "member.remove",
    "token.create",
    "token.revoke",
    "user.create",
    "user.update",
    "membership.create",
    "workspace.create",
    "team.create",
    "member.add",
    "grant.put",
    "membership.update",
    "team.update",
    "member.remove",
    "grant.remove",
    "membership.update",
    "membership.update",
    "team.delete",
    "workspace.delete",
    "membership.delete",
]


async def test_every_change_has_its_entry_and_nothing_else_has(own_calls: Calls) -> None:
    audit = own_calls.services.audit
    before = len(await audit.newest(1000))
    await all_kinds_of_changes(own_calls)
    entries = await audit.newest(1000)
    new = entries[: len(entries) - before]
    assert sorted(entry.action for entry in new) == sorted(ACTIONS)
    assert all(entry.request_id and entry.subject_id and entry.at for entry in new)
    made = next(entry for entry in new if entry.action == "variable.create")
    assert (made.actor_kind, made.actor_id) == ("user", own_calls.tenant.users["owner"])
    assert made.stream_id == own_calls.tenant.workspaces["network"]
    assert await audit.verify() == (await _streams(own_calls), [])


async def _streams(calls: Calls) -> int:
    """How many streams there ever were."""
    rows = await dump(calls.services.database)
    ids = {row[0] for row in rows["streams"]} | {row[0] for row in rows["audit_entries"]}
    closed = {
        end["stream"]
        for row in rows["audit_entries"]
        for end in json.loads(row[10]).get("closes", ())
    }
    return len(ids | closed)


async def test_no_table_holds_a_value_or_a_token_in_the_open(own_calls: Calls) -> None:
    await own_calls.create(key="kept", value=CANARY)
    await own_calls.create(key="hidden", value=CANARY, sensitive=True)
    await all_kinds_of_changes(own_calls)
    rows = await dump(own_calls.services.database)
    everything, audited = str(rows), str(rows["audit_entries"])
    for secret in (CANARY, *own_calls.tenant.tokens.values()):
        for form in (secret, secret.encode().hex()):
            assert form not in everything
    for secret in own_calls.tenant.tokens.values():
        assert hash_token(secret).hex() not in audited
        assert str(hash_token(secret)) not in audited
    assert own_calls.tenant.users["owner"] in audited  # the search finds what is there


async def _create_variable(calls: Calls) -> None:
    await calls.create(key="new")


async def _update_variable(calls: Calls) -> None:
    place = caller(calls.tenant, "owner"), ToWorkspace(calls.tenant.workspaces["network"])
    (variable_id,) = await calls.variable_ids()
    patch = VariableDraft(value="other")
    await calls.services.variables.update(*place, variable_id, patch, ANY_VERSION)


async def _delete_variable(calls: Calls) -> None:
    place = caller(calls.tenant, "owner"), ToWorkspace(calls.tenant.workspaces["network"])
    (variable_id,) = await calls.variable_ids()
    await calls.services.variables.delete(*place, variable_id, ANY_VERSION)


async def _add_member(calls: Calls) -> None:
    await calls.change("add", "plain")


async def _remove_member(calls: Calls) -> None:
    await calls.change("remove", "writer", team="writers")


async def _create_token(calls: Calls) -> None:
    owner = OwnerName(organization=calls.tenant.organization)
    await calls.services.tokens.create(operator(), owner, None)


async def _revoke_token(calls: Calls) -> None:
    tokens = await calls.services.issued_tokens.list()
    await calls.services.issued_tokens.revoke(operator(), tokens[0].token.id)


async def _apply_file(calls: Calls) -> None:
    await calls.apply(TeamEntry("new", members=calls.named("plain")), workspaces=("new",))


async def test_when_the_entry_cannot_be_written_nothing_is_changed(own_calls: Calls) -> None:
    database = own_calls.services.database
    await own_calls.create()

    async def rename(before: str, after: str) -> None:
        async def body(tx: Transaction) -> None:
            await tx.script(f"ALTER TABLE {before} RENAME TO {after}")

        await database.write(body)

    unchanged = await dump(database)
    for change in (
        _create_variable,
        _update_variable,
        _delete_variable,
        _add_member,
        _remove_member,
        _create_token,
        _revoke_token,
        _apply_file,
    ):
        await rename("audit_entries", "out_of_the_way")
        assert await refusal_of(change(own_calls)) == "storage_unavailable"
        await rename("out_of_the_way", "audit_entries")
        assert await dump(database) == unchanged
    for change in (_create_variable, _add_member, _create_token, _apply_file):
        await change(own_calls)  # the control: each would have been a change
        assert await dump(database) != unchanged
        unchanged = await dump(database)


async def test_a_request_that_changes_nothing_writes_nothing(own_calls: Calls) -> None:
    await own_calls.create()
    unchanged = await dump(own_calls.services.database)
    nothings: list[Callable[[], Awaitable[object]]] = [
        lambda: own_calls.change("remove", "plain"),
        lambda: own_calls.change("add", "writer", team="writers"),
        lambda: own_calls.change("add"),
        lambda: own_calls.apply(),
        lambda: own_calls.apply(TeamEntry("writers", workspaces={"network": AccessType.WRITE})),
    ]
    for nothing in nothings:
        await nothing()
        assert await dump(own_calls.services.database) == unchanged
    assert await refusal_of(own_calls.create()) == "key_taken"
    assert await refusal_of(own_calls.create("reader")) == "forbidden"
    assert await dump(own_calls.services.database) == unchanged


async def test_what_no_entry_has_and_nothing_was_called_is_told_all_at_once(calls: Calls) -> None:
    await calls.create()
    query = AuditQuery(
        stream="ws-none",
        actor="nobody",
        action="none.done",
        request="req-none",
        subject="nothing",
        workspace="none/none",
        team="none/none",
        organization="none",
    )
    with pytest.raises(Refusal) as refusal:
        await calls.services.audit.find(10, query)
    told = "\n".join(fault.detail for fault in refusal.value.faults)
    for thing in (
        "There is no stream ws-none.",
        "Nobody is or was called nobody,",
        "No entry has the action none.done.",
        "No entry belongs to the request req-none.",
        "Nothing is or was called nothing,",
        "There is and was no workspace none/none;",
        "There is and was no team none/none;",
        "There is and was no organization none;",
    ):
        assert thing in told
    by_operator = AuditQuery(actor="operator:nobody")
    assert await refusal_of(calls.services.audit.find(10, by_operator)) == "not_found"
    found, _ = await calls.services.audit.find(1, AuditQuery(actor=calls.named("owner")[0]))
    assert [entry.action for entry in found] == ["variable.create"]


async def test_a_stream_is_one_from_its_birth_on(calls: Calls) -> None:
    stream = calls.tenant.workspaces["payments"]
    for many in (0, 1):
        found, _ = await calls.services.audit.find(10, AuditQuery(stream=stream))
        assert len(found) == many
        await calls.create(workspace="payments", key=f"key_{many}")


async def test_an_operator_finds_entries_by_the_names_and_ids_of_what_they_are_about(
    calls: Calls,
) -> None:
    tenant, organization = calls.tenant, calls.tenant.organization
    made = await calls.create(key="sought")
    await calls.change("add", "plain")
    (entry,) = [e for e in await calls.services.audit.newest(10) if e.subject_id == made.id]
    created = {f"variable.create {made.id}"}

    async def found(**asked: Any) -> set[str]:
        entries, _ = await calls.services.audit.find(1000, AuditQuery(**asked))
        assert entries
        return {f"{one.action} {one.subject_id}" for one in entries}

    network, crew = tenant.workspaces["network"], tenant.teams["crew"]
    assert await found(subject="sought") == await found(subject=made.id) == created
    assert await found(request=entry.request_id) == created
    assert created <= await found(stream=network)
    assert created <= await found(action="variable.create")
    assert created <= await found(workspace=network)
    assert await found(workspace=f"{organization}/network") == await found(workspace=network)
    assert await found(team=f"{organization}/crew") == await found(team=crew)
    assert f"member.add {crew}" in await found(team=crew)
    by_id = await found(organization=entry.organization_id)
    assert created <= by_id == await found(organization=organization)
    assert created <= await found(actor=calls.named("owner")[0])
    by_operator = await found(actor="operator:tester")
    assert not created & by_operator
    entries, _ = await calls.services.audit.find(1000, AuditQuery(actor="operator:tester"))
    assert {one.actor_kind for one in entries} == {"operator"}
    assert "user.create" in {one.action for one in entries if one.stream_id == "system"}
    assert (await found(stream="system")) & by_operator


@pytest.mark.parametrize("altered", ["details = '['", "subject_id = 'org-other'"])
async def test_an_organization_that_is_there_is_found_whoever_altered_the_entry_of_its_birth(
    own_calls: Calls, altered: str
) -> None:
    made = await own_calls.create()

    async def alter(tx: Transaction) -> None:
        await tx.script(
            f"UPDATE audit_entries SET {altered} WHERE action = 'organization.create'"  # noqa: S608
        )

    await own_calls.services.database.write(alter)
    name = own_calls.tenant.organization
    for asked in (
        AuditQuery(organization=name),
        AuditQuery(workspace=f"{name}/network"),
        AuditQuery(team=f"{name}/crew"),
    ):
        found, names = await own_calls.services.audit.find(1000, asked)
        assert found
        told = {str(names.of_stream(one)) for one in found if one.stream_id != SYSTEM_STREAM}
        assert all(one.partition("/")[0] == name for one in told)
    found, _ = await own_calls.services.audit.find(1000, AuditQuery(organization=name))
    assert made.id in {one.subject_id for one in found}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"workspace": "network"}, "no workspace network; say ORG/WORKSPACE or its id."),
        ({"team": "crew"}, "no team crew; say ORG/TEAM or its id."),
        ({"set": "common"}, "no variable set common; say ORG/SET or its id."),
        ({"organization": "a/b"}, "no organization a/b; say its name or its id."),
        ({"actor": "user:tester"}, "Nobody is or was called user:tester,"),
        ({"actor": "operator"}, "Nobody is or was called operator,"),
    ],
)
async def test_what_is_named_in_another_form_is_not_found(
    calls: Calls, asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        await calls.services.audit.find(10, AuditQuery(**asked))
    (fault,) = refusal.value.faults
    assert told in fault.detail


async def test_a_head_that_was_kept_is_missed_once_its_entry_is_gone(own_calls: Calls) -> None:
    await own_calls.create()
    audit, network = own_calls.services.audit, own_calls.tenant.workspaces["network"]
    kept = [head for head, holds in await audit.heads() if holds]
    await own_calls.create(key="after")
    assert (await audit.verify([*kept, Head(network, 0, bytes(32))]))[1] == []
    (head,) = [one for one in kept if one.stream_id == network]
    gone = Head(network, head.sequence + 2, head.link), Head(network, head.sequence, bytes(32))
    for one in gone:
        _, (found,) = await audit.verify([*kept, one])
        assert (found.stream_id, found.sequence) == (network, one.sequence)
        assert "a rollback" in found.reason


async def test_an_export_has_each_entry_once_also_of_what_was_deleted_since(
    own_calls: Calls,
) -> None:
    audit, tenant = own_calls.services.audit, own_calls.tenant
    known: dict[str, int] = {}
    exported = [entry async for entry in audit.export(known)]
    assert [entry async for entry in audit.export(known)] == []
    await own_calls.create()
    path = f"/workspaces/{tenant.workspaces['network']}"
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
    exported += [entry async for entry in audit.export(known)]
    places = [(entry.stream_id, entry.sequence) for entry in exported]
    every = [(entry.stream_id, entry.sequence) for entry in await audit.newest(10_000)]
    assert sorted(places) == sorted(every)
    assert len(set(places)) == len(places)
    for stream in set(known):
        own = [sequence for id_, sequence in places if id_ == stream]
        assert own == sorted(own)
        assert known[stream] == own[-1]
