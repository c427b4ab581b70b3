"""`workspace list`, `workspace access`, and `link`: which of them a folder is for."""

from pathlib import Path

from teamvars.cli import asking, output
from teamvars.cli.client.api import Api, at, connect, links, targets, told
from teamvars.cli.client.changes import number
from teamvars.cli.client.options import connected, placed, yes_option
from teamvars.cli.exits import UNAUTHENTICATED, Failure, Misuse
from teamvars.cli.options import command, flag, json_option
from teamvars.cli.output import note, show

_SHOWN = {"name": "name", "id": "id", "variables": "variables-count", "locked": "locked"}


@command
@json_option
@connected("organization")
def list_(api: Api) -> None:
    """List the workspaces you see.

    Example: teamvars workspace list
    """
    found = [told(one, _SHOWN) for one in api.workspaces()]
    empty = "You see no workspaces there: a team of yours needs access first."
    rows = (
        (
            one["name"],
            one["id"],
            number(one["variables"], "variable"),
            "locked" if one["locked"] else "",
        )
        for one in found
    )
    show(found, rows, empty=empty)


@command
@json_option
@connected("organization", "workspace")
def access(api: Api) -> None:
    """Show who may read and write the variables.

    It is for owners of the organization.

    Example: teamvars workspace access --workspace network
    """
    holders = api.listed(at("workspaces", api.workspace()["id"], "access"))
    found = [{"id": one["id"], **one["attributes"]} for one in holders]
    rows = (
        (
            one["access"],
            one["kind"],
            one["name"],
            ", ".join(f"{way['team']} ({way['access']})" for way in one["through"]),
        )
        for one in found
    )
    show(found, rows)


@command
@flag("--show", "Show the link.")
@flag("--trust", "Show the link, and approve it.")
@flag("--remove", "Remove the link.")
@yes_option
@json_option
@placed("organization", "workspace")
def link(where: targets.Where, show: bool, trust: bool, remove: bool, yes: bool) -> None:
    """Choose the workspace for this folder and those below it.

    It is written into .teamvars/link.toml, which holds no secret and may be committed. A link that
    somebody else made or changed counts for nothing until you approve it with --trust.

    Example: teamvars link --organization acme --workspace network
    """
    if sum((show, trust, remove)) > 1:
        raise Misuse("Give one of --show, --trust and --remove.")
    if not (show or trust or remove):
        _say(_made(where))
        return
    found = links.find()
    if found is None:
        raise Failure("There is no link in this folder or above it. To make one: teamvars link")
    _say(found)
    if trust:
        asking.confirm("Approve it?", yes=yes)
        links.trust(found)
        note(f"Approved: {found.path}.")
    elif remove:
        asking.confirm("Remove it?", yes=yes)
        links.remove(found)
        note(f"Removed: {found.path}.")


def _say(found: links.Link) -> None:
    path, words = str(found.path), found.words
    trusted = "yes" if found.is_trusted else "no: it is ignored"
    output.show(
        {"path": path, "trusted": found.is_trusted, **words},
        [("path", path), *words.items(), ("approved", trusted)],
    )


def _made(where: targets.Where) -> links.Link:
    """A link of what the flags say; what they leave open is looked up, and chosen where needed."""
    try:
        folder = Path.cwd()
    except OSError as error:
        raise Failure(f"The current folder cannot be found: {error.strerror}.") from None
    try:
        # Not by the link there is: it may be anybody's, and is about to be another.
        api = connect(where, use_link=False)
    except Failure as failure:
        said = targets.said_address(where)
        if failure.code != UNAUTHENTICATED or said is None or where.organization is None:
            raise
        note(f"You are not logged in to {said[0]}, so this is not checked.")
        return _written(folder, str(said[0]), where)
    if where.organization is None:
        named = api.target.organization
        names = [named.value] if named else api.organizations()
        where = where._replace(organization=asking.choose("organization", names, "--organization"))
        api = connect(where, use_link=False)
    if api.target.workspace is not None:
        where = where._replace(workspace=api.workspace()["attributes"]["name"])
    elif asking.is_terminal():
        names = [one["attributes"]["name"] for one in api.workspaces()]
        where = where._replace(workspace=asking.choose("workspace", names, "--workspace"))
    else:
        note("It names no workspace yet. To name one: teamvars link --workspace NAME")
    return _written(folder, str(api.target.address), where)


def _written(folder: Path, address: str, where: targets.Where) -> links.Link:
    words = {"address": address, "organization": where.organization, "workspace": where.workspace}
    note(f"Link of {folder}")
    return links.write(folder, {name: value for name, value in words.items() if value is not None})
