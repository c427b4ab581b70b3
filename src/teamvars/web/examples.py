"""Examples of the documents the directory takes, with ids in the place of `{…}`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from teamvars.web.membership_documents import InvitationDocument
from teamvars.web.team_documents import ChangedTeamDocument, NewTeamDocument
from teamvars.web.team_workspace_documents import (
    ChangedTeamWorkspaceDocument,
    NewTeamWorkspaceDocument,
)
from teamvars.web.token_documents import NewTokenDocument

_TEAM = {"data": {"type": "teams", "id": "{team_id}"}}
_WORKSPACE = {"data": {"type": "workspaces", "id": "{workspace_id}"}}

OF_THE_DIRECTORY: Mapping[type[msgspec.Struct], dict[str, Any]] = {
    NewTeamDocument: {
        "data": {
            "type": "teams",
            "attributes": {
                "name": "{new_name}",
                "visibility": "organization",
                "organization-access": {"manage-membership": False},
            },
        }
    },
    ChangedTeamDocument: {"data": {"type": "teams", "attributes": {"visibility": "organization"}}},
    InvitationDocument: {
        "data": {
            "type": "organization-memberships",
            "attributes": {"email": "{new_name}@example.com"},
            "relationships": {"teams": {"data": [{"type": "teams", "id": "{team_id}"}]}},
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
