"""`vars list`, `vars get`."""

from typing import Annotated, Any

import msgspec
import typer

from teamvars.cli.client.api import Api, connect
from teamvars.cli.client.held import Held, all_held, category_of, held, is_for_several
from teamvars.cli.client.options import AsJson, CategoryWord, Key, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.printing import say_text
from teamvars.cli.client.tables import SENSITIVE, in_full
from teamvars.cli.exits import INVALID, NOT_FOUND, USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import escaped
from teamvars.domain.variables import Category, Variable


@placed("organization", "workspace")
def list_(where: Where, category: CategoryWord = None, as_json: AsJson = False) -> None:
    """List the variables of a workspace.

    -w 'prod-*' or -w eu,us means each that matches.

    Example: teamvars vars list --workspace network
    """
    api = connect(where)
    founds, wanted = all_held(api), category_of(category)
    pairs = [
        (found, one)
        for found in founds
        for one in found.variables
        if wanted in (None, one.category)
    ]
    if as_json:
        print_json([_attributes(*pair) for pair in pairs])
    elif pairs:
        say_rows([_row(*pair)[0 if is_for_several(api) else 1 :] for pair in pairs])
    else:
        names = ", ".join(found.name for found in founds)
        note(f"{names} has no variables yet. Make one: teamvars vars set KEY=VALUE")


@placed("organization", "workspace")
def get(
    where: Where,
    key: Key,
    category: CategoryWord = None,
    plain: Annotated[bool, typer.Option("--plain", help="The value alone, byte for byte.")] = False,
    evaluated: Annotated[
        bool, typer.Option("--evaluated", help="What the value comes to, as JSON.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a variable.

    -w 'prod-*' or -w eu,us means each that matches and has it.

    Example: teamvars vars get LOG_LEVEL --plain
    """
    if plain + evaluated + as_json > 1:
        raise Failure("Give one of --plain, --evaluated and --json.", USAGE)
    api = connect(where)
    if is_for_several(api):
        if plain or evaluated:
            raise Failure("--plain and --evaluated show one value, of one workspace.", USAGE)
        _get_all(api, key, category_of(category), as_json=as_json)
        return
    found = held(api)
    variable = found.one(key, category_of(category))
    if plain:
        say_text(_value(variable))
    elif evaluated:
        # Only here: what evaluates code takes a while to load.
        say_text(named("teamvars.cli.client.evaluating:evaluated")(variable, _value(variable)))
    elif as_json:
        print_json(_attributes(found, variable))
    else:
        say_rows([(name, _told(value)) for name, value in _shown(found, variable)])


def _get_all(api: Api, key: str, category: Category | None, *, as_json: bool) -> None:
    """Shows the variable of each workspace; says which have none, and fails where none has."""
    founds = all_held(api)
    having = [found for found in founds if found.has(key, category)]
    for found in founds:
        if found not in having:
            note(f"{found.name} has no variable {escaped(key)}.")
    pairs = [(found, found.one(key, category)) for found in having]
    if as_json:
        print_json([_attributes(*pair) for pair in pairs])
    elif pairs:
        say_rows([_row(*pair) for pair in pairs])
    if not pairs:
        raise Failure(f"None of these has a variable {key}.", NOT_FOUND)


def _value(variable: Variable) -> str:
    if variable.value is None:
        text = f"{variable.key} is sensitive: nobody can read its value. Set another: "
        raise Failure(f"{text}teamvars vars set {variable.key} --sensitive", INVALID)
    return variable.value


def _attributes(found: Held, variable: Variable) -> dict[str, Any]:
    return {
        "workspace": found.name,
        "key": variable.key,
        "value": variable.value,
        "category": found.word(variable.category),
        "hcl": variable.hcl,
        "sensitive": variable.sensitive,
        "description": variable.description,
        "id": variable.id,
        "version-id": variable.version_id,
    }


def _row(found: Held, variable: Variable) -> tuple[str, ...]:
    """The workspace first."""
    hcl = "hcl" if variable.hcl else ""
    about = escaped(variable.description)
    word = found.word(variable.category)
    return found.name, escaped(variable.key), word, hcl, in_full(variable.value), about


def _shown(found: Held, variable: Variable) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in _attributes(found, variable).items() if value != ""]


def _told(value: Any) -> str:
    if value is None:
        return SENSITIVE
    return escaped(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
