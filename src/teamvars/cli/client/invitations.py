"""`login accept`: one's own invitations."""

from typing import Annotated, Any

import typer

from teamvars.cli.client.api import at, connect
from teamvars.cli.client.options import AsJson, placed
from teamvars.cli.client.place import Where
from teamvars.cli.exits import NOT_FOUND
from teamvars.cli.failures import Failure
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import fold

_MEMBERSHIPS = "organization-memberships"


@placed()
def accept(
    where: Where,
    organization: Annotated[
        str | None, typer.Argument(metavar="[ORGANIZATION]", help="Whose invitation to accept.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Accept an invitation; without a name, list those that wait for you.

    For whoever has a token here already. Somebody new opens the link they were sent.

    Example: teamvars login accept
    """
    api = connect(where)
    waiting = [_row(one) for one in api.pages(at(_MEMBERSHIPS)) if _waits(one)]
    if organization is None:
        _list(waiting, as_json=as_json)
        return
    found = next((row for row in waiting if fold(row["organization"]) == fold(organization)), None)
    if found is None:
        raise Failure(f"No invitation from {organization} waits for you.", NOT_FOUND)
    api.announce(f"Your membership of {found['organization']}")
    api.post(at(_MEMBERSHIPS, found["id"], "actions", "accept"))
    if as_json:
        print_json(found)
    note(f"You are a member of {found['organization']}. Next: teamvars link")


def _list(waiting: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(waiting)
    elif waiting:
        say_rows([(row["organization"], f"expires {row['expires'] or 'never'}") for row in waiting])
        note("To accept one: teamvars login accept ORGANIZATION")
    else:
        note("No invitation waits for you.")


def _waits(membership: dict[str, Any]) -> bool:
    return bool(membership["attributes"]["status"] == "invited")


def _row(membership: dict[str, Any]) -> dict[str, Any]:
    invitation = membership["attributes"].get("invitation") or {}
    return {
        "id": membership["id"],
        "organization": membership["relationships"]["organization"]["data"]["id"],
        "expires": invitation.get("expires-at"),
    }
