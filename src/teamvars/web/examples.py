"""Examples of the documents that requests have, and of the ids in paths."""

from collections.abc import Mapping
from typing import Any

import msgspec

from teamvars.web.dialects import Dialect
from teamvars.web.memberships.documents import InvitationDocument
from teamvars.web.organizations.documents import (
    ChangedOrganizationDocument,
    NewOrganizationDocument,
)
from teamvars.web.team_workspaces.documents import (
    ChangedTeamWorkspaceDocument,
    NewTeamWorkspaceDocument,
)
from teamvars.web.teams.documents import ChangedTeamDocument, NewTeamDocument
from teamvars.web.tokens.documents import NewTokenDocument
from teamvars.web.variables.requests import (
    ChangedVariableDocument,
    MembershipsDocument,
    NewVariableDocument,
    UsersDocument,
    ValueCheckDocument,
)
from teamvars.web.workspaces.documents import ChangedWorkspaceDocument, NewWorkspaceDocument

# By the names of the parameters of paths. Whoever tries an example puts ids of their own there.
IDS = {
    "organization": "acme",
    "workspace": "network",
    "workspace_id": "ws-7Yx2mQd4KpRt9VbN",
    "variable_id": "var-3HfWc8sLzGq5TnEj",
    "team_id": "team-6BkRv1MxYt4DpZaS",
    "user_id": "user-9CgUe2JwNh7QsXfK",
    "membership_id": "ou-4TmZb6PdLr8VyGcA",
    "team_workspace_id": "tws-5NqXj3SkFu1WzHeD",
    "token_id": "at-8EhYa7RbMv2KxJtC",
}
NEW_NAME = "a-new-name"

_TEAM = {"data": {"type": "teams", "id": IDS["team_id"]}}
_WORKSPACE = {"data": {"type": "workspaces", "id": IDS["workspace_id"]}}

_ALIKE: Mapping[type[msgspec.Struct], dict[str, Any]] = {
    ValueCheckDocument: {
        "data": {
            "type": "value-checks",
            "attributes": {"value": '{ size = 2 * 3, name = "a" }', "hcl": True},
        }
    },
    UsersDocument: {"data": [{"type": "users", "id": IDS["user_id"]}]},
    MembershipsDocument: {
        "data": [{"type": "organization-memberships", "id": IDS["membership_id"]}]
    },
    ChangedOrganizationDocument: {
        "data": {"type": "organizations", "attributes": {"email": "admin@example.com"}}
    },
    NewOrganizationDocument: {
        "data": {
            "type": "organizations",
            "attributes": {"name": NEW_NAME, "email": "admin@example.com"},
        }
    },
    NewWorkspaceDocument: {"data": {"type": "workspaces", "attributes": {"name": NEW_NAME}}},
    ChangedWorkspaceDocument: {
        "data": {"type": "workspaces", "attributes": {"terraform-version": "1.11.4"}},
    },
    NewTeamDocument: {
        "data": {
            "type": "teams",
            "attributes": {
                "name": NEW_NAME,
                "visibility": "organization",
                "organization-access": {"manage-membership": False},
            },
        }
    },
    ChangedTeamDocument: {"data": {"type": "teams", "attributes": {"visibility": "organization"}}},
    InvitationDocument: {
        "data": {
            "type": "organization-memberships",
            "attributes": {"email": f"{NEW_NAME}@example.com"},
            "relationships": {"teams": {"data": [{"type": "teams", "id": IDS["team_id"]}]}},
        }
    },
    NewTeamWorkspaceDocument: {
        "data": {
            "type": "team-workspaces",
            "attributes": {"access": "custom", "variables": "read"},
            "relationships": {"team": _TEAM, "workspace": _WORKSPACE},
        }
    },
    ChangedTeamWorkspaceDocument: {
        "data": {"type": "team-workspaces", "attributes": {"access": "write"}}
    },
    NewTokenDocument: {
        "data": {"type": "authentication-tokens", "attributes": {"description": "for a robot"}}
    },
}


def of(document: type[msgspec.Struct], dialect: Dialect) -> dict[str, Any] | None:
    """A document of that type which a server accepts, with its own ids in the place of `IDS`."""
    tool, env = dialect.categories.values()
    if document is NewVariableDocument:
        attributes = {
            "key": "some_key",
            "value": "some_value",
            "description": "some description",
            "category": tool,
            "hcl": False,
            "sensitive": False,
        }
        return {"data": {"type": "vars", "attributes": attributes}}
    if document is ChangedVariableDocument:
        changes = {"key": "OTHER_KEY", "value": "secret", "category": env, "sensitive": True}
        return {"data": {"id": IDS["variable_id"], "type": "vars", "attributes": changes}}
    return _ALIKE.get(document)
