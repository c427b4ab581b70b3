"""The documents of teams' accesses to workspaces."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.access import Level
from teamvars.domain.grants import GRANT_LEVELS, AccessType, Grant, GrantDraft, NamedGrant
from teamvars.domain.pages import Paged
from teamvars.web.examples import IDS
from teamvars.web.http import paging
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier, SelfLink
from teamvars.web.http.routes import RequestBody
from teamvars.web.memberships.documents import IncludedTeam, IncludedTeamAttributes

TYPE = "team-workspaces"
TEAM, WORKSPACE = "team", "workspace"
INCLUDES = (TEAM, WORKSPACE)
_VARIABLES = Meta(description="Counts where the access is 'custom', and nowhere else.")
_WORDS = Meta(extra_json_schema={"enum": [level.word for level in GRANT_LEVELS]})

VariablesWord = Literal["none", "read", "write"]


class NewTeamWorkspaceAttributes(msgspec.Struct, kw_only=True):
    """What the team may do; attributes that are not here are ignored."""

    access: AccessType
    variables: Annotated[VariablesWord, _VARIABLES] = "none"


class OneTeam(msgspec.Struct):
    """A relationship to a team."""

    data: Identifier


class OneWorkspace(msgspec.Struct):
    """A relationship to a workspace."""

    data: Identifier


class TeamWorkspaceRelationships(msgspec.Struct):
    """Which team has access to which workspace."""

    team: OneTeam
    workspace: OneWorkspace


class NewTeamWorkspaceResource(msgspec.Struct):
    """An access to create."""

    type: Literal["team-workspaces"]
    attributes: NewTeamWorkspaceAttributes
    relationships: TeamWorkspaceRelationships


class NewTeamWorkspaceDocument(msgspec.Struct):
    """Gives a team access to a workspace."""

    data: NewTeamWorkspaceResource


class TeamWorkspaceChanges(msgspec.Struct, kw_only=True):
    """What an update says about an access; what is left out stays."""

    access: AccessType | UnsetType = UNSET
    variables: Annotated[VariablesWord, _VARIABLES] | UnsetType = UNSET


class ChangedTeamWorkspaceResource(msgspec.Struct):
    """An access to update; an `id`, when there is one, is the path's."""

    type: Literal["team-workspaces"]
    id: str | UnsetType = UNSET
    attributes: TeamWorkspaceChanges | UnsetType = UNSET


class ChangedTeamWorkspaceDocument(msgspec.Struct):
    """Updates an access."""

    data: ChangedTeamWorkspaceResource


class TeamWorkspaceAttributes(msgspec.Struct, rename="kebab"):
    """What a team may do. There are no runs and no state; who writes variables may lock."""

    access: AccessType
    variables: Annotated[str, _WORDS]
    workspace_locking: bool
    runs: str = "read"
    state_versions: str = "none"
    sentinel_mocks: str = "none"
    run_tasks: bool = False


class TeamWorkspaceResource(msgspec.Struct):
    """A team's access to a workspace."""

    id: str
    type: str
    attributes: TeamWorkspaceAttributes
    relationships: TeamWorkspaceRelationships
    links: SelfLink


class TeamWorkspaceDocument(msgspec.Struct):
    """One access."""

    data: TeamWorkspaceResource


class IncludedWorkspaceAttributes(msgspec.Struct):
    """What an access says of a workspace."""

    name: str


class IncludedWorkspace(msgspec.Struct, tag_field="type", tag="workspaces"):
    """A workspace of an included access."""

    id: str
    attributes: IncludedWorkspaceAttributes


Included = list[IncludedTeam | IncludedWorkspace]


class TeamWorkspaceListDocument(msgspec.Struct, kw_only=True):
    """One page of the accesses to a workspace, or of a team."""

    data: list[TeamWorkspaceResource]
    included: Included | UnsetType = UNSET
    links: paging.PageLinks
    meta: paging.PageMeta


NEW = RequestBody(
    NewTeamWorkspaceDocument,
    {
        "data": {
            "type": TYPE,
            "attributes": {"access": "custom", "variables": "read"},
            "relationships": {
                "team": {"data": {"type": "teams", "id": IDS["team_id"]}},
                "workspace": {"data": {"type": "workspaces", "id": IDS["workspace_id"]}},
            },
        }
    },
)
CHANGED = RequestBody(
    ChangedTeamWorkspaceDocument,
    {"data": {"type": TYPE, "attributes": {"access": "write"}}},
)


def new_draft(document: object) -> GrantDraft:
    """What a create asks for, with every fault of the document."""
    read = Reader(document)
    data, attributes = read.new_resource(TYPE)
    access = read.member(attributes, "access", str, "/data/attributes")
    variables = read.member(attributes, "variables", str, "/data/attributes", required=False)
    relationships = read.member(data, "relationships", dict, "/data")
    team_id = read.related_id(relationships, "team", "teams")
    workspace_id = read.related_id(relationships, "workspace", "workspaces")
    return GrantDraft(None, team_id, workspace_id, access, variables, read.faults)


def changed_draft(document: object) -> GrantDraft:
    """What an update asks for; clients may leave out both `id` and `attributes`."""
    read = Reader(document)
    id_, attributes = read.changed_resource(TYPE)
    at = "/data/attributes"
    access = read.member(attributes, "access", str, at, required=False)
    variables = read.member(attributes, "variables", str, at, required=False)
    return GrantDraft(id_, None, None, access, variables, read.faults)


def path(found: Grant) -> str:
    """`links.self` of an access."""
    return f"/api/v2/team-workspaces/{found.id}"


def team_workspace(found: Grant) -> TeamWorkspaceDocument:
    """The document of one access."""
    return TeamWorkspaceDocument(_resource(found))


def team_workspace_list(
    found: Paged[NamedGrant],
    includes: frozenset[str],
    links: paging.PageLinks,
    meta: paging.PageMeta,
) -> TeamWorkspaceListDocument:
    """The document of one page."""
    data = [_resource(one.grant) for one in found.items]
    included = _included(found.items, includes)
    return TeamWorkspaceListDocument(data=data, included=included, links=links, meta=meta)


def _included(found: Sequence[NamedGrant], includes: frozenset[str]) -> Included | UnsetType:
    if not includes:
        return UNSET
    included: dict[str, IncludedTeam | IncludedWorkspace] = {}
    for one in found:
        team_id, workspace_id = one.grant.team_id, one.grant.workspace_id
        if TEAM in includes:
            said = IncludedTeamAttributes(one.team, one.visibility)
            included[team_id] = IncludedTeam(team_id, said)
        if WORKSPACE in includes:
            called = IncludedWorkspaceAttributes(one.workspace)
            included[workspace_id] = IncludedWorkspace(workspace_id, called)
    return list(included.values())


def _resource(found: Grant) -> TeamWorkspaceResource:
    return TeamWorkspaceResource(
        id=found.id,
        type=TYPE,
        attributes=TeamWorkspaceAttributes(
            access=found.access,
            variables=found.level.word,
            workspace_locking=found.level is Level.WRITE,
        ),
        relationships=TeamWorkspaceRelationships(
            OneTeam(Identifier(found.team_id, "teams")),
            OneWorkspace(Identifier(found.workspace_id, "workspaces")),
        ),
        links=SelfLink(path(found)),
    )
