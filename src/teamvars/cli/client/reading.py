"""What several commands look up first."""

from typing import Any

from teamvars.cli.client.api import Api, at


def workspace(api: Api, name: str | None = None) -> dict[str, Any]:
    """The resource of a workspace by name; of the one that the command is for, without a name."""
    target = api.target
    organization, named = target.organization_name, name or target.workspace_name
    path = at("organizations", organization, "workspaces", named)
    found: dict[str, Any] = api.get(path).document["data"]
    return found


def workspaces(api: Api) -> list[dict[str, Any]]:
    """The resources of all workspaces of the organization that the caller sees, by name."""
    return list(api.pages(at("organizations", api.target.organization_name, "workspaces")))


def organizations(api: Api) -> list[str]:
    """The names of the organizations that the caller is in."""
    return [one["attributes"]["name"] for one in api.pages(at("organizations"))]


def account(api: Api) -> dict[str, Any]:
    """Who calls."""
    found: dict[str, Any] = api.get(at("account", "details")).document["data"]
    return found
