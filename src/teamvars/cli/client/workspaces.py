"""`workspace list`, `workspace access`."""

from typing import Any

from teamvars.cli.client import reading
from teamvars.cli.client.api import at, connect
from teamvars.cli.client.options import AsJson, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.tables import number
from teamvars.cli.output import note, print_json, say_rows


@placed("organization")
def list_(where: Where, as_json: AsJson = False) -> None:
    """List the workspaces you see.

    Example: teamvars workspace list
    """
    found = reading.workspaces(connect(where))
    if as_json:
        print_json([_workspace(one) for one in found])
    elif found:
        say_rows([_row(_workspace(one)) for one in found])
    else:
        note("You see no workspaces there: a team of yours needs access first.")


@placed("organization", "workspace")
def access(where: Where, as_json: AsJson = False) -> None:
    """Show who may read and write the variables.

    It is for owners of the organization.

    Example: teamvars workspace access --workspace network
    """
    api = connect(where)
    found = list(api.pages(at("workspaces", reading.workspace(api)["id"], "access")))
    if as_json:
        print_json([{"id": one["id"], **one["attributes"]} for one in found])
        return
    say_rows([_holder(one["attributes"]) for one in found])


def _workspace(resource: dict[str, Any]) -> dict[str, Any]:
    attributes = resource["attributes"]
    return {
        "name": attributes["name"],
        "id": resource["id"],
        "variables": attributes["variables-count"],
        "locked": attributes["locked"],
    }


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    locked = "locked" if one["locked"] else ""
    return one["name"], one["id"], number(one["variables"], "variable"), locked


def _holder(attributes: dict[str, Any]) -> tuple[str, ...]:
    through = ", ".join(f"{way['team']} ({way['access']})" for way in attributes["through"])
    return attributes["access"], attributes["kind"], attributes["name"], through
