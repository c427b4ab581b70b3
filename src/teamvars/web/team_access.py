"""Grants: teams' access to workspaces, `team-workspaces` on the wire, and to all workspaces of a
project, `team-projects`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from teamvars.domain import project_grants
from teamvars.domain.client_settings import Value
from teamvars.domain.pages import Paged
from teamvars.domain.project_grants import (
    IN_PROJECT,
    IN_WORKSPACES,
    ProjectAccessType,
    ProjectGrant,
    ProjectGrantDraft,
)
from teamvars.domain.team_access import PERMISSIONS, AccessType, Grant, GrantDraft, NamedGrant
from teamvars.services.team_access import Grants, ProjectGrants
from teamvars.web.client_settings import ACCESS_LEVEL, setting_attribute
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import REQUIRED, Attribute, Group, to_one
from teamvars.web.http.resources import Found, Operations, Relations, Resource
from teamvars.web.http.routes import Route
from teamvars.web.memberships import IncludedTeam, IncludedTeamAttributes
from teamvars.web.projects import IncludedProject, IncludedProjectAttributes, project_linkage
from teamvars.web.workspaces import IncludedWorkspace, IncludedWorkspaceAttributes

G = TypeVar("G", Grant, ProjectGrant)

_ALL, _ONE = "/api/v2/team-workspaces", "/api/v2/team-workspaces/{team_workspace_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/team-workspaces"
_TEAM = "team"
"""What includes the teams."""
_WORKSPACE, _PROJECT = "workspace", "project"
_FILTERS = (
    Parameter("filter[workspace][id]", "Accesses to that workspace alone."),
    Parameter("filter[team][id]", "Accesses of that team alone."),
)
_ALL_ON_PROJECTS, _ONE_ON_PROJECT = (
    "/api/v2/team-projects",
    "/api/v2/team-projects/{team_project_id}",
)
_PROJECT_FILTERS = (
    Parameter("filter[project][id]", "Accesses to that project alone."),
    Parameter("filter[team][id]", "Accesses of that team alone."),
)


def _permission(one: G, name: str) -> Value:
    return one.terms.permissions.value(one.permissions, name)


def _named(
    place: str, read: Reader, relationships: Mapping[str, Any] | None
) -> dict[str, str | None]:
    """The team, and the workspace or project: the `place` that it is to have access to."""
    return {f"{one}_id": read.related_id(relationships, one, f"{one}s") for one in (_TEAM, place)}


_RELATIONSHIPS = Group[Grant](
    "TeamWorkspaceRelationships",
    "Which team has access to which workspace.",
    to_one("team", "OneTeam", "A relationship to a team.", "teams", lambda one: one.team_id),
    to_one(
        "workspace",
        "OneWorkspace",
        "A relationship to a workspace.",
        "workspaces",
        lambda one: one.workspace_id,
    ),
)
TEAM_WORKSPACE = Resource[Grant](
    type="team-workspaces",
    name="TeamWorkspace",
    noun="an access",
    tag="Team workspaces",
    id=lambda one: one.id,
    draft=GrantDraft,
    relations=Relations(_RELATIONSHIPS.type, partial(_named, _WORKSPACE)),
    include=(_TEAM, _WORKSPACE),
    included=(IncludedTeam, IncludedWorkspace),
    one_includes=False,
    attributes=(
        Attribute("access", AccessType, lambda one: one.access, given=AccessType, new=REQUIRED),
        ACCESS_LEVEL,
        *(setting_attribute(one, _permission) for one in PERMISSIONS.by_name.values()),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    linked=True,
    texts={
        "NewTeamWorkspaceAttributes": (
            "What the team may do; attributes that are not here are ignored."
        ),
        "NewTeamWorkspaceDocument": "Gives a team access to a workspace.",
        "TeamWorkspaceAttributes": (
            "What a team may do. Only `variables` has an effect: there are no runs and no state, "
            "and whoever writes variables may lock."
        ),
        "TeamWorkspaceResource": "A team's access to a workspace.",
        "TeamWorkspaceListDocument": "One page of accesses that a caller sees.",
    },
)
_NEW = TEAM_WORKSPACE.new_body(
    attributes={"access": "custom", "variables": "read"},
    relationships={
        "team": {"data": {"type": "teams", "id": IDS["team_id"]}},
        "workspace": {"data": {"type": "workspaces", "id": IDS["workspace_id"]}},
    },
)
_CHANGED = TEAM_WORKSPACE.changed_body(attributes={"access": "write"})


def _project_permissions(group: str) -> list[Attribute[ProjectGrant]]:
    its = (
        one
        for name, one in project_grants.PERMISSIONS.by_name.items()
        if name.startswith(f"{group}/")
    )
    return [setting_attribute(one, _permission) for one in its]


_IN_PROJECT = Group[ProjectGrant](
    "ProjectPermissionsOfTeam",
    "What a team may do with a project. None of it is more than everybody may who sees it.",
    *_project_permissions(IN_PROJECT),
    given="What a team is to do with a project, where the access is 'custom'.",
)
_IN_WORKSPACES = Group[ProjectGrant](
    "WorkspacePermissionsOfTeam",
    "What a team may do with the workspaces of a project. Only `variables` has an effect, and "
    "whoever writes them may lock.",
    ACCESS_LEVEL,
    *_project_permissions(IN_WORKSPACES),
    given="What a team is to do with the workspaces of a project, where the access is 'custom'.",
)
_PROJECT_RELATIONSHIPS = Group[ProjectGrant](
    "TeamProjectRelationships",
    "Which team has access to which project.",
    to_one(
        "team",
        "TeamOfProject",
        "The team that has access to a project.",
        "teams",
        lambda one: one.team_id,
    ),
    project_linkage(lambda one: one.project_id),
)
TEAM_PROJECT = Resource[ProjectGrant](
    type="team-projects",
    name="TeamProject",
    noun="an access",
    tag="Team projects",
    id=lambda one: one.id,
    draft=ProjectGrantDraft,
    relations=Relations(_PROJECT_RELATIONSHIPS.type, partial(_named, _PROJECT)),
    include=(_TEAM, _PROJECT),
    included=(IncludedTeam, IncludedProject),
    one_includes=False,
    attributes=(
        Attribute(
            "access",
            ProjectAccessType,
            lambda one: one.access,
            given=ProjectAccessType,
            new=REQUIRED,
        ),
        Attribute("project-access", _IN_PROJECT, given=_IN_PROJECT),
        Attribute("workspace-access", _IN_WORKSPACES, given=_IN_WORKSPACES),
    ),
    members=(Attribute("relationships", _PROJECT_RELATIONSHIPS),),
    linked=True,
    texts={
        "NewTeamProjectAttributes": (
            "What the team may do; attributes that are not here are ignored."
        ),
        "NewTeamProjectDocument": "Gives a team access to a project.",
        "TeamProjectAttributes": (
            "What a team may do in all workspaces of a project, also in those that come later. "
            "`maintain` and `admin` let it do to variables what `write` does."
        ),
        "TeamProjectResource": "A team's access to a project.",
        "TeamProjectListDocument": "One page of accesses that a caller sees.",
    },
)
_NEW_ON_PROJECT = TEAM_PROJECT.new_body(
    attributes={"access": "custom", "workspace-access": {"variables": "read"}},
    relationships={
        "team": {"data": {"type": "teams", "id": IDS["team_id"]}},
        "project": {"data": {"type": "projects", "id": IDS["project_id"]}},
    },
)
_CHANGED_ON_PROJECT = TEAM_PROJECT.changed_body(attributes={"access": "write"})


def routes(grants: Grants, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    do, shown = Operations(TEAM_WORKSPACE), _with_names(_WORKSPACE, _workspace)
    return [
        do.lists(
            _ALL,
            "List teams' accesses to workspaces that the caller sees.",
            grants.list,
            shows=shown,
            asks=lambda request: [text_of(request, one) for one in _FILTERS],
            reads=_FILTERS,
            refuses=(404,),
        ),
        do.lists(
            _OF_TEAM,
            "List a team's accesses to workspaces that the caller may read, by name.",
            grants.list,
            shows=shown,
            asks=lambda request: (None, request.parameters["team_id"]),
            name="listTeamWorkspacesOfTeam",
        ),
        do.creates(_ALL, "Give a team access to a workspace.", grants.create, _NEW, refuses=(404,)),
        do.reads(_ONE, "Read a team's access to a workspace.", grants.read),
        do.updates(
            _ONE,
            "Update a team's access to a workspace.",
            grants.update,
            _CHANGED,
            also=dialect.types.get("updateTeamWorkspace", ()),
        ),
        do.deletes(_ONE, "Remove a team's access to a workspace.", grants.delete),
    ]


def project_routes(grants: ProjectGrants, dialect: Dialect) -> list[Route]:
    """The same on projects."""
    do = Operations(TEAM_PROJECT)
    return [
        do.lists(
            _ALL_ON_PROJECTS,
            "List teams' accesses to projects that the caller sees, by name.",
            grants.list,
            shows=_with_names(_PROJECT, _project),
            asks=lambda request: [text_of(request, one) for one in _PROJECT_FILTERS],
            reads=_PROJECT_FILTERS,
            refuses=(404,),
        ),
        do.creates(
            _ALL_ON_PROJECTS,
            "Give a team access to a project.",
            grants.create,
            _NEW_ON_PROJECT,
            refuses=(404,),
        ),
        do.reads(_ONE_ON_PROJECT, "Read a team's access to a project.", grants.read),
        do.updates(
            _ONE_ON_PROJECT,
            "Update a team's access to a project.",
            grants.update,
            _CHANGED_ON_PROJECT,
            also=dialect.types.get("updateTeamProject", ()),
        ),
        do.deletes(_ONE_ON_PROJECT, "Remove a team's access to a project.", grants.delete),
    ]


def _with_names(
    place: str, included: Callable[[NamedGrant[G]], IncludedWorkspace | IncludedProject]
) -> Callable[[Paged[NamedGrant[G]], frozenset[str]], Found[G]]:
    """What shows a page of grants, with the teams and with what each is on, a `place`, where these
    are asked for.
    """

    def shown(page: Paged[NamedGrant[G]], includes: frozenset[str]) -> Found[G]:
        found: dict[str, msgspec.Struct] = {}
        for one in page.items:
            if _TEAM in includes:
                its_team = IncludedTeamAttributes(one.team, one.visibility)
                found[one.grant.team_id] = IncludedTeam(one.grant.team_id, its_team)
            if place in includes:
                its = included(one)
                found[its.id] = its
        grants = [one.grant for one in page.items]
        return Found(grants, page.total, list(found.values()) if includes else UNSET)

    return shown


def _workspace(one: NamedGrant[Grant]) -> IncludedWorkspace:
    return IncludedWorkspace(one.grant.workspace_id, IncludedWorkspaceAttributes(one.place))


def _project(one: NamedGrant[ProjectGrant]) -> IncludedProject:
    return IncludedProject(one.grant.project_id, IncludedProjectAttributes(one.place))
