"""`vars history`."""

from itertools import islice
from typing import Annotated, Any

import typer

from teamvars.cli.client import reading
from teamvars.cli.client.api import at, connect
from teamvars.cli.client.options import AsJson, placed
from teamvars.cli.client.place import Where
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import escaped


@placed("organization", "workspace")
def history(
    where: Where,
    key: Annotated[str, typer.Argument(help="The variable, as it is or was called.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many changes.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show who changed a variable, newest first. It may be gone; no value is shown.

    Example: teamvars vars history LOG_LEVEL
    """
    api = connect(where)
    query = {"filter[key]": key}
    path = at("workspaces", reading.workspace(api)["id"], "audit-events", query=query)
    events = [one["attributes"] for one in islice(api.pages(path), limit)]
    if as_json:
        print_json(events)
    elif events:
        say_rows([_row(event) for event in events])
    else:
        note(f"Nothing has happened to a variable {key} there.")


def _row(event: dict[str, Any]) -> tuple[str, ...]:
    """When, who, what, and of an update what is another."""
    when = event["created-at"][:19].replace("T", " ")
    what = event["action"].rpartition(".")[2]
    category = event["details"].get("category", "")
    token = event["token-description"]
    through = f"({escaped(token)})" if token else ""
    return when, _who(event), what, category, _changed(event), through


def _who(event: dict[str, Any]) -> str:
    """The actor's name; where none is told, their kind and id."""
    name = event["actor-name"]
    return escaped(name or f"{event['actor']['type']} {event['actor']['id']}")


def _changed(event: dict[str, Any]) -> str:
    words = [str(name) for name in event["changed"]]
    if isinstance(was := event["details"].get("from"), str):
        words.append(f"was {was}")
    return escaped(", ".join(words))
