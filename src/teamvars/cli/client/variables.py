"""`vars list`, `get`, `search`, `history`."""

from collections.abc import Iterator, Sequence
from itertools import islice, starmap
from shlex import quote

import click
import msgspec

from teamvars.cli import named
from teamvars.cli.client.api import Api, Resource
from teamvars.cli.client.api.targets import WORKSPACE_FLAG
from teamvars.cli.client.changes import SENSITIVE, in_full
from teamvars.cli.client.contents import (
    OF_CATEGORY,
    SET_NAME,
    Contents,
    Owner,
    all_contents,
    category_of,
    contents_to_show,
    gotten,
    is_for_several,
    owners_for,
    refuse_set,
    searched,
    shown_in,
    workspace_of,
)
from teamvars.cli.client.options import (
    category_option,
    connected,
    key_argument,
    offered,
    require_said,
)
from teamvars.cli.client.together import with_all
from teamvars.cli.exits import INVALID, NOT_FOUND, Failure, Misuse
from teamvars.cli.options import argument, command, flag, json_option, option, wants_json
from teamvars.cli.output import Row, note, say_text, show
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Category

_JSON = msgspec.json.Encoder(decimal_format="number")
_SAID = {None: SENSITIVE, True: "true", False: "false"}


@command
@category_option
@flag("--effective", "All that a run gets, and what it overrides.")
@json_option
@connected("organization", "workspace", "set")
def list_(api: Api, category: str | None, effective: bool) -> None:
    """List the variables of a workspace or a set.

    -w 'prod-*' or -w eu,us means every workspace that matches.

    Example: teamvars vars list --workspace network
    """
    if effective:
        _list_effective(api, category_of(category))
        return
    founds, wanted = all_contents(api), category_of(category)
    pairs = [(found, one) for found in founds for one in found.in_category(wanted)]
    names = ", ".join(found.name for found in founds)
    what, more = ("", "") if category is None else (f"{category} ", f" --category {category}")
    make = f"teamvars vars set KEY=VALUE{founds[0].option}{more}"
    empty = f"There are no {what}variables in {names} yet. Make one: {make}"
    show([*starmap(_attributes, pairs)], shown_in(api, starmap(_row, pairs)), empty=empty)


def _list_effective(api: Api, category: Category | None) -> None:
    """Lists what workspaces get: below each variable that counts, those that do not."""
    refuse_set(api)
    found = [one for many in with_all(api, owners_for(api), gotten) for one in many]
    wanted = [one for one in found if category in (None, category_of(one["category"]))]
    rows = shown_in(api, (row for one in wanted for row in _effective_rows(one)))
    show(wanted, rows, empty="No variable reaches it.")


def _effective_rows(one: Resource) -> Iterator[Row]:
    """The workspace first."""
    yield (
        one["workspace"],
        one["key"],
        one["category"],
        in_full(one["value"]),
        f"from {_source(one)}",
    )
    for other in one["overrides"]:
        told = f"not {in_full(other['value'])}", f"from {_source(other)}"
        yield (one["workspace"], f"  {one['key']}", one["category"], *told)


def _source(one: Resource) -> str:
    """The workspace or the set that a variable is from, and at which level."""
    source = one["source"]
    kind = "workspace" if source["type"] == "workspaces" else "variable set"
    return f"{kind} {source['name']} ({one['level']})"


@command
@key_argument
@category_option
@json_option
@connected("organization", "workspace")
def why(api: Api, key: str, category: str | None) -> None:
    """Show where a value is from, and what it overrides.

    Example: teamvars vars why LOG_LEVEL
    """
    wanted, workspace = category_of(category), workspace_of(api.workspace())
    found = [
        one
        for one in gotten(api, workspace)
        if one["key"] == key and wanted in (None, category_of(one["category"]))
    ]
    if not found:
        raise Failure(f"No variable {key} reaches {workspace.name}.", NOT_FOUND)
    show(found, (row for one in found for row in _reasons(one)))


def _reasons(one: Resource) -> Iterator[Row]:
    yield (one["category"], in_full(one["value"]), f"from {_source(one)}")
    for other in one["overrides"]:
        higher = f"{one['level']} comes before {other['level']}"
        rule = higher if other["rule"] == "level" else "of two sets alike, the first by name counts"
        yield ("", f"not {in_full(other['value'])}", f"from {_source(other)}: {rule}")


@command
@key_argument
@category_option
@flag("--plain", "Only the value, byte for byte.")
@flag("--evaluated", "The evaluated value, as JSON.")
@json_option
@connected("organization", "workspace", "set")
def get(api: Api, key: str, category: str | None, plain: bool, evaluated: bool) -> None:
    """Show a variable.

    -w 'prod-*' or -w eu,us means every workspace that matches and has it.

    Example: teamvars vars get LOG_LEVEL --plain
    """
    if plain + evaluated + wants_json() > 1:
        raise Misuse("Give one of --plain, --evaluated and --json.")
    if is_for_several(api):
        if plain or evaluated:
            raise Misuse("--plain and --evaluated show one value, of one workspace.")
        _get_all(contents_to_show(api, key), key, category_of(category))
        return
    (found,) = contents_to_show(api, key)
    variable = found.one(key, category_of(category))
    if plain:
        say_text(_value(found, variable))
    elif evaluated:
        say_text(_evaluated(variable, _value(found, variable)))
    else:
        attributes = _attributes(found, variable)
        rows = ((name, _told(value)) for name, value in attributes.items() if value != "")
        show(attributes, rows)


def _get_all(founds: Sequence[Contents], key: str, category: Category | None) -> None:
    """Shows the variable of each workspace; says which have none, and fails where none has."""
    for found in founds:
        if not found.has(key, category):
            note(f"{found.name} has no variable {escaped(key)}.")
    pairs = [(found, found.one(key, category)) for found in founds if found.has(key, category)]
    show([*starmap(_attributes, pairs)], starmap(_row, pairs))
    if not pairs:
        raise Failure(f"None of these has a variable {key}.", NOT_FOUND)


def _value(found: Contents, variable: Variable) -> str:
    if variable.value is None:
        text = f"{variable.key} is sensitive: nobody can read its value. Set another: "
        raise Failure(f"{text}teamvars vars set {quote(variable.key)}{found.option}", INVALID)
    return variable.value


def _attributes(found: Contents, variable: Variable) -> Resource:
    return {
        **found.told,
        "key": variable.key,
        "value": variable.value,
        "category": found.word(variable.category),
        "hcl": variable.hcl,
        "sensitive": variable.sensitive,
        "description": variable.description,
        "id": variable.id,
        "version-id": variable.version_id,
    }


def _row(found: Contents, variable: Variable) -> Row:
    """The workspace first."""
    return (
        found.name,
        variable.key,
        found.word(variable.category),
        "hcl" if variable.hcl else "",
        in_full(variable.value),
        variable.description,
    )


def _told(value: str | bool | None) -> str:
    return value if isinstance(value, str) else _SAID[value]


def _evaluated(variable: Variable, value: str) -> str:
    """The value as a line of JSON: a text, or what code comes to. Fails at the place at fault."""
    if not variable.hcl or variable.category is Category.ENV:
        return _line(value)
    try:
        # Only here: what evaluates code takes a while to load.
        return _line(named("teamvars.hcl:evaluate")(value))
    except named("teamvars.hcl:HclError") as error:
        about, *excerpt = str(error).split("\n")
        lines = [f"{variable.key} has no value by itself: {about}", *map(escaped, excerpt)]
        raise Failure("\n".join(lines), INVALID) from None


def _line(value: object) -> str:
    return f"{_JSON.encode(value).decode()}\n"


@command
@argument("key", "A key, or the beginning of keys: DB_*.", required=False, metavar="[KEY]")
@option("--part", "Only keys with this in them, in any case.", metavar="TEXT")
@category_option
@option("--sensitive/--readable", "Only sensitive variables, or only others.", default=None)
@flag("--values", "Show values as well.")
@option("--limit", "At most this many.", type=click.IntRange(min=1), default=500)
@json_option
@connected("organization", "workspace")
def search(
    api: Api,
    key: str | None,
    part: str | None,
    category: str | None,
    sensitive: bool | None,
    values: bool,
    limit: int,
) -> None:
    """Find variables in all workspaces and variable sets you may read, never by value.

    A KEY with a * at its end is the beginning of keys: 'LOG_*'.

    Example: teamvars vars search --part log
    """
    require_said({"part": part})
    filters = {
        "filter[key]": key,
        "q": part,
        OF_CATEGORY: category_of(category),
        "filter[sensitive]": None if sensitive is None else str(sensitive).lower(),
    }
    workspace = api.target.workspace
    if workspace is not None and workspace.origin == WORKSPACE_FLAG:
        filters["filter[workspace]"] = api.workspace()["attributes"]["name"]
    fields = ["key", "category", "hcl", "sensitive", *["value"] * values]
    query = {name: text for name, text in filters.items() if text is not None}
    found = list(islice(searched(api, query, fields), limit + 1))
    empty = "Nothing like that is in a workspace or variable set you may read."
    if key is not None and part is None and not key.endswith("*"):
        empty += f" Keys with it in them: --part {escaped(key)}"
    show(found[:limit], map(_found_row, found[:limit]), empty=empty)
    if len(found) > limit:
        note(f"There are more than {limit} (--limit).")


def _found_row(one: Resource) -> Row:
    kinds = " ".join(name for name in ("hcl", "sensitive") if one[name])
    value = in_full(one["value"]) if "value" in one and not one["sensitive"] else ""
    name = one["workspace-name"] or f"set {one[SET_NAME]}"
    return one["key"], name, one["category"], kinds, value


@command
@argument("key", "The present or former key of the variable.", shell_complete=offered("key"))
@option("--limit", "At most this many changes.", type=click.IntRange(min=1), default=30)
@json_option
@connected("organization", "workspace", "set")
def history(api: Api, key: str, limit: int) -> None:
    """Show who changed a variable, newest first. It may be deleted; no value is shown.

    -w 'prod-*' or -w eu,us means every workspace that matches.

    Example: teamvars vars history LOG_LEVEL
    """

    def events(own: Api, each: Owner) -> list[Resource]:
        told = islice(own.pages(each.path("audit-events", query={"filter[key]": key})), limit)
        return [{each.noun: each.name, **one["attributes"]} for one in told]

    found = [one for many in with_all(api, owners_for(api), events) for one in many]
    # Of one workspace they come in the right order, which their times alone would not tell.
    if is_for_several(api):
        found.sort(key=lambda event: str(event["created-at"]), reverse=True)
    rows = shown_in(api, map(_event_row, found[:limit]))
    show(found[:limit], rows, empty=f"There are no changes of a variable {key} there.")


def _event_row(event: Resource) -> Row:
    """Where, when, who by name or else by kind and id, what, and of an update what is another."""
    actor, details, token = event["actor"], event["details"], event["token-description"]
    changed = [*map(str, event["changed"])]
    if isinstance(was := details.get("from"), str):
        changed.append(f"was {was}")
    return (
        event.get("workspace", ""),
        event["created-at"][:19].replace("T", " "),
        event["actor-name"] or f"{actor['type']} {actor['id']}",
        event["action"].rpartition(".")[2],
        details.get("category", ""),
        ", ".join(changed),
        f"({token})" if token else "",
    )
