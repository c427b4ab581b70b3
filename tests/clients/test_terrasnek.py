"""`terrasnek`, a client of HCP Terraform's API, unmodified, does its job against a real server."""

from typing import Any
from uuid import uuid4

import pytest
from terrasnek.api import TFC
from terrasnek.exceptions import (
    TFCHTTPForbidden,
    TFCHTTPNotFound,
    TFCHTTPUnauthorized,
    TFCHTTPUnclassified,
    TFCHTTPUnprocessableEntity,
)

from tests.clients.conftest import Hosted


def client(hosted: Hosted, token: str, organization: str | None = None) -> Any:
    """The client with a token; what belongs to an organization needs its name."""
    api = TFC(token, url=hosted.url, skip_version_check=True)
    if organization is not None:
        api.set_org(organization)
    return api


@pytest.fixture
def organization(hosted: Hosted) -> str:
    """An organization of the test's own."""
    name = f"org-{uuid4().hex}"
    attributes = {"name": name, "email": "a@example.com"}
    client(hosted, hosted.root).orgs.create(
        {"data": {"type": "organizations", "attributes": attributes}}
    )
    return name


@pytest.fixture
def api(hosted: Hosted, organization: str) -> Any:
    """The client as the organization's owner."""
    return client(hosted, hosted.root, organization)


def resource(type_: str, **attributes: object) -> dict[str, Any]:
    """A document about one resource."""
    return {"data": {"type": type_, "attributes": attributes}}


def linkage(type_: str, *ids: str) -> dict[str, Any]:
    """A document that names several."""
    return {"data": [{"type": type_, "id": id_} for id_ in ids]}


def make_team(api: Any, name: str = "crew") -> str:
    attributes = {"name": name, "visibility": "organization"}
    id_: str = api.teams.create(resource("teams", **attributes))["data"]["id"]
    return id_


def make_workspace(api: Any) -> str:
    id_: str = api.workspaces.create(resource("workspaces", name="network"))["data"]["id"]
    return id_


def test_it_manages_variables(api: Any) -> None:
    workspace = make_workspace(api)
    region = resource("vars", key="region", value="eu", category="terraform")
    made = api.workspace_vars.create(workspace, region)["data"]
    changed = resource("vars", value="us")
    answer = api.workspace_vars.update(workspace, made["id"], changed)
    assert answer["data"]["attributes"]["value"] == "us"
    assert [one["id"] for one in api.workspace_vars.list(workspace)["data"]] == [made["id"]]
    with pytest.raises(TFCHTTPUnprocessableEntity):
        api.workspace_vars.create(workspace, region)
    api.workspace_vars.destroy(workspace, made["id"])
    with pytest.raises(TFCHTTPNotFound):
        api.workspace_vars.destroy(workspace, made["id"])


def test_it_manages_variables_at_the_deprecated_paths_as_well(api: Any, organization: str) -> None:
    workspace = make_workspace(api)
    document = resource("vars", key="region", value="eu", category="terraform")
    document["data"]["relationships"] = {
        "workspace": {"data": {"type": "workspaces", "id": workspace}}
    }
    made = api.vars.create(document)["data"]
    changed = api.vars.update(made["id"], resource("vars", value="us"))["data"]
    assert changed["attributes"]["value"] == "us"
    assert [one["id"] for one in api.vars.list("network")["data"]] == [made["id"]]
    api.vars.destroy(made["id"])
    assert api.workspace_vars.list(workspace)["data"] == []


def test_it_manages_teams_and_their_members(api: Any) -> None:
    team = make_team(api)
    api.teams.update(team, resource("teams", name="crowd"))
    mine = api.account.show()["data"]
    api.team_memberships.add_user_to_team(team, linkage("users", mine["attributes"]["username"]))
    shown = api.teams.show(team, include=["users"])
    assert [one["attributes"]["username"] for one in shown["included"]] == ["root"]
    api.team_memberships.remove_user_from_team(team, linkage("users", mine["id"]))
    (own,) = api.org_memberships.list_for_org(query="root")["data"]
    by_membership = linkage("organization-memberships", own["id"])
    api.team_memberships.add_user_to_team_with_org_id(team, by_membership)
    api.team_memberships.remove_user_from_team_with_org_id(team, by_membership)
    assert [one["attributes"]["name"] for one in api.teams.list_all()["data"]] == [
        "crowd",
        "owners",
    ]
    wanted = [{"keys": ["names"], "value": "crowd"}]
    assert len(api.teams.list(filters=wanted, page=1, page_size=5)["data"]) == 1
    api.teams.destroy(team)
    with pytest.raises(TFCHTTPNotFound):
        api.teams.show(team)
    with pytest.raises(TFCHTTPUnclassified, match="include parameter"):  # its word for a 400
        api.teams.list(include=["nonsense"])


def test_it_invites_and_the_invited_user_sees_it(
    api: Any, hosted: Hosted, organization: str
) -> None:
    alice = client(hosted, hosted.alice, organization)
    with pytest.raises(TFCHTTPNotFound):
        alice.teams.list()
    invitation = resource("organization-memberships", email="alice@example.com")
    made = api.org_memberships.invite(invitation)["data"]
    assert made["attributes"]["status"] == "invited"
    with pytest.raises(TFCHTTPUnprocessableEntity, match="already_member"):
        api.org_memberships.invite(invitation)
    assert made["id"] in [one["id"] for one in alice.org_memberships.list_for_user()["data"]]
    shown = api.org_memberships.show(made["id"], include=["user"])
    assert shown["included"][0]["attributes"]["username"] == ""
    assert shown["data"]["attributes"]["email"] == "alice@example.com"
    path = f"/api/v2/organization-memberships/{made['id']}/actions/accept"
    with hosted.server.client(hosted.alice) as http:
        assert http.post(path).json()["data"]["attributes"]["status"] == "active"
    make_team(api)
    assert len(alice.teams.list()["data"]) == 2
    with pytest.raises(TFCHTTPForbidden):
        alice.org_memberships.remove(made["id"])
    assert len(api.org_memberships.list_all_for_org()["data"]) == 2
    api.org_memberships.remove(made["id"])
    with pytest.raises(TFCHTTPNotFound):
        api.org_memberships.show(made["id"])


def test_it_grants_access_and_makes_tokens(api: Any, hosted: Hosted, organization: str) -> None:
    team, workspace = make_team(api), make_workspace(api)
    document = resource("team-workspaces", access="write")
    document["data"]["relationships"] = {
        "team": {"data": {"type": "teams", "id": team}},
        "workspace": {"data": {"type": "workspaces", "id": workspace}},
    }
    access = api.team_access.add_team_access(document)["data"]
    secret = api.team_tokens.create(team)["data"]["attributes"]["token"]
    as_team = client(hosted, secret, organization)
    as_team.workspace_vars.create(workspace, resource("vars", key="k", category="env"))
    api.team_access.update(access["id"], resource("team-workspaces", access="read"))
    assert api.team_access.show(access["id"])["data"]["attributes"]["variables"] == "read"
    with pytest.raises(TFCHTTPUnclassified, match="forbidden"):  # its word for a 403 to a POST
        as_team.workspace_vars.create(workspace, resource("vars", key="j", category="env"))
    of_workspace = [{"keys": ["workspace", "id"], "value": workspace}]
    assert len(api.team_access.list(filters=of_workspace)["data"]) == 1
    api.team_access.remove_team_access(access["id"])
    api.team_tokens.destroy(team)
    with pytest.raises(TFCHTTPUnauthorized):
        as_team.teams.list()
    whole = api.org_tokens.create()["data"]["attributes"]["token"]
    assert len(client(hosted, whole, organization).teams.list()["data"]) == 2
    api.org_tokens.destroy()
    me = api.account.show()["data"]["id"]
    made = api.user_tokens.create(me, resource("authentication-tokens", description="robot"))
    assert made["data"]["attributes"]["token"].startswith("tvu_")
    assert "token" not in api.user_tokens.show(made["data"]["id"])["data"]["attributes"]
    api.user_tokens.destroy(made["data"]["id"])
    assert api.users.show(me)["data"]["attributes"]["username"] == "root"
