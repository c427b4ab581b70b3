"""What several commands look up first."""

from typing import Any

from teamvars.cli.client.api import Api, at
from teamvars.cli.client.errors import ApiError
from teamvars.cli.exits import NOT_FOUND
from teamvars.cli.failures import Failure


def workspace(api: Api, name: str | None = None) -> dict[str, Any]:
    """The resource of a workspace by name; of the one that the command is for, without a name."""
    target = api.target
    organization, named = target.organization_name, name or target.workspace_name
    path = at("organizations", organization, "workspaces", named)
    try:
        found: dict[str, Any] = api.get(path).document["data"]
    except ApiError as error:
        if error.code != NOT_FOUND:
            raise
        text = f"There is no workspace {organization}/{named}, or you may not see it. Those you see"
        raise Failure(f"{text}: teamvars workspace list", NOT_FOUND) from None
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
