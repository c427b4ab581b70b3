"""`vars search`."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import typer

from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.options import AsJson, CategoryWord, placed
from teamvars.cli.client.place import WORKSPACE_FLAG, Where
from teamvars.cli.client.tables import in_full
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import escaped

_PAGE = "100"


@placed("organization", "workspace")
def search(
    where: Where,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="A key, or the beginning of keys: DB_*.")
    ] = None,
    category: CategoryWord = None,
    sensitive: Annotated[
        bool | None, typer.Option("--sensitive/--readable", help="Sensitive ones alone, or not.")
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="Show values as well.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 500,
    as_json: AsJson = False,
) -> None:
    """Find variables in all workspaces you may read. None is found by its value.

    Example: teamvars vars search 'LOG_*'
    """
    api = connect(where)
    filters = {"filter[key]": key, "filter[category]": category}
    if sensitive is not None:
        filters["filter[sensitive]"] = str(sensitive).lower()
    workspace = api.target.workspace
    if workspace is not None and workspace.origin == WORKSPACE_FLAG:
        filters["filter[workspace]"] = workspace.value
    fields = f"key,category,hcl,sensitive,workspace-name{',value' if values else ''}"
    query = {name: text for name, text in filters.items() if text is not None}
    found = list(islice(_found(api, {**query, "fields[vars]": fields}), limit + 1))
    if as_json:
        print_json(found[:limit])
    elif found:
        say_rows([_row(one) for one in found[:limit]])
    else:
        note("Nothing like that is in a workspace you may read.")
    if len(found) > limit:
        note(f"There is more than {limit} (--limit).")


def _found(api: Api, query: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The attributes of what is found, page by page; a page may be empty before the last."""
    cursor: str | None = None
    while True:
        after = {} if cursor is None else {"page[after]": cursor}
        path = at(
            "organizations",
            api.target.organization_name,
            "vars",
            query={**query, "page[size]": _PAGE, **after},
        )
        document = api.get(path).document
        for one in document["data"]:
            yield {**one["attributes"], "id": one["id"]}
        following = document["links"]["next"]
        if following is None:
            return
        # Of the link the cursor alone is taken: no answer leads to another path.
        cursor = parse_qs(urlsplit(following).query)["page[after]"][0]


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    kinds = [name for name in ("hcl", "sensitive") if one[name]]
    value = in_full(one["value"]) if "value" in one and not one["sensitive"] else ""
    return escaped(one["key"]), one["workspace-name"], one["category"], " ".join(kinds), value
