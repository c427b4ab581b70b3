"""`set list`, `create`, `show`, `update`, `attach`, `detach` and `delete`."""

import sys
from collections.abc import Sequence

from teamvars.cli import asking
from teamvars.cli.client.api import PROJECT, SET, Answer, Api, Resource, at, told
from teamvars.cli.client.changes import (
    How,
    effect_rows,
    in_full,
    linked_workspaces,
    number,
    summed_up,
    tell_effects,
)
from teamvars.cli.client.options import (
    connected,
    offered,
    some_workspaces_argument,
    yes_option,
)
from teamvars.cli.exits import DIFFERENCES, Misuse
from teamvars.cli.options import argument, command, flag, json_option, option, together
from teamvars.cli.output import Row, note, show

_SHOWN = {
    "name": "name",
    "id": "id",
    "global": "global",
    "priority": "priority",
    "variables": "var-count",
    "workspaces": "workspace-count",
    "projects": "project-count",
    "description": "description",
}

_DRY_RUN = {"meta": {"dry-run": True}}

set_argument = argument("name", "A set's name or id.", metavar="SET", shell_complete=offered("set"))
description_option = option("--description", "What it is for.")

dry_run_option = flag(
    "--dry-run", "Change nothing; say which workspaces would get other values; exit with 3 if any."
)
how_options = together("how", How, yes=yes_option, dry_run=dry_run_option)
global_option = option(
    "--global/--no-global", "It reaches every workspace.", "is_global", default=None
)
priority_option = option(
    "--priority/--no-priority", "It comes before what workspaces have themselves.", default=None
)
projects_option = option(
    "--project",
    "A project, with all workspaces in it.",
    "projects",
    multiple=True,
    metavar="PROJECT",
    shell_complete=offered("project"),
)


@command
@json_option
@connected("organization")
def list_(api: Api) -> None:
    """List the variable sets you see.

    Example: teamvars set list
    """
    found = [told(one, _SHOWN) for one in SET.seen(api)]
    show(found, map(_row, found), empty="You see no variable sets there.")


def _row(one: Resource) -> Row:
    reach = "global" if one["global"] else number(one["workspaces"], "workspace")
    if one["projects"]:
        reach = f"{number(one['projects'], 'project')}, {reach}"
    kind = "priority" if one["priority"] else ""
    return one["name"], one["id"], reach, number(one["variables"], "variable"), kind


@command
@set_argument
@json_option
@connected("organization")
def show_(api: Api, name: str) -> None:
    """Show the variables of a set, and what it is attached to.

    Example: teamvars set show 'Cloud account'
    """
    found = SET.named(api, name)
    variables = _variables(api, found)
    path = f"{at('varsets', found['id'])}?include=workspaces,projects"
    whole = api.get(path).document["included"]
    workspaces, projects = (
        sorted(one["attributes"]["name"] for one in whole if one["type"] == type_)
        for type_ in ("workspaces", "projects")
    )
    rows: list[Row] = [
        ("variable", one["key"], one["category"], in_full(one["value"]))
        for one in (each["attributes"] for each in variables)
    ]
    rows += [("project", name, "", "") for name in projects]
    rows += [("workspace", name, "", "") for name in workspaces]
    if found["attributes"]["global"]:
        rows.append(("workspace", "all (global)", "", ""))
    attributes = [{"id": one["id"], **one["attributes"]} for one in variables]
    linked = {"workspaces": workspaces, "projects": projects}
    listed = {**told(found, _SHOWN), "variables": attributes, **linked}
    show(listed, rows, empty="It has no variables, and is attached to nothing.")


@command
@argument("name", "Its name.", metavar="SET")
@description_option
@global_option
@priority_option
@option(
    "--of-project",
    "The project whose set it is; else it is the organization's.",
    "parent",
    shell_complete=offered("project"),
)
@json_option
@connected("organization")
def create(
    api: Api,
    name: str,
    description: str | None,
    is_global: bool | None,
    priority: bool | None,
    parent: str | None,
) -> None:
    """Make a variable set, without variables.

    Example: teamvars set create 'Cloud account' --description 'for all'
    """
    said = _said(name, description or "", is_global=is_global, priority=priority)
    path = at("organizations", api.organization, "varsets")
    data: Resource = {"type": "varsets", "attributes": said}
    if parent is not None:
        data["relationships"] = {"parent": {"data": _linkage(PROJECT.named(api, parent))}}
    made = api.post(path, {"data": data}).document["data"]
    show(told(made, _SHOWN), [_row(told(made, _SHOWN))])


@command
@set_argument
@option("--name", "Another name.", "renamed")
@description_option
@global_option
@priority_option
@how_options
@json_option
@connected("organization")
def update(
    api: Api,
    name: str,
    renamed: str | None,
    description: str | None,
    is_global: bool | None,
    priority: bool | None,
    how: How,
) -> None:
    """Change a set: only what you name.

    Where workspaces would get other values, it shows them first, and asks.

    Example: teamvars set update 'Cloud account' --priority
    """
    found = SET.named(api, name)
    said = _said(renamed, description, is_global=is_global, priority=priority)
    if not said:
        raise Misuse("Say what is to change: --name, --description, --global or --priority.")
    document = {"data": {"type": "varsets", "id": found["id"], "attributes": said}}
    if not _is_agreed(_preview(api, found, document), f"Change {name}?", how):
        return
    after = told(api.patch(at("varsets", found["id"]), document).document["data"], _SHOWN)
    show(after, [_row(after)])


@command
@set_argument
@some_workspaces_argument
@projects_option
@how_options
@json_option
@connected("organization")
def attach(
    api: Api, name: str, workspaces: Sequence[str], projects: Sequence[str], how: How
) -> None:
    """Attach a set to workspaces, or to projects, all or none.

    Where workspaces would get other values, it shows them first, and asks.

    Example: teamvars set attach 'Cloud account' network payments
    """
    _link(api, name, (workspaces, projects), how, attaches=True)


@command
@set_argument
@some_workspaces_argument
@projects_option
@how_options
@json_option
@connected("organization")
def detach(
    api: Api, name: str, workspaces: Sequence[str], projects: Sequence[str], how: How
) -> None:
    """Detach a set from workspaces, or from projects, all or none.

    Where workspaces would get other values, it shows them first, and asks.

    Example: teamvars set detach 'Cloud account' payments
    """
    _link(api, name, (workspaces, projects), how, attaches=False)


@command
@set_argument
@how_options
@json_option
@connected("organization")
def delete(api: Api, name: str, how: How) -> None:
    """Delete a set with its variables.

    It shows first which workspaces would lose a value or get another, and asks.

    Example: teamvars set delete 'Cloud account' --yes
    """
    found = SET.named(api, name)
    foreseen = _preview(api, found, None)
    if how.dry_run:
        _show_effects(foreseen)
        return
    _tell_effects(foreseen)
    count = number(found["attributes"]["var-count"], "variable")
    asking.confirm(f"Delete {name} with {count}?", yes=how.yes)
    api.delete(at("varsets", found["id"]))
    note("Deleted.")
    show({"id": found["id"], "deleted": True}, ())


def _variables(api: Api, one: Resource) -> list[Resource]:
    path = at("varsets", one["id"], "relationships", "vars")
    found: list[Resource] = api.get(path).document["data"]
    return found


def _link(
    api: Api, name: str, places: tuple[Sequence[str], Sequence[str]], how: How, *, attaches: bool
) -> None:
    """Attaches a set to workspaces or to projects, or detaches it."""
    found, (kind, linked) = SET.named(api, name), _linked(api, *places)
    path = at("varsets", found["id"], "relationships", kind)
    send, verb = (api.post, "Attach") if attaches else (api.delete, "Detach")
    if not _is_agreed(send(path, {**linked, **_DRY_RUN}), f"{verb} {name}?", how):
        return
    send(path, linked)
    words = [word for some in places for word in some]
    counted = number(len(words), kind.removesuffix("s"))
    note(f"{verb}ed {'to' if attaches else 'from'} {counted}.")
    show({"id": found["id"], f"{verb.lower()}ed": words}, ())


def _linked(api: Api, workspaces: Sequence[str], projects: Sequence[str]) -> tuple[str, Resource]:
    """The workspaces or the projects that are named, as a relationship of that name."""
    if bool(workspaces) == bool(projects):
        raise Misuse("Name workspaces, or projects with --project.")
    if workspaces:
        return "workspaces", linked_workspaces(api, workspaces)
    return "projects", {"data": [_linkage(PROJECT.named(api, word)) for word in projects]}


def _linkage(one: Resource) -> Resource:
    return {"type": one["type"], "id": one["id"]}


def _preview(api: Api, found: Resource, document: Resource | None) -> Answer:
    """What a change would do, or without a document a deletion."""
    return api.post(at("varsets", found["id"], "actions", "preview"), document)


def _is_agreed(foreseen: Answer, question: str, how: How) -> bool:
    """Whether a change is to be made: it says what that would do and, where workspaces would get
    other values, asks. Not where it is only to be shown.
    """
    if how.dry_run:
        _show_effects(foreseen)
        return False
    if _tell_effects(foreseen):
        asking.confirm(question, yes=how.yes)
    return True


def _tell_effects(foreseen: Answer) -> bool:
    """Says what a change would do, before it is made; whether any workspace gets other values."""
    return tell_effects(foreseen.document["data"]["attributes"])


def _show_effects(foreseen: Answer) -> None:
    """Shows what a change would do, in its place; ends with 3 if anything."""
    effects = foreseen.document["data"]["attributes"]
    rows = effect_rows(effects)
    show(effects, rows, empty="No workspace would get another value.")
    if rows:
        note(summed_up(effects))
        sys.exit(DIFFERENCES)


def _said(
    name: str | None, description: str | None, *, is_global: bool | None, priority: bool | None
) -> dict[str, object]:
    said = {
        "name": name,
        "description": description,
        "global": is_global,
        "priority": priority,
    }
    return {name: value for name, value in said.items() if value is not None}
