"""`pytfe`, HashiCorp's SDK for Python, unmodified, does its whole job against a real server."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from pytfe import TFEClient, TFEConfig
from pytfe.errors import AuthError, NotFound, TFEError
from pytfe.models import (
    CategoryType,
    OrganizationCreateOptions,
    OrganizationMembershipCreateOptions,
    OrganizationMembershipListOptions,
    OrganizationMembershipReadOptions,
    OrganizationUpdateOptions,
    OrgMembershipIncludeOpt,
    ProjectCreateOptions,
    ProjectListOptions,
    ProjectUpdateOptions,
    TeamCreateOptions,
    TeamListOptions,
    TeamReadOptions,
    TeamUpdateOptions,
    TeamWorkspaceAccessAddOptions,
    TeamWorkspaceAccessUpdateOptions,
    VariableCreateOptions,
    VariableUpdateOptions,
    WorkspaceAddTagsOptions,
    WorkspaceCreateOptions,
    WorkspaceListOptions,
    WorkspaceLockOptions,
)
from pytfe.models.common import Tag
from pytfe.models.team import OrganizationAccessOptions, TeamIncludeOpt
from pytfe.models.team_workspace_access import TeamWorkspaceAccessType

from tests.clients.conftest import Hosted

# Its own, where the environment names a file of certificates.
pytestmark = pytest.mark.filterwarnings("ignore:.*verify=<str>:DeprecationWarning")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[TFEClient]:
    """The SDK as the site admin."""
    client = TFEClient(TFEConfig(address=hosted.url, token=hosted.root, max_retries=0))
    yield client
    client.close()


@pytest.fixture
def organization(client: TFEClient) -> Iterator[str]:
    """An organization of the test's own."""
    name = f"org-{uuid4().hex}"
    client.organizations.create(OrganizationCreateOptions(name=name, email="a@example.com"))
    yield name
    client.organizations.delete(name)


@pytest.fixture
def workspace(client: TFEClient, organization: str) -> str:
    """The id of a workspace in it."""
    made: Any = client.workspaces.create(organization, WorkspaceCreateOptions(name="network"))
    return str(made.id)


def test_it_manages_variables(client: TFEClient, workspace: str) -> None:
    options = VariableCreateOptions(key="region", value="eu", category=CategoryType.TERRAFORM)
    made = client.variables.create(workspace, options)
    assert (made.key, made.value, made.sensitive) == ("region", "eu", False)
    changed = client.variables.update(
        workspace, made.id or "", VariableUpdateOptions(value="us", sensitive=True)
    )
    assert (changed.value, changed.sensitive) == (None, True)
    assert client.variables.read(workspace, made.id or "").key == "region"
    assert [one.key for one in client.variables.list(workspace)] == ["region"]
    assert [one.key for one in client.variables.list_all(workspace)] == ["region"]
    client.variables.delete(workspace, made.id or "")
    assert list(client.variables.list(workspace)) == []


def test_it_manages_teams_and_their_members(client: TFEClient, organization: str) -> None:
    access = OrganizationAccessOptions(manage_membership=True)
    options = TeamCreateOptions(name="crew", visibility="organization", organization_access=access)
    team = client.teams.create(organization, options)
    assert team.organization_access is not None
    assert team.organization_access.manage_membership
    assert client.teams.update(team.id, TeamUpdateOptions(name="crowd")).name == "crowd"
    invited = client.organization_memberships.create(
        organization,
        OrganizationMembershipCreateOptions(email=f"{uuid4().hex}@example.com"),
    )
    client.teams.add_organization_memberships(team.id, [invited.id])
    client.teams.add_users(team.id, ["root"])
    assert {user.username for user in client.teams.list_users(team.id)} >= {"root"}
    listed = list(client.teams.list_organization_memberships(team.id, status="invited"))
    assert [(one.id, one.status) for one in listed] == [(invited.id, "invited")]
    read = client.teams.read(team.id, TeamReadOptions(include=[TeamIncludeOpt.TEAM_USERS]))
    assert len(read.users) == 2
    named = TeamListOptions(names=["crowd", "owners"], include=list(TeamIncludeOpt))
    assert [one.name for one in client.teams.list(organization, named)] == ["crowd", "owners"]
    client.teams.remove_users(team.id, ["root"])
    client.teams.remove_organization_memberships(team.id, [invited.id])
    assert list(client.teams.list_users(team.id)) == []
    client.teams.delete(team.id)
    with pytest.raises(NotFound):
        client.teams.read(team.id)


def test_it_invites_and_removes(client: TFEClient, organization: str) -> None:
    email = f"{uuid4().hex}@example.com"
    team = client.teams.create(organization, TeamCreateOptions(name="crew"))
    options = OrganizationMembershipCreateOptions(email=email, teams=[team])
    made = client.organization_memberships.create(organization, options)
    assert (made.status, made.email) == ("invited", email)
    include = list(OrgMembershipIncludeOpt)
    read = client.organization_memberships.read_with_options(
        made.id, OrganizationMembershipReadOptions(include=include)
    )
    assert read.user is not None
    assert (read.user.username, read.email) == ("", email)
    assert [one.name for one in read.teams or []] == ["crew"]
    wanted = OrganizationMembershipListOptions(emails=[email], include=include)
    listed = client.organization_memberships.list(organization, wanted)
    assert [one.id for one in listed] == [made.id]
    with pytest.raises(TFEError) as again:
        client.organization_memberships.create(organization, options)
    assert again.value.status == 422
    client.organization_memberships.delete(made.id)
    with pytest.raises(NotFound):
        client.organization_memberships.delete(made.id)


def test_it_grants_access_to_workspaces(
    client: TFEClient, organization: str, workspace: str
) -> None:
    team = client.teams.create(organization, TeamCreateOptions(name="crew"))
    accesses = client.team_workspace_accesses
    made = accesses.add(
        TeamWorkspaceAccessAddOptions(
            team_id=team.id, workspace_id=workspace, access=TeamWorkspaceAccessType.READ
        )
    )
    assert (made.team_id, made.workspace_id) == (team.id, workspace)
    changed = accesses.update(
        made.id, TeamWorkspaceAccessUpdateOptions(access=TeamWorkspaceAccessType.ADMIN)
    )
    assert (changed.access, changed.variables) == ("admin", "write")
    assert accesses.read(made.id).access == "admin"
    assert [one.id for one in accesses.list(workspace)] == [made.id]
    accesses.remove(made.id)
    assert list(accesses.list(workspace)) == []


def test_it_makes_tokens(client: TFEClient, hosted: Hosted, organization: str) -> None:
    team = client.teams.create(organization, TeamCreateOptions(name="crew"))
    made = client.team_tokens.create(team.id)
    as_team = TFEClient(TFEConfig(address=hosted.url, token=made.token or "", max_retries=0))
    assert [one.name for one in as_team.teams.list(organization)] == ["crew", "owners"]
    assert client.team_tokens.read(team.id).token is None
    client.team_tokens.delete(team.id)
    with pytest.raises(AuthError):
        list(as_team.teams.list(organization))
    whole = client.organization_tokens.create(organization)
    assert client.organization_tokens.read(organization).id == whole.id
    client.organization_tokens.delete(organization)
    assert client.users.read_current().username == "root"
    as_team.close()


def test_it_looks_for_workspaces_and_sees_who_has_locked_one(
    client: TFEClient, organization: str, workspace: str
) -> None:
    for wildcard, names in (("net*", ["network"]), ("*pay*", [])):
        found = client.workspaces.list(organization, WorkspaceListOptions(wildcard_name=wildcard))
        assert [one.name for one in found] == names
    assert list(client.workspaces.list(organization, WorkspaceListOptions(tags="prod"))) == []
    client.workspaces.add_tags(workspace, WorkspaceAddTagsOptions(tags=[Tag(name="prod")]))
    (tagged,) = client.workspaces.list(organization, WorkspaceListOptions(tags="prod"))
    assert (tagged.name, tagged.tag_names) == ("network", ["prod"])
    nowhere = WorkspaceListOptions(project_id="prj-1")
    assert list(client.workspaces.list(organization, nowhere)) == []
    client.workspaces.lock(workspace, WorkspaceLockOptions(reason="mine"))
    locked = client.workspaces.read_by_id(workspace)
    assert locked.locked_by is not None
    assert locked.locked_by.user == client.users.read_current().id
    client.workspaces.unlock(workspace)
    assert client.workspaces.read_by_id(workspace).locked_by is None


def test_it_manages_projects_and_moves_workspaces(
    client: TFEClient, organization: str, workspace: str
) -> None:
    options = ProjectCreateOptions(name="shop", description="What is sold.")
    made = client.projects.create(organization, options)
    assert (made.name, made.description, made.workspace_count) == ("shop", "What is sold.", 0)
    client.projects.move_workspaces(made.id, [workspace])
    inside = client.workspaces.list(organization, WorkspaceListOptions(project_id=made.id))
    assert [one.id for one in inside] == [workspace]
    with pytest.raises(TFEError):
        client.projects.delete(made.id)
    changed = client.projects.update(made.id, ProjectUpdateOptions(name="store"))
    assert (changed.name, changed.workspace_count) == ("store", 1)
    found = client.projects.list(organization, ProjectListOptions(name="store"))
    assert [one.id for one in found] == [made.id]
    (default,) = client.projects.list(organization, ProjectListOptions(query="default"))
    client.projects.move_workspaces(default.id, [workspace])
    client.projects.delete(made.id)
    with pytest.raises(NotFound):
        client.projects.read(made.id)


def test_it_renames_an_organization(client: TFEClient) -> None:
    name, renamed = f"org-{uuid4().hex}", f"new-{uuid4().hex}"
    client.organizations.create(OrganizationCreateOptions(name=name, email="a@example.com"))
    changed = client.organizations.update(name, OrganizationUpdateOptions(name=renamed))
    assert (changed.name, changed.email) == (renamed, "a@example.com")
    with pytest.raises(NotFound):
        client.organizations.read(name)
    client.organizations.delete(renamed)
