"""No change without its entry, and no secret in any."""

import json
from collections.abc import Awaitable, Callable

from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import Status
from teamvars.domain.preconditions import ANY_VERSION
from teamvars.domain.teams import Visibility
from teamvars.domain.variables import VariableDraft
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.services.tokens import OwnerName
from teamvars.storage.database import Transaction
from tests.house import operator
from tests.services.people import AS_WRITTEN, Desk, caller, dump, refusal_of

CANARY = "canary-7Qx2-in-a-value"


async def all_kinds_of_changes(desk: Desk) -> None:
    """One of each, in an organization that has all of them left afterwards."""
    world = desk.world
    owner = caller(world, "owner")
    made = await desk.create(key="audited", value=CANARY)
    place = world.workspaces["network"], made.id
    patch = VariableDraft(value=CANARY + "-2", sensitive=True)
    await desk.services.variables.update(owner, *place, patch, ANY_VERSION)
    await desk.services.variables.delete(owner, *place, ANY_VERSION)
    await desk.change("add", "plain")
    await desk.change("remove", "plain")
    token_owner = OwnerName(user=desk.named("writer")[0])
    new = await desk.services.tokens.create(operator(), token_owner, None)
    await desk.services.issued_tokens.revoke(operator(), new.token.id)
    user = UserEntry(f"new-{world.organization}", "n@example.com".replace("n", world.organization))
    await desk.services.directory.apply(operator(), Directory((user,)), AS_WRITTEN)
    changed = UserEntry(user.username, site_admin=True)
    await desk.services.directory.apply(operator(), Directory((changed,)), AS_WRITTEN)
    await desk.apply(
        TeamEntry("extra", members=desk.named("plain"), workspaces={"network": AccessType.READ}),
        workspaces=("extra",),
        members={user.username: Status.INVITED},
    )
    await desk.apply(
        TeamEntry("extra", Visibility.SECRET, members=(), workspaces={}),
        members={user.username: Status.ACTIVE},
    )
    await desk.apply(
        *(TeamEntry(name) for name in world.teams),
        workspaces=tuple(world.workspaces),
        members=dict.fromkeys(desk.named(*world.memberships), Status.ACTIVE),
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


async def test_every_change_has_its_entry_and_nothing_else_has(own_desk: Desk) -> None:
    audit = own_desk.services.audit
    before = len(await audit.newest(1000))
    await all_kinds_of_changes(own_desk)
    entries = await audit.newest(1000)
    new = entries[: len(entries) - before]
    assert sorted(entry.action for entry in new) == sorted(ACTIONS)
    assert all(entry.request_id and entry.subject_id and entry.at for entry in new)
    made = next(entry for entry in new if entry.action == "variable.create")
    assert (made.actor_kind, made.actor_id) == ("user", own_desk.world.users["owner"])
    assert made.stream_id == own_desk.world.workspaces["network"]
    assert await audit.verify() == (await _streams(own_desk), [])


async def _streams(desk: Desk) -> int:
    """How many streams there ever were."""
    rows = await dump(desk.services.database)
    ids = {row[0] for row in rows["streams"]} | {row[0] for row in rows["audit_entries"]}
    closed = {
        end["stream"]
        for row in rows["audit_entries"]
        for end in json.loads(row[10]).get("closes", ())
    }
    return len(ids | closed)


async def test_no_table_holds_a_value_or_a_token_in_the_open(own_desk: Desk) -> None:
    await own_desk.create(key="kept", value=CANARY)
    await own_desk.create(key="hidden", value=CANARY, sensitive=True)
    await all_kinds_of_changes(own_desk)
    rows = await dump(own_desk.services.database)
    everything, audited = str(rows), str(rows["audit_entries"])
    for secret in (CANARY, *own_desk.world.tokens.values()):
        for form in (secret, secret.encode().hex()):
            assert form not in everything
    for secret in own_desk.world.tokens.values():
        assert hash_token(secret).hex() not in audited
        assert str(hash_token(secret)) not in audited
    assert own_desk.world.users["owner"] in audited  # the search finds what is there


async def _create_variable(desk: Desk) -> None:
    await desk.create(key="new")


async def _update_variable(desk: Desk) -> None:
    place = caller(desk.world, "owner"), desk.world.workspaces["network"]
    (variable_id,) = await desk.variable_ids()
    patch = VariableDraft(value="other")
    await desk.services.variables.update(*place, variable_id, patch, ANY_VERSION)


async def _delete_variable(desk: Desk) -> None:
    place = caller(desk.world, "owner"), desk.world.workspaces["network"]
    (variable_id,) = await desk.variable_ids()
    await desk.services.variables.delete(*place, variable_id, ANY_VERSION)


async def _add_member(desk: Desk) -> None:
    await desk.change("add", "plain")


async def _remove_member(desk: Desk) -> None:
    await desk.change("remove", "writer", team="writers")


async def _create_token(desk: Desk) -> None:
    owner = OwnerName(organization=desk.world.organization)
    await desk.services.tokens.create(operator(), owner, None)


async def _revoke_token(desk: Desk) -> None:
    tokens = await desk.services.issued_tokens.list()
    await desk.services.issued_tokens.revoke(operator(), tokens[0].token.id)


async def _apply_file(desk: Desk) -> None:
    await desk.apply(TeamEntry("new", members=desk.named("plain")), workspaces=("new",))


async def test_when_the_entry_cannot_be_written_nothing_is_changed(own_desk: Desk) -> None:
    database = own_desk.services.database
    await own_desk.create()

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
        assert await refusal_of(change(own_desk)) == "storage_unavailable"
        await rename("out_of_the_way", "audit_entries")
        assert await dump(database) == unchanged
    for change in (_create_variable, _add_member, _create_token, _apply_file):
        await change(own_desk)  # the control: each would have been a change
        assert await dump(database) != unchanged
        unchanged = await dump(database)


async def test_a_request_that_changes_nothing_writes_nothing(own_desk: Desk) -> None:
    await own_desk.create()
    unchanged = await dump(own_desk.services.database)
    nothings: list[Callable[[], Awaitable[object]]] = [
        lambda: own_desk.change("remove", "plain"),
        lambda: own_desk.change("add", "writer", team="writers"),
        lambda: own_desk.change("add"),
        lambda: own_desk.apply(),
        lambda: own_desk.apply(TeamEntry("writers", workspaces={"network": AccessType.WRITE})),
    ]
    for nothing in nothings:
        await nothing()
        assert await dump(own_desk.services.database) == unchanged
    assert await refusal_of(own_desk.create()) == "key_taken"
    assert await refusal_of(own_desk.create("reader")) == "forbidden"
    assert await dump(own_desk.services.database) == unchanged
