"""Grants: teams' access to workspaces, `team-workspaces` on the wire."""

from collections.abc import Mapping
from typing import Any

from teamvars.domain.client_settings import Value
from teamvars.domain.team_access import (
    PERMISSIONS,
    AccessType,
    Grant,
    GrantDraft,
    NamedGrant,
)
from teamvars.services.team_access import Grants
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
from teamvars.web.workspaces import IncludedWorkspace, IncludedWorkspaceAttributes

_ALL, _ONE = "/api/v2/team-workspaces", "/api/v2/team-workspaces/{team_workspace_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/team-workspaces"
_WORKSPACE = "workspace"
_FILTERS = (
    Parameter("filter[workspace][id]", "Accesses to that workspace alone."),
    Parameter("filter[team][id]", "Accesses of that team alone."),
)


def _permission(one: Grant, name: str) -> Value:
    return PERMISSIONS.value(one.permissions, name)


def _path(one: Grant) -> str:
    return f"/api/v2/team-workspaces/{one.id}"


def _named(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "team_id": read.related_id(relationships, TEAM, "teams"),
        "workspace_id": read.related_id(relationships, _WORKSPACE, "workspaces"),
    }


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
    path=_path,
    draft=GrantDraft,
    relations=Relations(_RELATIONSHIPS.type, _named),
    include=(TEAM, _WORKSPACE),
    included=(IncludedTeam, IncludedWorkspace),
    one_includes=False,
    attributes=(
        Attribute("access", AccessType, lambda one: one.access, given=AccessType, new=REQUIRED),
        ACCESS_LEVEL,
        *(setting_attribute(one, _permission) for one in PERMISSIONS.by_name.values()),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS), self_link(_path)),
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


def routes(grants: Grants, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    do, shown = Operations(TEAM_WORKSPACE), with_names(_WORKSPACE, _workspace)
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


def _workspace(one: NamedGrant[Grant]) -> IncludedWorkspace:
    return IncludedWorkspace(one.grant.workspace_id, IncludedWorkspaceAttributes(one.place))
