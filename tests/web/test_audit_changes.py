"""What an entry says was changed: what is another than before, and not all that was sent."""

from collections.abc import Mapping
from typing import Any

import pytest

from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import Directory, FileAccess, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import Status
from teamvars.services.directory_files.files import Options
from tests.house import operator
from tests.world import World

STORED = {
    "key": "region",
    "value": "eu",
    "description": "where",
    "category": "tool",
    "hcl": False,
    "sensitive": False,
}


async def newest(world: World, subject_id: str, action: str) -> Mapping[str, Any]:
    """The details of the newest entry of that kind."""
    wanted = AuditFilter(subject_ids=[subject_id], action=action)
    (entry,) = await world.house.services.audit.newest(1, wanted)
    details = entry.read_details()
    assert details is not None
    return details


async def changed(
    world: World, sent: Mapping[str, Any], *, before: Mapping[str, Any] = STORED
) -> list[str]:
    """What the entry says after a variable that was made as `before` was sent like this."""
    made = await world.make_variable(**before)
    path = f"{world.vars_path()}/{made['id']}"
    document = {"data": {"type": "vars", "id": made["id"], "attributes": sent}}
    answer = await world.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    told = await newest(world, made["id"], "variable.update")
    version = answer.json()["data"]["attributes"]["version-id"]
    assert told["version-id"] == version != made["attributes"]["version-id"]
    names: list[str] = told["changed"]
    return names


@pytest.mark.parametrize(
    ("sent", "others"),
    [
        ({}, []),
        ({"value": "us"}, ["value"]),
        ({"description": "here"}, ["description"]),
        ({"key": "place", "hcl": True, "value": '"us"'}, ["key", "value", "hcl"]),
        ({"category": "env"}, ["category"]),
    ],
)
async def test_a_client_that_sends_everything_is_said_to_have_changed_what_differs(
    world: World, sent: Mapping[str, Any], others: list[str]
) -> None:
    assert await changed(world, {**STORED, **sent}) == others


async def test_nobody_learns_from_an_entry_whether_a_secret_is_what_they_think(
    world: World,
) -> None:
    secret = {**STORED, "key": "secret", "value": "guess", "sensitive": True}
    for guess in ("guess", "another"):
        sent = {**secret, "value": guess}
        assert await changed(world, sent, before={**secret, "key": f"s-{guess}"}) == [
            "key",
            "value",
        ]
        await world.call("owner", "DELETE", await path_of(world, "secret"))
    without = {name: sent for name, sent in secret.items() if name != "value"}
    assert await changed(world, without, before=secret) == []
    hidden = {**STORED, "key": "hidden"}
    # The value is said along with the flag: whether it is still the one that was shown is not told.
    for value in ("eu", "another"):
        sent = {**hidden, "value": value, "sensitive": True}
        assert await changed(world, sent, before=hidden) == ["value", "sensitive"]
        await world.call("owner", "DELETE", await path_of(world, "hidden"))
    assert await changed(world, {"sensitive": True}, before=hidden) == ["sensitive"]


async def path_of(world: World, key: str) -> str:
    ids = {one["attributes"]["key"]: one["id"] for one in await world.variables()}
    return f"{world.vars_path()}/{ids[key]}"


async def test_teams_and_workspaces_say_what_differs(world: World) -> None:
    team, space = world.teams["crew"], world.workspaces["network"]
    for path, type_, sent in (
        (f"/teams/{team}", "teams", {"name": "crew", "visibility": "secret"}),
        (
            f"/workspaces/{space}",
            "workspaces",
            {"name": "network", "execution-mode": "local", "terraform-version": "latest"},
        ),
    ):
        document = {"data": {"type": type_, "attributes": sent}}
        answer = await world.call("owner", "PATCH", path, document)
        assert answer.status_code == 200, answer.text
    assert (await newest(world, team, "team.update"))["changed"] == ["visibility"]
    assert (await newest(world, space, "workspace.update"))["changed"] == ["execution-mode"]


async def test_grants_say_what_differs_and_new_ones_nothing(world: World) -> None:
    team, space = world.teams["crew"], world.workspaces["network"]
    linked = {
        "team": {"data": {"type": "teams", "id": team}},
        "workspace": {"data": {"type": "workspaces", "id": space}},
    }
    data: dict[str, Any] = {"type": "team-workspaces", "attributes": {"access": "read"}}
    document = {"data": {**data, "relationships": linked}}
    made = await world.call("owner", "POST", "/team-workspaces", document)
    assert made.status_code == 201, made.text
    assert "changed" not in await newest(world, team, "grant.put")
    path = f"/team-workspaces/{made.json()['data']['id']}"
    attributes = {"access": "custom", "variables": "read"}
    document = {"data": {**data, "attributes": attributes}}
    answer = await world.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    assert (await newest(world, team, "grant.put"))["changed"] == ["access"]


async def test_a_directory_file_says_what_differs(world: World) -> None:
    mark = world.organization.removeprefix("org-")

    async def apply(user: UserEntry, status: Status, grant: FileAccess) -> None:
        team = TeamEntry(
            "crew", manage_membership=grant is AccessType.WRITE, workspaces={"network": grant}
        )
        entry = OrganizationEntry(
            world.organization,
            workspaces=("network",),
            members={user.username: status},
            teams=(team,),
        )
        directory = Directory((user,), (entry,))
        await world.house.services.directory.apply(operator(), directory, Options())

    plain = UserEntry(f"plain-{mark}")
    await apply(plain, Status.ACTIVE, AccessType.READ)
    team, membership = world.teams["crew"], world.memberships["plain"]
    assert "changed" not in await newest(world, team, "grant.put")
    await apply(UserEntry(plain.username, site_admin=True), Status.INVITED, AccessType.WRITE)
    assert (await newest(world, team, "grant.put"))["changed"] == ["access", "variables"]
    assert (await newest(world, team, "team.update"))["changed"] == ["manage-membership"]
    assert (await newest(world, membership, "membership.update"))["changed"] == ["status"]
    assert (await newest(world, world.users["plain"], "user.update"))["changed"] == ["site-admin"]
