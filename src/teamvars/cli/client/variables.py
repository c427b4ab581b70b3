"""`vars list`, `vars get`."""

from typing import Annotated, Any

import msgspec
import typer

from teamvars.cli.client.api import connect
from teamvars.cli.client.held import Held, category_of, held
from teamvars.cli.client.options import AsJson, CategoryWord, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.printing import say_text
from teamvars.cli.client.tables import SENSITIVE, glance
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named
from teamvars.cli.output import INVALID, USAGE, note, print_json, say_rows
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable


@placed("organization", "workspace")
def list_(where: Where, category: CategoryWord = None, as_json: AsJson = False) -> None:
    """List the variables of a workspace.

    Example: teamvars vars list --workspace network
    """
    found = held(connect(where))
    wanted = category_of(category)
    variables = [one for one in found.variables if wanted in (None, one.category)]
    if as_json:
        print_json([_attributes(found, one) for one in variables])
    elif variables:
        say_rows([_row(found, one) for one in variables])
    else:
        note(f"{found.name} has no variables yet. Make one: teamvars vars set KEY=VALUE")


@placed("organization", "workspace")
def get(
    where: Where,
    key: Annotated[str, typer.Argument(help="The variable.")],
    category: CategoryWord = None,
    plain: Annotated[bool, typer.Option("--plain", help="The value alone, byte for byte.")] = False,
    evaluated: Annotated[
        bool, typer.Option("--evaluated", help="What the value comes to, as JSON.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a variable.

    Example: teamvars vars get LOG_LEVEL --plain
    """
    if plain + evaluated + as_json > 1:
        raise Failure("Give one of --plain, --evaluated and --json.", USAGE)
    found = held(connect(where))
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


def _value(variable: Variable) -> str:
    if variable.value is None:
        text = f"{variable.key} is sensitive: nobody can read its value. Set another: "
        raise Failure(f"{text}teamvars vars set {variable.key} --sensitive", INVALID)
    return variable.value


def _attributes(found: Held, variable: Variable) -> dict[str, Any]:
    return {
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
    hcl = "hcl" if variable.hcl else ""
    about = escaped(variable.description)
    word = found.word(variable.category)
    return escaped(variable.key), word, hcl, glance(variable.value), about


def _shown(found: Held, variable: Variable) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in _attributes(found, variable).items() if value != ""]


def _told(value: Any) -> str:
    if value is None:
        return SENSITIVE
    return escaped(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
