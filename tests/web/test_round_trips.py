"""What answers show may be sent back in an update, and says what is so already; what differs is
changed or refused. On both engines.
"""

from typing import Any

import jsonschema_rs
import pytest

from teamvars.web.dialects import STANDARD
from tests.support.engines import ON_SQLITE
from tests.support.ids import filled, ids_of
from tests.support.tenant import Tenant, faults, linkage_document, variable_document
from tests.web import organization_audit
from tests.web.test_openapi import document_in, operations
from tests.web.test_runners import propose
from tests.web.test_tags import bound

Document = dict[str, Any]

ONES = {
    "organizations": ("/organizations/{organization}", ["default-project"]),
    "workspaces": (
        "/workspaces/{workspace_id}",
        ["organization", "vars", "effective-tag-bindings", "locked-by"],
    ),
    "projects": ("/projects/{project_id}", ["organization", "effective-tag-bindings"]),
    "teams": (
        "/teams/{team_id}?include=organization-memberships",
        ["organization", "users", "organization-memberships"],
    ),
    "team-workspaces": ("/team-workspaces/{team_workspace_id}", ["team", "workspace"]),
    "team-projects": ("/team-projects/{team_project_id}", ["team", "project"]),
    "varsets": ("/varsets/{varset_id}", ["organization", "vars"]),
    "runners": ("/runners/{runner_id}", []),
}
"""By type, where one is read, and those of its relationships that no update changes."""
VARIABLES = [
    "/workspaces/{workspace_id}/vars/{variable_id}",
    "/varsets/{varset_id}/relationships/vars/{set_variable_id}",
]
CONFLICT = "409", "relationship_conflict"


async def related_ids(tenant: Tenant) -> dict[str, str]:
    """The ids of one of each kind, related to something in every way that there is."""
    ids = await ids_of(tenant)
    workspace, project = f"/workspaces/{ids['workspace_id']}", f"/projects/{ids['project_id']}"
    members = linkage_document(tenant.users["plain"], tenant.users["reader"])
    for method, path, document in (
        ("PATCH", f"{project}/tag-bindings", bound(tier="one")),
        ("PATCH", f"{workspace}/tag-bindings", bound(env="live")),
        ("POST", f"{workspace}/actions/lock", None),
        ("POST", tenant.linkage_path("crew"), members),
    ):
        assert (await tenant.call("owner", method, path, document)).status_code in (200, 204)
    return {**ids, "runner_id": (await propose(tenant))["id"]}


async def shown(tenant: Tenant, template: str) -> tuple[str, Document]:
    """Where one is updated that is related to everything, and how it is shown."""
    path = filled(template, await related_ids(tenant))
    data: Document = (await tenant.call("owner", "GET", path)).json()["data"]
    return path.partition("?")[0], data


def without_memberships(data: Document) -> Document:
    """As an update shows it: memberships of a team are shown to whoever asks for them."""
    related = {**data["relationships"]}
    related.pop("organization-memberships", None)
    return {**data, "relationships": related}


@pytest.mark.parametrize("type_", ONES)
async def test_what_is_shown_can_be_sent_back_and_changes_nothing(
    tenant: Tenant, type_: str
) -> None:
    path, data = await shown(tenant, ONES[type_][0])
    before = await organization_audit.page(tenant)
    answer = await tenant.call("owner", "PATCH", path, {"data": data})
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == without_memberships(data)
    assert await organization_audit.page(tenant) == before


@ON_SQLITE
@pytest.mark.parametrize("template", [template for template, _ in ONES.values()])
async def test_what_is_shown_is_what_the_document_says_of_an_update(
    tenant: Tenant, template: str
) -> None:
    _, data = await shown(tenant, template)
    whole = document_in(STANDARD)
    (update,) = (
        one
        for one in operations(whole)
        if (one.method, one.template) == ("PATCH", f"/api/v2{template.partition('?')[0]}")
    )
    (content,) = update.body["content"].values()
    schema = {**content["schema"], "components": whole["components"]}
    jsonschema_rs.validator_for(schema, validate_formats=True).validate({"data": data})


@pytest.mark.parametrize("template", VARIABLES)
async def test_a_variable_is_sent_back_as_it_is_shown_and_becomes_another_version(
    tenant: Tenant, template: str
) -> None:
    path, data = await shown(tenant, template)
    answer = await tenant.call("owner", "PATCH", path, {"data": data})
    assert answer.status_code == 200, answer.text
    after = answer.json()["data"]
    assert after["attributes"].pop("version-id") != data["attributes"].pop("version-id")
    assert after == data


async def test_what_a_search_finds_is_sent_back_to_where_it_is(tenant: Tenant) -> None:
    await related_ids(tenant)
    answer = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}/vars?q=key")
    found = answer.json()["data"]
    assert len(found) == 2  # of a workspace, and of a set
    for data in found:
        path = data["links"]["self"].removeprefix("/api/v2")
        sent = await tenant.call("owner", "PATCH", path, {"data": data})
        assert sent.status_code == 200, sent.text


@ON_SQLITE
async def test_a_new_variable_does_not_say_in_which_workspace_it_is_to_be(tenant: Tenant) -> None:
    document = variable_document(**{"workspace-name": "edge"})
    answer = await tenant.call("owner", "POST", tenant.vars_path(), document)
    names = "/data/attributes/workspace-name"
    assert faults(answer) == [("422", "unknown_attribute", names)]


def otherwise(relation: Document) -> Document:
    """A relationship to another thing, or to one of several less."""
    data = relation["data"]
    return {"data": data[1:] if isinstance(data, list) else {**data, "id": f"{data['id']}x"}}


@pytest.mark.parametrize("type_", [type_ for type_, (_, names) in ONES.items() if names])
async def test_what_it_is_related_to_otherwise_is_refused_where_no_update_changes_that(
    tenant: Tenant, type_: str
) -> None:
    template, names = ONES[type_]
    path, data = await shown(tenant, template)
    wrong = {name: otherwise(data["relationships"][name]) for name in names}
    document = {"data": {"type": type_, "relationships": wrong}}
    answer = await tenant.call("owner", "PATCH", path, document)
    assert faults(answer) == [(*CONFLICT, f"/data/relationships/{name}/data") for name in names]
    after = await tenant.call("owner", "GET", path)
    assert after.json()["data"] == without_memberships(data)


@ON_SQLITE
@pytest.mark.parametrize("type_", ONES)
async def test_links_alone_say_nothing_of_what_it_is_related_to(tenant: Tenant, type_: str) -> None:
    path, data = await shown(tenant, ONES[type_][0])
    links = {name: {"links": {"related": "/elsewhere"}} for name in data["relationships"]}
    document = {"data": {"type": type_, "relationships": links}}
    answer = await tenant.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == without_memberships(data)


async def test_an_access_goes_to_no_other_team_by_an_update(tenant: Tenant) -> None:
    path, data = await shown(tenant, ONES["team-workspaces"][0])
    other = {"team": {"data": {"type": "teams", "id": tenant.teams["crew"]}}}
    said: Document = {"type": "team-workspaces", "attributes": {"access": "admin"}}
    answer = await tenant.call("owner", "PATCH", path, {"data": {**said, "relationships": other}})
    assert faults(answer) == [(*CONFLICT, "/data/relationships/team/data")]
    assert (await tenant.call("owner", "GET", path)).json()["data"] == data
    same = {"data": {**said, "relationships": data["relationships"]}}
    changed = (await tenant.call("owner", "PATCH", path, same)).json()["data"]
    assert changed["attributes"]["access"] == "admin"


@ON_SQLITE
async def test_a_relationship_says_something_if_it_has_data(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['crew']}"

    async def said(**related: Any) -> list[tuple[str, str, str | None]]:
        document = {"data": {"type": "teams", "relationships": related}}
        answer = await tenant.call("owner", "PATCH", path, document)
        return faults(answer) if answer.status_code != 200 else []

    at = "/data/relationships"
    own = {"type": "organizations", "id": tenant.organization.upper()}
    assert await said(unknown=5, organization={"links": {}}) == []
    assert await said(organization={"data": own}, users={"data": []}) == []
    for other in (None, 5, [5], {}, {**own, "type": "teams"}, {**own, "id": [1]}):
        told = await said(organization={"data": other})
        assert told == [(*CONFLICT, f"{at}/organization/data")], other
    assert await said(organization=[]) == [("422", "wrong_type", f"{at}/organization")]
    document = {"data": {"type": "teams", "relationships": []}}
    answer = await tenant.call("owner", "PATCH", path, document)
    assert faults(answer) == [("422", "wrong_type", "/data/relationships")]
