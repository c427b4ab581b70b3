"""The directory file, written: `directory_file` reads it."""

from collections.abc import Mapping
from typing import Any

import yaml

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry

_WIDTH = 100


def document(directory: Directory) -> Mapping[str, Any]:
    """What the file says, in its order."""
    return {
        "users": [_user(entry) for entry in directory.users],
        "organizations": [_organization(entry) for entry in directory.organizations],
    }


def lines(written: Mapping[str, Any]) -> list[str]:
    """The same as YAML."""
    text: str = yaml.safe_dump(
        dict(written), sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    return text.splitlines()


def _user(entry: UserEntry) -> dict[str, Any]:
    email = {} if entry.email is None else {"email": entry.email}
    return {"username": entry.username, **email, "site-admin": bool(entry.site_admin)}


def _organization(entry: OrganizationEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "members": {name: status.value for name, status in entry.members.items()},
        "workspaces": list(entry.workspaces),
        "teams": [_team(team) for team in entry.teams],
    }


def _team(entry: TeamEntry) -> dict[str, Any]:
    written: dict[str, Any] = {"name": entry.name}
    if entry.visibility is not None:
        written["visibility"] = entry.visibility.value
    if entry.manage_membership is not None:
        written["manage-membership"] = entry.manage_membership
    if entry.members_manage_token is not None:
        written["members-manage-token"] = entry.members_manage_token
    if entry.members is not None:
        written["members"] = list(entry.members)
    if entry.workspaces is not None:
        written["workspaces"] = {name: access.value for name, access in entry.workspaces.items()}
    return written
