"""`vars copy`."""

from typing import Annotated, Any

import typer

from teamvars.cli.asking import confirm
from teamvars.cli.client import reading
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.errors import ApiError
from teamvars.cli.client.held import Held, category_of, held, place_of
from teamvars.cli.client.options import AsJson, CategoryWord, DryRun, Yes, offered, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.tables import NOTHING, SIGNS
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.failures import Failure
from teamvars.cli.output import aligned, note, print_json
from teamvars.domain.applies import OnConflict, Outcome
from teamvars.domain.names import escaped

_TAKEN = "key_taken"


@placed("organization", "workspace")
def copy(
    where: Where,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The workspace to copy from.",
            autocompletion=offered("workspace"),
        ),
    ],
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY…", help="These alone, instead of all.", autocompletion=offered("key")
        ),
    ] = None,
    category: CategoryWord = None,
    on_conflict: Annotated[
        OnConflict, typer.Option(help="What happens to a variable that is there already.")
    ] = OnConflict.REFUSE,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Copy variables from another workspace. Sensitive ones take an owner.

    Example: teamvars vars copy payments --on-conflict skip --yes
    """
    api = connect(where)
    target = place_of(reading.workspace(api))
    found = held(api, place_of(reading.workspace(api, source)))
    document = _document(found, keys or [], category, on_conflict)
    api.announce()
    path = at("workspaces", target.id, "actions", "copy")
    planned = _copied(api, path, document, dry_run=True)
    for line in aligned([_row(one) for one in planned]) if planned else [NOTHING]:
        note(line)
    if planned and not dry_run:
        confirm(f"Copy {len(planned)} from {found.name} to {target.name}?", yes=yes)
        planned = _copied(api, path, document, dry_run=False)
        note(f"{target.name}: {len(planned)} copied.")
    if as_json:
        print_json(planned)
    if planned and dry_run:
        raise typer.Exit(DIFFERENCES)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    return SIGNS[Outcome(result["outcome"])], escaped(result["key"]), result["category"]


def _document(
    source: Held, keys: list[str], category: str | None, on_conflict: OnConflict
) -> dict[str, Any]:
    of = category_of(category)
    named = [source.one(key, of) for key in dict.fromkeys(keys)]
    if not keys and of is not None:
        named = [one for one in source.variables if one.category is of]
    attributes: dict[str, Any] = {"on-conflict": on_conflict.value}
    if keys or of is not None:
        names = [{"key": one.key, "category": source.word(one.category)} for one in named]
        attributes["keys"] = names
    related = {"source": {"data": {"type": "workspaces", "id": source.id}}}
    return {"type": "copies", "attributes": attributes, "relationships": related}


def _copied(api: Api, path: str, data: dict[str, Any], *, dry_run: bool) -> list[dict[str, Any]]:
    """What became, or would become, of each variable that is another then."""
    try:
        answer = api.post(path, {"data": data, "meta": {"dry-run": dry_run}})
    except ApiError as error:
        if not any(fault.code == _TAKEN for fault in error.faults):
            raise
        text = f"{error}\nWith --on-conflict skip these stay as they are, with replace they do not."
        raise Failure(text, error.code) from None
    results: list[dict[str, Any]] = answer.document["meta"]["results"]
    return [one for one in results if one["outcome"] != Outcome.UNCHANGED]
