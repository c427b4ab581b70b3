"""What an entry says was changed: what is another than before, and not all that was sent."""

from collections.abc import Mapping
from typing import Any

import pytest

from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import Directory, FileAccess, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.memberships import Status
from teamvars.domain.team_access import AccessType
from teamvars.services.directory_files.files import Options
from tests.support.deployment import operator
from tests.support.tenant import Tenant

STORED = {
    "key": "region",
    "value": "eu",
    "description": "where",
    "category": "tool",
    "hcl": False,
    "sensitive": False,
}


async def newest(tenant: Tenant, subject_id: str, action: str) -> Mapping[str, Any]:
    """The details of the newest entry of that kind."""
    wanted = AuditFilter(subject_ids=[subject_id], action=action)
    (entry,) = await tenant.deployment.services.audit.newest(1, wanted)
    details = entry.read_details()
    assert details is not None
    return details


async def changed(
    tenant: Tenant, sent: Mapping[str, Any], *, before: Mapping[str, Any] = STORED
) -> list[str]:
    """What the entry says after a variable that was made as `before` was sent like this."""
    made = await tenant.make_variable(**before)
    path = f"{tenant.vars_path()}/{made['id']}"
    document = {"data": {"type": "vars", "id": made["id"], "attributes": sent}}
    answer = await tenant.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    told = await newest(tenant, made["id"], "variable.update")
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
    tenant: Tenant, sent: Mapping[str, Any], others: list[str]
) -> None:
    assert await changed(tenant, {**STORED, **sent}) == others


async def test_nobody_learns_from_an_entry_whether_a_secret_is_what_they_think(
    tenant: Tenant,
) -> None:
    secret = {**STORED, "key": "secret", "value": "guess", "sensitive": True}
    for guess in ("guess", "another"):
        sent = {**secret, "value": guess}
        assert await changed(tenant, sent, before={**secret, "key": f"s-{guess}"}) == [
            "key",
            "value",
        ]
        await tenant.call("owner", "DELETE", await path_of(tenant, "secret"))
    without = {name: sent for name, sent in secret.items() if name != "value"}
    assert await changed(tenant, without, before=secret) == []
    hidden = {**STORED, "key": "hidden"}
    # The value is said along with the flag: whether it is still the one that was shown is not told.
    for value in ("eu", "another"):
        sent = {**hidden, "value": value, "sensitive": True}
        assert await changed(tenant, sent, before=hidden) == ["value", "sensitive"]
        await tenant.call("owner", "DELETE", await path_of(tenant, "hidden"))
    assert await changed(tenant, {"sensitive": True}, before=hidden) == ["sensitive"]


async def path_of(tenant: Tenant, key: str) -> str:
    ids = {one["attributes"]["key"]: one["id"] for one in await tenant.variables()}
    return f"{tenant.vars_path()}/{ids[key]}"


async def test_teams_and_workspaces_say_what_differs(tenant: Tenant) -> None:
    team, space = tenant.teams["crew"], tenant.workspaces["network"]
    for path, type_, sent in (
        (f"/teams/{team}", "teams", {"name": "crew", "visibility": "secret"}),
        (
            f"/workspaces/{space}",
            "workspaces",
            {"name": "network", "execution-mode": "local", "terraform-version": "latest"},
        ),
    ):
        document = {"data": {"type": type_, "attributes": sent}}
        answer = await tenant.call("owner", "PATCH", path, document)
        assert answer.status_code == 200, answer.text
    assert (await newest(tenant, team, "team.update"))["changed"] == ["visibility"]
    assert (await newest(tenant, space, "workspace.update"))["changed"] == ["execution-mode"]


async def test_grants_say_what_differs_and_new_ones_nothing(tenant: Tenant) -> None:
    team, space = tenant.teams["crew"], tenant.workspaces["network"]
    linked = {
        "team": {"data": {"type": "teams", "id": team}},
        "workspace": {"data": {"type": "workspaces", "id": space}},
    }
    data: dict[str, Any] = {"type": "team-workspaces", "attributes": {"access": "read"}}
    document = {"data": {**data, "relationships": linked}}
    made = await tenant.call("owner", "POST", "/team-workspaces", document)
    assert made.status_code == 201, made.text
    assert "changed" not in await newest(tenant, team, "grant.put")
    path = f"/team-workspaces/{made.json()['data']['id']}"
    attributes = {"access": "custom", "variables": "read"}
    document = {"data": {**data, "attributes": attributes}}
    answer = await tenant.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    assert (await newest(tenant, team, "grant.put"))["changed"] == ["access"]


async def test_a_directory_file_says_what_differs(tenant: Tenant) -> None:
    mark = tenant.organization.removeprefix("org-")

    async def apply(user: UserEntry, status: Status, grant: FileAccess) -> None:
        team = TeamEntry(
            "crew", manage_membership=grant is AccessType.WRITE, workspaces={"network": grant}
        )
        entry = OrganizationEntry(
            tenant.organization,
            workspaces=("network",),
            members={user.username: status},
            teams=(team,),
        )
        directory = Directory((user,), (entry,))
        await tenant.deployment.services.directory.apply(operator(), directory, Options())

    plain = UserEntry(f"plain-{mark}")
    await apply(plain, Status.ACTIVE, AccessType.READ)
    team, membership = tenant.teams["crew"], tenant.memberships["plain"]
    assert "changed" not in await newest(tenant, team, "grant.put")
    await apply(UserEntry(plain.username, site_admin=True), Status.INVITED, AccessType.WRITE)
    assert (await newest(tenant, team, "grant.put"))["changed"] == ["access", "variables"]
    assert (await newest(tenant, team, "team.update"))["changed"] == ["manage-membership"]
    assert (await newest(tenant, membership, "membership.update"))["changed"] == ["status"]
    assert (await newest(tenant, tenant.users["plain"], "user.update"))["changed"] == ["site-admin"]
