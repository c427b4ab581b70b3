"""`whoami`."""

from typing import Any

from teamvars.cli.client import reading
from teamvars.cli.client.api import Api, connect
from teamvars.cli.client.options import AsJson, placed
from teamvars.cli.client.place import Given, Where
from teamvars.cli.output import print_json, say_rows

_SERVICE_ACCOUNT = "api-"
"""How the name of a team's or organization's token begins: `api-team-…`, `api-organization-…`."""


@placed("organization", "workspace")
def whoami(where: Where, as_json: AsJson = False) -> None:
    """Show who you are, where, and what says so.

    Example: teamvars whoami
    """
    api = connect(where)
    found = _found(api, reading.account(api))
    if as_json:
        print_json(found)
        return
    say_rows([(name, *_cells(told)) for name, told in found.items()])


def _found(api: Api, account: dict[str, Any]) -> dict[str, Any]:
    target, attributes = api.target, account["attributes"]
    kind = "user"
    if attributes["is-service-account"]:
        kind = attributes["username"].removeprefix(_SERVICE_ACCOUNT).partition("-")[0]
    return {
        "address": Given(str(target.address), target.address_origin)._asdict(),
        "name": attributes["username"],
        "id": account["id"],
        "email": attributes["email"],
        "token": Given(kind, target.token.origin)._asdict(),
        "organization": target.organization and target.organization._asdict(),
        "workspace": target.workspace and target.workspace._asdict(),
    }


def _cells(told: Any) -> tuple[str, str]:
    if isinstance(told, dict):
        return told["value"], f"from {told['origin']}"
    return told or "-", ""
