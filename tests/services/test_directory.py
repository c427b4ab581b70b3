"""`directory apply`: a file says what there is, exactly where it says so, and nothing else."""

from typing import Any

import pytest

from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import Status
from teamvars.domain.teams import Visibility
from teamvars.services.directory_files.files import Options
from tests.house import operator
from tests.services.people import AS_WRITTEN, Desk, dump, refusal_of

ACTIVE, INVITED = Status.ACTIVE, Status.INVITED


async def apply(desk: Desk, directory: Directory, options: Options = AS_WRITTEN) -> tuple[str, ...]:
    applied = await desk.services.directory.apply(operator(), directory, options)
    return applied.changes


def whole(desk: Desk, **changes: Any) -> Directory:
    """A file with everything it can say, for an organization beside the world's."""
    mark = desk.world.organization.removeprefix("org-")
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
    }
    users = (UserEntry(anna, f"{anna}@example.com", True), UserEntry(ben))
    return Directory(users, (OrganizationEntry(**{**entry, **changes}),))


async def test_applying_a_file_again_changes_nothing(desk: Desk) -> None:
    assert len(await apply(desk, whole(desk))) > 5
    unchanged = await dump(desk.services.database)
    for options in (AS_WRITTEN, Options(prune=True), Options(dry_run=True)):
        assert await apply(desk, whole(desk), options) == ()
    assert await dump(desk.services.database) == unchanged


async def test_names_are_the_same_however_they_are_capitalised(desk: Desk) -> None:
    await apply(desk, whole(desk))
    unchanged = await dump(desk.services.database)
    (entry,) = whole(desk).organizations
    shouted = OrganizationEntry(
        entry.name.upper(),
        {name.upper(): status for name, status in entry.members.items()},
        tuple(name.upper() for name in entry.workspaces),
        (
            TeamEntry("OWNERS", members=tuple(n.upper() for n in entry.teams[0].members or ())),
            TeamEntry("CREW", workspaces={"NETWORK": AccessType.WRITE}),
        ),
    )
    users = tuple(UserEntry(user.username.upper()) for user in whole(desk).users)
    assert await apply(desk, Directory(users, (shouted,)), Options(prune=True)) == ()
    assert await dump(desk.services.database) == unchanged


async def test_a_dry_run_tells_the_same_changes_and_makes_none(desk: Desk) -> None:
    before = await dump(desk.services.database)
    told = await apply(desk, whole(desk), Options(dry_run=True))
    assert await dump(desk.services.database) == before
    assert await apply(desk, whole(desk)) == told


async def test_an_exact_key_undoes_what_was_changed_otherwise(desk: Desk) -> None:
    await desk.change("add", "plain", team="writers")
    await desk.apply(
        TeamEntry("writers", workspaces={"network": AccessType.WRITE, "payments": AccessType.READ})
    )
    writers = TeamEntry(
        "writers", members=desk.named("writer"), workspaces={"network": AccessType.READ}
    )
    changes = await desk.apply(writers)
    assert len(changes) == 4  # two members out, one grant lowered, one taken away
    assert await desk.world.members("writers") == {desk.world.memberships["writer"]}
    assert await desk.list("writer") == {}
    assert await refusal_of(desk.list("writer", "payments")) == "not_found"


async def test_what_the_file_does_not_speak_of_stays(desk: Desk) -> None:
    before = await dump(desk.services.database)
    teams = [TeamEntry(name) for name in desk.world.teams]
    users = tuple(UserEntry(name) for name in desk.named("owner", "admin"))
    entry = OrganizationEntry(desk.world.organization, teams=tuple(teams))
    assert await apply(desk, Directory(users, (entry,))) == ()
    assert await dump(desk.services.database) == before


async def test_pruning_removes_the_rest_of_the_named_organization_alone(desk: Desk) -> None:
    await desk.create()
    changes = await desk.apply(
        TeamEntry("owners"),
        TeamEntry("readers"),
        members=dict.fromkeys(desk.named("owner", "reader"), ACTIVE),
        workspaces=("network",),
        options=Options(prune=True),
    )
    kinds = sorted(change.split()[0] + " " + change.split()[1] for change in changes)
    assert kinds == [
        *["delete team"] * 4,
        "delete workspace",
        *["remove member"] * 7,
    ]
    assert await desk.list("reader") == {"region": "eu"}
    tables = await dump(desk.services.database)
    (other,) = (row for row in tables["organizations"] if row[1] == desk.world.other_organization)
    assert any(row[1] == other[0] for row in tables["workspaces"])
    assert await desk.world.house.audit_holds()


async def test_a_workspace_with_variables_is_pruned_only_when_that_is_said(desk: Desk) -> None:
    await desk.create(workspace="payments")
    before = await dump(desk.services.database)
    left: dict[str, Any] = {
        "members": {desk.named("owner")[0]: ACTIVE},
        "workspaces": ("network",),
    }
    for options in (Options(prune=True), Options(prune=True, dry_run=True)):
        refused = desk.apply(TeamEntry("owners"), options=options, **left)
        assert await refusal_of(refused) == "invalid_value"
        assert await dump(desk.services.database) == before
    options = Options(prune=True, delete_variables=True)
    changes = await desk.apply(TeamEntry("owners"), options=options, **left)
    assert f"delete workspace {desk.world.organization}/payments" in changes
    assert await refusal_of(desk.list(workspace="payments")) == "not_found"


@pytest.mark.parametrize(
    "way", ["not a member of owners", "invited", "pruned", "nobody is a member of owners"]
)
async def test_the_last_active_owner_cannot_be_taken_away(desk: Desk, way: str) -> None:
    (owner, plain, invited) = desk.named("owner", "plain", "invited")
    before = await dump(desk.services.database)
    applied = {
        "not a member of owners": desk.apply(TeamEntry("owners", members=(invited,))),
        "invited": desk.apply(members={owner: INVITED}),
        "pruned": desk.apply(
            *(TeamEntry(name) for name in desk.world.teams),
            members={plain: ACTIVE},
            workspaces=("network", "payments"),
            options=Options(prune=True),
        ),
        "nobody is a member of owners": desk.apply(TeamEntry("owners", members=())),
    }
    asked = applied.pop(way)
    for other in applied.values():
        other.close()
    assert await refusal_of(asked) == "last_owner"
    assert await dump(desk.services.database) == before


async def test_owners_can_be_exchanged_in_one_file(desk: Desk) -> None:
    await desk.apply(TeamEntry("owners", members=desk.named("plain")))
    assert await desk.list("plain", "payments") == {}


async def test_the_owners_team_is_never_pruned(desk: Desk) -> None:
    left = dict.fromkeys(desk.named(*desk.world.memberships), ACTIVE)
    options = Options(prune=True)
    await desk.apply(members=left, workspaces=("network", "payments"), options=options)
    assert await desk.list("owner", "payments") == {}


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
    desk: Desk, changes: dict[str, Any]
) -> None:
    before = await dump(desk.services.database)
    assert await refusal_of(apply(desk, whole(desk, **changes))) == "invalid_value"
    assert await dump(desk.services.database) == before


async def test_an_address_that_is_anothers_is_refused_however_it_is_capitalised(
    desk: Desk,
) -> None:
    one, other = desk.named("writer", "reader")
    before = await dump(desk.services.database)
    for username in (one, f"{one}-new"):
        users = (UserEntry(username, f"{other}@EXAMPLE.com"),)
        assert await refusal_of(apply(desk, Directory(users))) == "invalid_value"
    assert await dump(desk.services.database) == before


async def test_a_users_address_and_rank_change_only_where_the_file_says_so(desk: Desk) -> None:
    (admin,) = desk.named("admin")
    assert await apply(desk, Directory((UserEntry(admin),))) == ()
    (change,) = await apply(desk, Directory((UserEntry(admin, site_admin=False),)))
    assert change == f"update user {admin}"
    assert await apply(desk, Directory((UserEntry(admin, f"{admin}@example.com"),))) == ()


async def test_a_member_changes_status_and_keeps_the_teams(desk: Desk) -> None:
    (writer,) = desk.named("writer")
    assert len(await desk.apply(members={writer: INVITED})) == 1
    assert await refusal_of(desk.list("writer")) == "not_found"
    assert len(await desk.apply(members={writer: ACTIVE})) == 1
    assert await desk.list("writer") == {}


async def test_the_answer_has_the_ids_of_all_that_the_file_names(desk: Desk) -> None:
    directory = whole(desk)
    first = await desk.services.directory.apply(operator(), directory, AS_WRITTEN)
    again = await desk.services.directory.apply(operator(), directory, AS_WRITTEN)
    assert (first.organizations, first.users) == (again.organizations, again.users)
    (entry,) = directory.organizations
    ids = first.organizations[entry.name]
    assert set(ids.workspaces) == {"network", "Payments"}
    assert set(ids.teams) == {"owners", "Crew"}
    assert set(ids.memberships) == set(entry.members)
    assert set(first.users) == {user.username for user in directory.users}
