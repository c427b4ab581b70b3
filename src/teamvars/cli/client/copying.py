"""`vars copy`."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from teamvars.cli.asking import confirm
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.applies import How, how_options
from teamvars.cli.client.changes import NOTHING, SIGNS
from teamvars.cli.client.contents import Contents, category_of, contents_of, workspace_of
from teamvars.cli.client.options import category_option, offered, placed
from teamvars.cli.exits import DIFFERENCES, Failure
from teamvars.cli.options import OneOf
from teamvars.cli.output import aligned, note, show
from teamvars.domain.applies import OnConflict, Outcome
from teamvars.domain.names import escaped

_TAKEN = "key_taken"


@click.command()
@click.argument(
    "source",
    metavar="SOURCE",
    help="The workspace to copy from.",
    shell_complete=offered("workspace"),
)
@click.argument(
    "keys",
    nargs=-1,
    metavar="[KEY…]",
    help="Only these, instead of all.",
    shell_complete=offered("key"),
)
@category_option
@click.option(
    "--on-conflict",
    type=OneOf(OnConflict),
    default=OnConflict.REFUSE.value,
    help="What happens to a variable that already exists.",
)
@how_options
@placed("organization", "workspace")
def copy(
    where: Where,
    source: str,
    keys: tuple[str, ...],
    category: str | None,
    on_conflict: OnConflict,
    how: How,
) -> None:
    """Copy variables from another workspace. Only owners can copy sensitive ones.

    Example: teamvars vars copy payments --on-conflict skip --yes
    """
    api = connect(where)
    target = workspace_of(api.workspace())
    found = contents_of(api, workspace_of(api.workspace(source)))
    document = _document(found, keys, category, on_conflict)
    api.announce()
    path = at("workspaces", target.id, "actions", "copy")
    planned = _copied(api, path, document, dry_run=True)
    for line in aligned([_row(one) for one in planned]) if planned else [NOTHING]:
        note(line)
    if planned and not how.dry_run:
        confirm(f"Copy {len(planned)} from {found.name} to {target.name}?", yes=how.yes)
        planned = _copied(api, path, document, dry_run=False)
        note(f"{target.name}: {len(planned)} copied.")
    show(planned, (), how.as_json)
    if planned and how.dry_run:
        sys.exit(DIFFERENCES)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    return SIGNS[Outcome(result["outcome"])], escaped(result["key"]), result["category"]


def _document(
    source: Contents, keys: Sequence[str], category: str | None, on_conflict: OnConflict
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
        text = (
            f"{error}\nWith --on-conflict skip these stay as they are, with replace they are "
            "overwritten."
        )
        raise Failure(text, error.code) from None
    results: list[dict[str, Any]] = answer.document["meta"]["results"]
    return [one for one in results if one["outcome"] != Outcome.UNCHANGED]
