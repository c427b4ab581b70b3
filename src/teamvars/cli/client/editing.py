"""`vars edit`: a value in the person's own editor."""

from typing import Annotated, Any

import typer
from msgspec.structs import replace

from teamvars.cli.asking import confirm, is_terminal
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.applies import Work, send
from teamvars.cli.client.errors import ApiError
from teamvars.cli.client.held import Held, category_of, held
from teamvars.cli.client.options import CategoryWord, Key, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.scratch import Scratch
from teamvars.cli.client.wanted import Change, Wanted
from teamvars.cli.output import note
from teamvars.domain.applies import Outcome
from teamvars.domain.variables import Category, Variable


@placed("organization", "workspace")
def edit(
    where: Where,
    key: Key,
    category: CategoryWord = None,
    allow_disk: Annotated[
        bool, typer.Option("--allow-disk", help="Where there is no memory file system, use a disk.")
    ] = False,
) -> None:
    """Edit a value in your own editor: $VISUAL, else $EDITOR.

    The file is yours alone, in memory, and gone afterwards. That of a sensitive one begins empty:
    nobody can read it.

    Example: EDITOR=true teamvars vars edit LOG_LEVEL
    """
    api = connect(where)
    found = held(api)
    variable = found.one(key, category_of(category))
    api.announce()
    is_code = variable.hcl and variable.category is Category.TOOL
    with Scratch("value.hcl" if is_code else "value.txt", allow_disk=allow_disk) as scratch:
        text = variable.value or ""
        while (edited := scratch.edit(text)) != text:
            text = edited
            problem = _refusal(api, found, variable, text)
            if problem is None:
                note(f"{key}: updated.")
                return
            if not is_terminal():
                raise problem
            note(str(problem))
            confirm("Edit it again, and save over what is there now?", yes=False)
            variable = _now(api, variable)
    note(f"{key}: nothing was changed.")


def _refusal(api: Api, found: Held, variable: Variable, text: str) -> ApiError | None:
    """Saves the text; returns why it is refused, if it is."""
    wanted = Wanted(variable.key, variable.category, text)
    change = Change(Outcome.UPDATED, variable.key, variable.category, variable, wanted, ("value",))
    try:
        send(api, Work(found, [change], versioned=True))
    except ApiError as error:
        return error
    return None


def _now(api: Api, variable: Variable) -> Variable:
    """The variable with the version it has now: the person has seen that there may be another."""
    path = at("workspaces", variable.workspace_id, "vars", variable.id)
    found: dict[str, Any] = api.get(path).document["data"]["attributes"]
    return replace(variable, sensitive=found["sensitive"], version_id=found["version-id"])
