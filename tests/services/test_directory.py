"""`directory apply`: a file says what there is, exactly where it says so, and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest

from teamvars.decisions.invitations import Asked
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    TagsEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.errors import Code, Refusal
from teamvars.domain.memberships import Status
from teamvars.domain.names import Origin
from teamvars.domain.tags import MAX_TAGS, SaidBinding, SaidName, TagChange, TagsDraft
from teamvars.domain.team_access import AccessType, GrantDraft
from teamvars.domain.teams import Visibility
from teamvars.services.directory_files.files import Options
from tests.services.calls import AS_WRITTEN, Calls, caller, dump, refusal_of
from tests.support.deployment import operator

ACTIVE, INVITED = Status.ACTIVE, Status.INVITED


async def apply(
    calls: Calls, directory: Directory, options: Options = AS_WRITTEN
) -> tuple[str, ...]:
    applied = await calls.services.directory.apply(operator(), directory, options)
    return applied.changes


def whole(calls: Calls, **changes: Any) -> Directory:
    """A file with everything it can say, for an organization beside the tenant's."""
    mark = calls.tenant.organization.removeprefix("org-")
    anna, ben = f"Anna-{mark}", f"Ben-{mark}"
    teams = (
        TeamEntry("owners", members=(anna,)),
        TeamEntry(
            "Crew", Visibility.SECRET, True, True, (anna, ben), {"network": AccessType.WRITE}
        ),
    )
    entry: dict[str, Any] = {
        "name": f"Whole-{mark}",
        "members": {anna: ACTIVE, ben: INVITED},
        "workspaces": ("network", "Payments"),
        "teams": teams,
        "tags": {"network": TagsEntry(("eu",), {"Region": "eu", "region": ""})},
    }
    users = (UserEntry(anna, f"{anna}@example.com", True), UserEntry(ben))
    return Directory(users, (OrganizationEntry(**{**entry, **changes}),))


async def test_applying_a_file_again_changes_nothing(calls: Calls) -> None:
    assert len(await apply(calls, whole(calls))) > 5
    unchanged = await dump(calls.services.database)
    for options in (AS_WRITTEN, Options(prune=True), Options(dry_run=True)):
        assert await apply(calls, whole(calls), options) == ()
    assert await dump(calls.services.database) == unchanged


async def test_names_are_the_same_however_they_are_capitalised(calls: Calls) -> None:
    await apply(calls, whole(calls))
    unchanged = await dump(calls.services.database)
    (entry,) = whole(calls).organizations
    shouted = OrganizationEntry(
        entry.name.upper(),
        {name.upper(): status for name, status in entry.members.items()},
        tuple(name.upper() for name in entry.workspaces),
        (
            TeamEntry("OWNERS", members=tuple(n.upper() for n in entry.teams[0].members or ())),
            TeamEntry("CREW", workspaces={"NETWORK": AccessType.WRITE}),
        ),
    )
    users = tuple(UserEntry(user.username.upper()) for user in whole(calls).users)
    assert await apply(calls, Directory(users, (shouted,)), Options(prune=True)) == ()
    assert await dump(calls.services.database) == unchanged


async def test_a_dry_run_tells_the_same_changes_and_makes_none(calls: Calls) -> None:
    before = await dump(calls.services.database)
    told = await apply(calls, whole(calls), Options(dry_run=True))
    assert await dump(calls.services.database) == before
    assert await apply(calls, whole(calls)) == told


async def test_an_exact_key_undoes_what_was_changed_otherwise(calls: Calls) -> None:
    await calls.change("add", "plain", team="writers")
    await calls.apply(
        TeamEntry("writers", workspaces={"network": AccessType.WRITE, "payments": AccessType.READ})
    )
    writers = TeamEntry(
        "writers", members=calls.named("writer"), workspaces={"network": AccessType.READ}
    )
    changes = await calls.apply(writers)
    assert len(changes) == 4  # two members out, one grant lowered, one taken away
    assert await calls.tenant.members("writers") == {calls.tenant.memberships["writer"]}
    assert await calls.list("writer") == {}
    assert await refusal_of(calls.list("writer", "payments")) == "not_found"


async def test_what_the_file_does_not_speak_of_stays(calls: Calls) -> None:
    before = await dump(calls.services.database)
    teams = [TeamEntry(name) for name in calls.tenant.teams]
    users = tuple(UserEntry(name) for name in calls.named("owner", "admin"))
    entry = OrganizationEntry(calls.tenant.organization, teams=tuple(teams))
    assert await apply(calls, Directory(users, (entry,))) == ()
    assert await dump(calls.services.database) == before


async def test_pruning_removes_the_rest_of_the_named_organization_alone(calls: Calls) -> None:
    await calls.create()
    changes = await calls.apply(
        TeamEntry("owners"),
        TeamEntry("readers"),
        members=dict.fromkeys(calls.named("owner", "reader"), ACTIVE),
        workspaces=("network",),
        options=Options(prune=True),
    )
    kinds = sorted(change.split()[0] + " " + change.split()[1] for change in changes)
    assert kinds == [
        *["delete team"] * 4,
        "delete workspace",
        *["remove member"] * 7,
    ]
    assert await calls.list("reader") == {"region": "eu"}
    tables = await dump(calls.services.database)
    (other,) = (row for row in tables["organizations"] if row[1] == calls.tenant.other_organization)
    assert any(row[1] == other[0] for row in tables["workspaces"])
    assert await calls.tenant.deployment.audit_holds()


async def test_a_workspace_with_variables_is_pruned_only_when_that_is_said(calls: Calls) -> None:
    await calls.create(workspace="payments")
    before = await dump(calls.services.database)
    left: dict[str, Any] = {
        "members": {calls.named("owner")[0]: ACTIVE},
        "workspaces": ("network",),
    }
    for options in (Options(prune=True), Options(prune=True, dry_run=True)):
        refused = calls.apply(TeamEntry("owners"), options=options, **left)
        assert await refusal_of(refused) == "invalid_value"
        assert await dump(calls.services.database) == before
    options = Options(prune=True, delete_variables=True)
    changes = await calls.apply(TeamEntry("owners"), options=options, **left)
    assert f"delete workspace {calls.tenant.organization}/payments" in changes
    assert await refusal_of(calls.list(workspace="payments")) == "not_found"


@pytest.mark.parametrize(
    "way", ["not a member of owners", "invited", "pruned", "nobody is a member of owners"]
)
async def test_the_last_active_owner_cannot_be_taken_away(calls: Calls, way: str) -> None:
    (owner, plain, invited) = calls.named("owner", "plain", "invited")
    before = await dump(calls.services.database)
    applied = {
        "not a member of owners": calls.apply(TeamEntry("owners", members=(invited,))),
        "invited": calls.apply(members={owner: INVITED}),
        "pruned": calls.apply(
            *(TeamEntry(name) for name in calls.tenant.teams),
            members={plain: ACTIVE},
            workspaces=("network", "payments"),
            options=Options(prune=True),
        ),
        "nobody is a member of owners": calls.apply(TeamEntry("owners", members=())),
    }
    asked = applied.pop(way)
    for other in applied.values():
        other.close()
    assert await refusal_of(asked) == "last_owner"
    assert await dump(calls.services.database) == before


async def test_owners_can_be_exchanged_in_one_file(calls: Calls) -> None:
    await calls.apply(TeamEntry("owners", members=calls.named("plain")))
    assert await calls.list("plain", "payments") == {}


async def test_the_owners_team_is_never_pruned(calls: Calls) -> None:
    left = dict.fromkeys(calls.named(*calls.tenant.memberships), ACTIVE)
    options = Options(prune=True)
    await calls.apply(members=left, workspaces=("network", "payments"), options=options)
    assert await calls.list("owner", "payments") == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"members": {"nobody-we-know": ACTIVE}},
        {"teams": (TeamEntry("Crew", members=("nobody-we-know",)),)},
        {"teams": (TeamEntry("Crew", workspaces={"of-nobody": AccessType.READ}),)},
    ],
    ids=["unknown user", "unknown member", "unknown workspace"],
)
async def test_a_file_that_names_something_unknown_is_refused_whole(
    calls: Calls, changes: dict[str, Any]
) -> None:
    before = await dump(calls.services.database)
    assert await refusal_of(apply(calls, whole(calls, **changes))) == "invalid_value"
    assert await dump(calls.services.database) == before


async def test_an_address_that_is_anothers_is_refused_however_it_is_capitalised(
    calls: Calls,
) -> None:
    one, other = calls.named("writer", "reader")
    before = await dump(calls.services.database)
    for username in (one, f"{one}-new"):
        users = (UserEntry(username, f"{other}@EXAMPLE.com"),)
        assert await refusal_of(apply(calls, Directory(users))) == "invalid_value"
    assert await dump(calls.services.database) == before


async def test_a_users_address_and_rank_change_only_where_the_file_says_so(calls: Calls) -> None:
    (admin,) = calls.named("admin")
    assert await apply(calls, Directory((UserEntry(admin),))) == ()
    (change,) = await apply(calls, Directory((UserEntry(admin, site_admin=False),)))
    assert change == f"update user {admin}"
    assert await apply(calls, Directory((UserEntry(admin, f"{admin}@example.com"),))) == ()


async def test_a_member_changes_status_and_keeps_the_teams(calls: Calls) -> None:
    (writer,) = calls.named("writer")
    assert len(await calls.apply(members={writer: INVITED})) == 1
    assert await refusal_of(calls.list("writer")) == "not_found"
    assert len(await calls.apply(members={writer: ACTIVE})) == 1
    assert await calls.list("writer") == {}


async def test_the_answer_has_the_ids_of_all_that_the_file_names(calls: Calls) -> None:
    directory = whole(calls)
    first = await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
    again = await calls.services.directory.apply(operator(), directory, AS_WRITTEN)
    assert (first.organizations, first.users) == (again.organizations, again.users)
    (entry,) = directory.organizations
    ids = first.organizations[entry.name]
    assert set(ids.workspaces) == {"network", "Payments"}
    assert set(ids.teams) == {"owners", "Crew"}
    assert set(ids.memberships) == set(entry.members)
    assert set(first.users) == {user.username for user in directory.users}


async def test_what_is_exported_changes_nothing_when_it_is_applied_and_tells_what_it_lacks(
    own_calls: Calls,
) -> None:
    services, tenant = own_calls.services, own_calls.tenant
    email = f"{tenant.organization}@example.com"
    await services.operator_invitations.create(
        operator(), Asked(email, tenant.organization), show=True
    )
    place = tenant.teams["crew"], tenant.workspaces["payments"]
    draft = GrantDraft(team_id=place[0], workspace_id=place[1], access=AccessType.ADMIN)
    await services.grants.create(caller(tenant, "owner"), draft)
    tags = TagsDraft((SaidName("Live", ""),), (SaidBinding("region", "eu", ""),))
    await services.tags.change(caller(tenant, "owner"), place[1], tags, TagChange.ADD)
    (disabled,) = own_calls.named("disabled")
    exported = every = await services.directory.export([])
    for names in ([], [tenant.organization]):
        exported = await services.directory.export(names)
        again = Options(prune=True)
        assert (await services.directory.apply(operator(), exported.directory, again)).changes == ()
        told = "\n".join(exported.unsaid)
        assert len(exported.unsaid) == 3
        assert "was only invited so far" in told
        assert f"User {disabled} is disabled" in told
        assert f"Team {tenant.organization}/crew has grants" in told
        assert "(payments: admin)" in told
    (entry,) = exported.directory.organizations
    assert entry.tags == {"payments": TagsEntry(("live",), {"region": "eu"})}
    usernames = {user.username for user in exported.directory.users}
    (outsider,) = own_calls.named("outsider")
    assert outsider in {user.username for user in every.directory.users} - usernames
    assert {name for one in exported.directory.organizations for name in one.members} >= usernames
    assert len(every.directory.organizations) == 2


async def test_tags_are_exact_where_the_file_names_them_and_stay_where_it_does_not(
    calls: Calls,
) -> None:
    name, spaces = calls.tenant.organization, ("network", "payments")

    async def tagged(**tags: TagsEntry) -> tuple[tuple[str, ...], Mapping[str, TagsEntry]]:
        entry = OrganizationEntry(name, workspaces=spaces, tags=tags)
        file = Directory(organizations=(entry,))
        told = await apply(calls, file, Options(dry_run=True))
        assert await apply(calls, file) == told
        assert await apply(calls, file) == ()
        exported = await calls.services.directory.export([name])
        return told, exported.directory.organizations[0].tags

    names, bindings = TagsEntry(("b", "A")), TagsEntry(None, {"k": "v"})
    told, seen = await tagged(network=names, payments=bindings)
    assert len(told) == 2
    assert seen == {"network": TagsEntry(("a", "b")), "payments": bindings}
    told, seen = await tagged(network=bindings, payments=TagsEntry((), {"K": "w"}))
    assert seen == {
        "network": TagsEntry(("a", "b"), {"k": "v"}),
        "payments": TagsEntry(None, {"K": "w"}),
    }
    assert (await tagged())[1] == seen
    told, seen = await tagged(network=TagsEntry((), {}))
    assert told == (f"change the tags of workspace {name}/network",)
    assert seen.keys() == {"payments"}
    events = await calls.tenant.call(
        "owner", "GET", f"/workspaces/{calls.tenant.workspaces['network']}/audit-events"
    )
    changed = events.json()["data"][0]["attributes"]["details"]["changed"]
    assert changed == ["tag-bindings", "tag-names"]
    assert await calls.tenant.deployment.audit_holds()


async def test_a_workspace_gets_another_name_and_tags_at_once(calls: Calls) -> None:
    organization = calls.tenant.organization
    file = OrganizationEntry(
        organization,
        workspaces=("net",),
        origins={"net": Origin("network")},
        tags={"net": TagsEntry(("eu",))},
    )
    told = await apply(calls, Directory(organizations=(file,)))
    assert told == (
        f"rename workspace {organization}/network to net",
        f"change the tags of workspace {organization}/net",
    )
    assert await apply(calls, Directory(organizations=(file,))) == ()
    shown = await calls.tenant.call("owner", "GET", f"/organizations/{organization}/workspaces/net")
    assert shown.json()["data"]["id"] == calls.tenant.workspaces["network"]
    assert shown.json()["data"]["attributes"]["tag-names"] == ["eu"]
    assert await calls.tenant.deployment.audit_holds()


async def test_a_workspace_with_too_many_tags_is_refused_at_its_line(calls: Calls) -> None:
    names = tuple(f"t{number}" for number in range(MAX_TAGS))
    entry: dict[str, Any] = {"name": calls.tenant.organization, "workspaces": ("network", "made")}
    places = {"network": "f:2", "made": "f:3"}
    tags = {one: TagsEntry(names, {"k": "v"}) for one in places}
    file = Directory(organizations=(OrganizationEntry(**entry, tags=tags, workspace_at=places),))
    with pytest.raises(Refusal) as raised:
        await apply(calls, file)
    assert [(fault.code, fault.detail[:4]) for fault in raised.value.faults] == [
        (Code.TOO_MANY_ITEMS, "f:2:"),
        (Code.TOO_MANY_ITEMS, "f:3:"),
    ]
