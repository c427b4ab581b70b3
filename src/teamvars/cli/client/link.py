"""`link`: which service, organization and workspace a folder is for."""

from pathlib import Path
from typing import Annotated

import typer

from teamvars.cli import asking
from teamvars.cli.client import links, place, reading
from teamvars.cli.client.api import connect
from teamvars.cli.client.links import Link
from teamvars.cli.client.options import AsJson, Yes, placed
from teamvars.cli.client.place import Where
from teamvars.cli.exits import UNAUTHENTICATED, USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note, print_json, say_rows

_Show = Annotated[bool, typer.Option("--show", help="Say what the link says.")]
_Trust = Annotated[bool, typer.Option("--trust", help="Show what it says, and approve it.")]
_Remove = Annotated[bool, typer.Option("--remove", help="Remove the link.")]


@placed("organization", "workspace")
def link(
    where: Where,
    show: _Show = False,
    trust: _Trust = False,
    remove: _Remove = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Say which workspace this folder and those below it are for.

    It is written into .teamvars/link.toml, which holds no secret and may be committed. A link that
    somebody else made or changed counts for nothing until you approve it with --trust.

    Example: teamvars link --organization acme --workspace network
    """
    if sum((show, trust, remove)) > 1:
        raise Failure("Give one of --show, --trust and --remove.", USAGE)
    if not (show or trust or remove):
        _say(_made(where), as_json)
        return
    found = links.find()
    if found is None:
        raise Failure("There is no link in this folder or above it. To make one: teamvars link")
    _say(found, as_json)
    if trust:
        asking.confirm("Approve it?", yes=yes)
        links.trust(found)
        note(f"Approved: {found.path}.")
    elif remove:
        asking.confirm("Remove it?", yes=yes)
        links.remove(found)
        note(f"Removed: {found.path}.")


def _say(found: Link, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(found.path), "trusted": found.is_trusted, **found.words})
        return
    trusted = "yes" if found.is_trusted else "no: it counts for nothing"
    say_rows([("path", str(found.path)), *found.words.items(), ("approved", trusted)])


def _made(where: Where) -> Link:
    """A link of what the flags say; what they leave open is looked up, and chosen where needed."""
    folder = Path.cwd()
    try:
        # Not by the link there is: it may be anybody's, and is about to be another.
        api = connect(where, use_link=False)
    except Failure as failure:
        said = place.said_address(where)
        if failure.code != UNAUTHENTICATED or said is None or where.organization is None:
            raise
        note(f"You are not logged in to {said[0]}, so this is not checked.")
        return _written(folder, str(said[0]), where)
    if where.organization is None:
        named = api.target.organization
        names = [named.value] if named else reading.organizations(api)
        chosen = asking.choose("organization", names, "--organization")
        where = where._replace(organization=chosen)
        api = connect(where, use_link=False)
    if api.target.workspace is not None:
        where = where._replace(workspace=reading.workspace(api)["attributes"]["name"])
    elif asking.is_terminal():
        names = [one["attributes"]["name"] for one in reading.workspaces(api)]
        where = where._replace(workspace=asking.choose("workspace", names, "--workspace"))
    else:
        note("It is for no workspace yet. To name one: teamvars link --workspace NAME")
    return _written(folder, str(api.target.address), where)


def _written(folder: Path, address: str, where: Where) -> Link:
    words = {"address": address, "organization": where.organization, "workspace": where.workspace}
    note(f"Link of {folder}")
    return links.write(folder, {name: value for name, value in words.items() if value is not None})
