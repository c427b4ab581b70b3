"""Grants on projects: teams' access to all workspaces of one, `team-projects` on the wire."""

from collections.abc import Mapping
from typing import Any

from teamvars.domain.client_settings import Value
from teamvars.domain.project_grants import (
    IN_PROJECT,
    IN_WORKSPACES,
    PERMISSIONS,
    ProjectAccessType,
    ProjectGrant,
    ProjectGrantDraft,
)
from teamvars.domain.team_access import NamedGrant
from teamvars.services.project_grants import ProjectGrants
from teamvars.web.client_settings import ACCESS_LEVEL, setting_attribute
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.attributes import REQUIRED, Attribute, Group
from teamvars.web.http.operations import Operations
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import self_link, to_one
from teamvars.web.http.resources import Relations, Resource
from teamvars.web.http.routes import Route
from teamvars.web.memberships import IncludedTeam
from teamvars.web.named_grants import TEAM, with_names
from teamvars.web.projects import IncludedProject, IncludedProjectAttributes, project_linkage

_ALL, _ONE = "/api/v2/team-projects", "/api/v2/team-projects/{team_project_id}"
_PROJECT = "project"
_FILTERS = (
    Parameter("filter[project][id]", "Accesses to that project alone."),
    Parameter("filter[team][id]", "Accesses of that team alone."),
)


def _path(one: ProjectGrant) -> str:
    return f"/api/v2/team-projects/{one.id}"


def _permission(one: ProjectGrant, name: str) -> Value:
    return PERMISSIONS.value(one.permissions, name)


def _permissions(group: str) -> list[Attribute[ProjectGrant]]:
    its = (one for name, one in PERMISSIONS.by_name.items() if name.startswith(f"{group}/"))
    return [setting_attribute(one, _permission) for one in its]


def _named(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "team_id": read.related_id(relationships, TEAM, "teams"),
        "project_id": read.related_id(relationships, _PROJECT, "projects"),
    }


_IN_PROJECT = Group[ProjectGrant](
    "ProjectPermissionsOfTeam",
    "What a team may do with a project. None of it is more than everybody may who sees it.",
    *_permissions(IN_PROJECT),
    given="What a team is to do with a project, where the access is 'custom'.",
)
_IN_WORKSPACES = Group[ProjectGrant](
    "WorkspacePermissionsOfTeam",
    "What a team may do with the workspaces of a project. Only `variables` has an effect, and "
    "whoever writes them may lock.",
    ACCESS_LEVEL,
    *_permissions(IN_WORKSPACES),
    given="What a team is to do with the workspaces of a project, where the access is 'custom'.",
)
_RELATIONSHIPS = Group[ProjectGrant](
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
    path=_path,
    draft=ProjectGrantDraft,
    relations=Relations(_RELATIONSHIPS.type, _named),
    include=(TEAM, _PROJECT),
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
    members=(Attribute("relationships", _RELATIONSHIPS), self_link(_path)),
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
_NEW = TEAM_PROJECT.new_body(
    attributes={"access": "custom", "workspace-access": {"variables": "read"}},
    relationships={
        "team": {"data": {"type": "teams", "id": IDS["team_id"]}},
        "project": {"data": {"type": "projects", "id": IDS["project_id"]}},
    },
)
_CHANGED = TEAM_PROJECT.changed_body(attributes={"access": "write"})


def routes(grants: ProjectGrants, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    do = Operations(TEAM_PROJECT)
    return [
        do.lists(
            _ALL,
            "List teams' accesses to projects that the caller sees, by name.",
            grants.list,
            shows=with_names(_PROJECT, _project),
            asks=lambda request: [text_of(request, one) for one in _FILTERS],
            reads=_FILTERS,
            refuses=(404,),
        ),
        do.creates(_ALL, "Give a team access to a project.", grants.create, _NEW, refuses=(404,)),
        do.reads(_ONE, "Read a team's access to a project.", grants.read),
        do.updates(
            _ONE,
            "Update a team's access to a project.",
            grants.update,
            _CHANGED,
            also=dialect.types.get("updateTeamProject", ()),
        ),
        do.deletes(_ONE, "Remove a team's access to a project.", grants.delete),
    ]


def _project(one: NamedGrant[ProjectGrant]) -> IncludedProject:
    return IncludedProject(one.grant.project_id, IncludedProjectAttributes(one.place))
