"""`project list`, `create`, `rename`, `delete` and `move`."""

import sys
from collections.abc import Sequence

from teamvars.cli import asking
from teamvars.cli.client.api import PROJECT, Api, Resource, at, told
from teamvars.cli.client.changes import linked_workspaces, number
from teamvars.cli.client.options import (
    connected,
    dry_run_option,
    offered,
    workspaces_argument,
    yes_option,
)
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.options import argument, command, json_option, option
from teamvars.cli.output import Row, aligned, note, show
from teamvars.domain.names import escaped

_SHOWN = {
    "name": "name",
    "id": "id",
    "workspaces": "workspace-count",
    "teams": "team-count",
    "description": "description",
}
_OF_SETS = {
    "gained-varsets": "Variable sets that come",
    "lost-varsets": "Variable sets that go",
    "runners": "Runners that are handed secrets which come",
}

project_argument = argument(
    "name", "A project's name or id.", metavar="PROJECT", shell_complete=offered("project")
)


@command
@json_option
@connected("organization")
def list_(api: Api) -> None:
    """List the projects you see.

    Example: teamvars project list
    """
    found = [told(one, _SHOWN) for one in PROJECT.seen(api)]
    empty = "You see no projects there: a team of yours needs access to a workspace first."
    show(found, map(_row, found), empty=empty)


@command
@argument("name", "Its name.", metavar="PROJECT")
@option("--description", "What it is for.")
@json_option
@connected("organization")
def create(api: Api, name: str, description: str | None) -> None:
    """Make a project, without workspaces.

    Example: teamvars project create 'Web shop' --description 'What is sold'
    """
    attributes = {"name": name, "description": description or ""}
    path = at("organizations", api.organization, "projects")
    document = {"data": {"type": "projects", "attributes": attributes}}
    _show(api.post(path, document).document["data"])


@command
@project_argument
@argument("renamed", "Another name.", metavar="NAME")
@json_option
@connected("organization")
def rename(api: Api, name: str, renamed: str) -> None:
    """Give a project another name, even the default one.

    Example: teamvars project rename 'Web shop' Shop
    """
    found = PROJECT.named(api, name)
    document = {"data": {"type": "projects", "id": found["id"], "attributes": {"name": renamed}}}
    _show(api.patch(at("projects", found["id"]), document).document["data"])


@command
@project_argument
@yes_option
@connected("organization")
def delete(api: Api, name: str, yes: bool) -> None:
    """Delete a project in which there is no workspace.

    Example: teamvars project delete Shop --yes
    """
    found = PROJECT.named(api, name)
    called = escaped(found["attributes"]["name"])
    api.announce(_title(api, called))
    asking.confirm(f"Delete the project {called}, and teams' access to it?", yes=yes)
    api.delete(at("projects", found["id"]))
    note("Deleted.")


@command
@project_argument
@workspaces_argument
@dry_run_option
@yes_option
@json_option
@connected("organization")
def move(api: Api, name: str, workspaces: Sequence[str], dry_run: bool, yes: bool) -> None:
    """Put workspaces into a project, all or none.

    It shows first which teams gain and lose access and which variable sets come and go, and asks.

    Example: teamvars project move 'Default Project' network payments
    """
    found, linked = PROJECT.named(api, name), linked_workspaces(api, workspaces)
    called = escaped(found["attributes"]["name"])
    api.announce(_title(api, called))
    path = at("projects", found["id"], "relationships", "workspaces")
    foreseen = api.post(path, {**linked, "meta": {"dry-run": True}}).document
    coming, changes = foreseen["meta"]["workspaces"], foreseen["data"]
    unseen = foreseen["meta"]["unseen-teams"]
    of_sets = {name: foreseen["meta"][name] for name in _OF_SETS}
    for name, names in of_sets.items():
        if names:
            note(f"{_OF_SETS[name]}: {', '.join(map(escaped, names))}.")
    if not dry_run:
        for line in aligned(_rows(changes)):
            note(line)
        if unseen:
            note(f"Access of {number(unseen, 'team')} that you do not see changes too.")
        if coming:
            asking.confirm(f"Move {number(coming, 'workspace')} to {called}?", yes=yes)
            api.post(path, linked)
    told_of = {
        "moved": 0 if dry_run else coming,
        "workspaces": coming,
        "access": [{"id": one["id"], **one["attributes"]} for one in changes],
        "unseen-teams": unseen,
        **of_sets,
    }
    said = f"Would move {number(coming, 'workspace')}." if dry_run else f"Moved: {coming}."
    show(told_of, _rows(changes) if dry_run else (), said=said)
    if dry_run and coming:
        sys.exit(DIFFERENCES)


def _title(api: Api, called: str) -> str:
    """What is said first of a change to a project that is called so."""
    return f"Project {called} of {api.organization}"


def _rows(changes: Sequence[Resource]) -> list[Row]:
    """A line for each team and what it gains or loses."""
    found: list[Row] = []
    for one in changes:
        its = one["attributes"]
        gains = its["before"] == "none" or its["after"] == "write"
        access = f"{its['before']} -> {its['after']}"
        count = number(its["workspaces"], "workspace")
        found.append(("+" if gains else "-", its["team"], access, count))
    return found


def _show(one: Resource) -> None:
    shown = told(one, _SHOWN)
    show(shown, [_row(shown)])


def _row(one: Resource) -> Row:
    counts = number(one["workspaces"], "workspace"), number(one["teams"], "team")
    return one["name"], one["id"], *counts
