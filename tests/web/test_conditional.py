"""Entity tags and conditional requests: contract §4 and RFC 9110, 13, on both engines."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry
from teamvars.domain.team_access import AccessType
from teamvars.services.directory_files.files import Options
from tests.support.deployment import Deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, build_tenant, faults, variable_document


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that do not look at what another may have left."""
    return await build_tenant(deployment)


async def tag_of_list(tenant: Tenant, workspace: str = "network") -> str:
    return (await tenant.call("owner", "GET", tenant.vars_path(workspace))).headers["ETag"]


async def change(
    tenant: Tenant, made: dict[str, Any], method: str, if_match: str, who: str = "writer"
) -> httpx.Response:
    """Updates or deletes the variable under that condition."""
    path = f"{tenant.vars_path()}/{made['id']}"
    document = {"data": {"type": "vars", "id": made["id"], "attributes": {"value": "new"}}}
    body = document if method == "PATCH" else None
    return await tenant.call(who, method, path, body, {"If-Match": if_match})


async def test_a_variables_tag_is_its_version_a_dot_and_a_hash(shared: Tenant) -> None:
    document = variable_document(key=uuid4().hex)
    created = await shared.call("writer", "POST", shared.vars_path(), document)
    made = created.json()["data"]
    path = f"{shared.vars_path()}/{made['id']}"
    tag = created.headers["ETag"]
    version, dot, rest = tag.strip('"').partition(".")
    assert (version, dot) == (made["attributes"]["version-id"], ".")
    assert rest
    assert tag == f'"{version}.{rest}"'
    assert (await shared.call("reader", "GET", path)).headers["ETag"] == tag
    update = {"data": {"type": "vars", "id": made["id"], "attributes": {}}}
    updated = await shared.call("writer", "PATCH", path, update)
    assert (
        updated.headers["ETag"] == f'"{updated.json()["data"]["attributes"]["version-id"]}.{rest}"'
    )


@ON_SQLITE
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(
    "if_match",
    [
        "*",
        " * ",
        '"{version}"',
        '"{version}.{hash}"',
        '"{version}.anything"',
        '"{version}."',
        '"old", "{version}"',
        '"old.1","{version}.{hash}" , "older"',
        'W/"{version}", "{version}"',
    ],
)
async def test_if_match_admits_the_version_in_every_form(
    shared: Tenant, method: str, if_match: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    version = made["attributes"]["version-id"]
    answer = await change(shared, made, method, if_match.format(version=version, hash="00000000"))
    assert answer.status_code == (200 if method == "PATCH" else 204)


@ON_SQLITE
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(
    "if_match",
    [
        '"old"',
        '""',
        '".{version}"',
        "{version}",
        'W/"{version}"',
        'W/"{version}", "old"',
        '"{version}x"',
        '"old{version}"',
        ",",
        '"{version}',
    ],
)
async def test_if_match_refuses_any_other_version(
    shared: Tenant, method: str, if_match: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    sent = if_match.format(version=made["attributes"]["version-id"])
    answer = await change(shared, made, method, sent)
    assert answer.status_code == 412
    assert faults(answer) == [("412", "precondition_failed", None)]
    assert answer.json()["errors"][0]["source"] == {"header": "If-Match"}
    kept = await shared.call("reader", "GET", f"{shared.vars_path()}/{made['id']}")
    assert kept.json()["data"] == made


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_of_two_changes_to_one_version_the_second_is_refused(
    shared: Tenant, method: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    condition = f'"{made["attributes"]["version-id"]}"'
    assert (await change(shared, made, "PATCH", condition)).status_code == 200
    assert (await change(shared, made, method, condition)).status_code == 412


async def test_if_match_is_never_required(shared: Tenant) -> None:
    made = await shared.make_variable(uuid4().hex)
    path = f"{shared.vars_path()}/{made['id']}"
    assert (await shared.call("writer", "DELETE", path)).status_code == 204


async def test_if_match_of_any_version_still_needs_the_variable(shared: Tenant) -> None:
    made = {"id": "var-1111111111111111"}
    assert (await change(shared, made, "DELETE", "*")).status_code == 404


async def test_a_condition_does_not_tell_the_version_to_who_may_not_write(shared: Tenant) -> None:
    made = await shared.make_variable(uuid4().hex)
    for if_match in (f'"{made["attributes"]["version-id"]}"', '"old"'):
        assert (await change(shared, made, "PATCH", if_match, "reader")).status_code == 403
        assert (await change(shared, made, "PATCH", if_match, "plain")).status_code == 404


@pytest.mark.parametrize("what", ["list", "variable"])
@pytest.mark.parametrize(
    "if_none_match", ["{tag}", "*", "W/{tag}", '"old", {tag}', '"old",W/{tag} ,"older"']
)
async def test_a_client_that_has_it_is_told_so(
    shared: Tenant, what: str, if_none_match: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    path = shared.vars_path() + (f"/{made['id']}" if what == "variable" else "")
    tag = (await shared.call("reader", "GET", path)).headers["ETag"]
    headers = {"If-None-Match": if_none_match.format(tag=tag)}
    answer = await shared.call("reader", "GET", path, headers=headers)
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["ETag"] == tag
    assert "Content-Type" not in answer.headers


@pytest.mark.parametrize("what", ["list", "variable"])
@pytest.mark.parametrize("if_none_match", ['"old"', "", "nonsense", 'W/"old", "older"', "{bare}"])
async def test_a_client_that_has_another_gets_it(
    shared: Tenant, what: str, if_none_match: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    path = shared.vars_path() + (f"/{made['id']}" if what == "variable" else "")
    tag = (await shared.call("reader", "GET", path)).headers["ETag"]
    headers = {"If-None-Match": if_none_match.format(bare=tag.strip('"'))}
    answer = await shared.call("reader", "GET", path, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["ETag"] == tag


@pytest.mark.parametrize("who", ["plain", "outsider", "invited_writer"])
async def test_what_a_client_has_is_told_only_to_who_may_see_it(shared: Tenant, who: str) -> None:
    headers = {"If-None-Match": await tag_of_list(shared)}
    answer = await shared.call(who, "GET", shared.vars_path(), headers=headers)
    assert answer.status_code == 404


async def test_every_change_gives_the_list_another_tag(tenant: Tenant) -> None:
    tags = [await tag_of_list(tenant)]
    made = await tenant.make_variable()
    tags.append(await tag_of_list(tenant))
    await change(tenant, made, "PATCH", "*")
    tags.append(await tag_of_list(tenant))
    await change(tenant, made, "DELETE", "*")
    tags.append(await tag_of_list(tenant))
    await tenant.make_variable()
    tags.append(await tag_of_list(tenant))
    assert len(set(tags)) == 5
    assert await tag_of_list(tenant) == tags[-1]


async def test_a_refused_change_leaves_the_lists_tag(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    before = await tag_of_list(tenant)
    taken = variable_document(key="region")
    assert (await tenant.call("writer", "POST", tenant.vars_path(), taken)).status_code == 422
    assert (await tenant.call("reader", "POST", tenant.vars_path(), taken)).status_code == 403
    assert await tag_of_list(tenant) == before


async def test_workspaces_have_lists_of_different_tags_even_when_both_are_empty(
    tenant: Tenant,
) -> None:
    before = await tag_of_list(tenant)
    assert await tag_of_list(tenant, "payments") != before
    await tenant.call("owner", "POST", tenant.vars_path("payments"), variable_document())
    assert await tag_of_list(tenant) == before


async def test_all_readers_have_the_same_tag(tenant: Tenant) -> None:
    await tenant.make_variable(sensitive=True)
    callers = ("owner", "writer", "reader", "writers-token", "organization-token")
    answers = [await tenant.call(who, "GET", tenant.vars_path()) for who in callers]
    assert len({answer.headers["ETag"] for answer in answers}) == 1
    assert len({answer.text for answer in answers}) == 1


async def test_a_grant_that_is_taken_away_ends_304_at_once(tenant: Tenant) -> None:
    headers = {"If-None-Match": await tag_of_list(tenant)}
    before = await tenant.call("reader", "GET", tenant.vars_path(), headers=headers)
    entry = OrganizationEntry(tenant.organization, teams=(TeamEntry("readers", workspaces={}),))
    await tenant.deployment.services.directory.apply(operator(), Directory((), (entry,)), Options())
    after = await tenant.call("reader", "GET", tenant.vars_path(), headers=headers)
    assert (before.status_code, after.status_code) == (304, 404)


async def test_a_grant_that_is_given_is_there_at_once(tenant: Tenant) -> None:
    path = tenant.vars_path("payments")
    before = await tenant.call("reader", "GET", path)
    team = TeamEntry("readers", workspaces={"payments": AccessType.READ})
    entry = OrganizationEntry(tenant.organization, teams=(team,))
    await tenant.deployment.services.directory.apply(operator(), Directory((), (entry,)), Options())
    after = await tenant.call("reader", "GET", path)
    assert (before.status_code, after.status_code) == (404, 200)
