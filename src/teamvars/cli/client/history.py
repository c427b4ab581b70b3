"""`vars history`."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.held import Place, is_for_several, places
from teamvars.cli.client.options import AsJson, offered, placed
from teamvars.cli.client.place import Where
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import escaped


@placed("organization", "workspace")
def history(
    where: Where,
    key: Annotated[
        str,
        typer.Argument(help="The variable, as it is or was called.", autocompletion=offered("key")),
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many changes.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show who changed a variable, newest first. It may be gone; no value is shown.

    -w 'prod-*' or -w eu,us means each that matches.

    Example: teamvars vars history LOG_LEVEL
    """
    api = connect(where)
    found = [event for place in places(api) for event in islice(_events(api, place, key), limit)]
    # Of one workspace they come in the right order, which their times alone would not tell.
    events = sorted(found, key=_when, reverse=True) if is_for_several(api) else found
    if as_json:
        print_json(events[:limit])
    elif events:
        rows = [(event["workspace"], *_row(event)) for event in events[:limit]]
        say_rows([row[0 if is_for_several(api) else 1 :] for row in rows])
    else:
        note(f"Nothing has happened to a variable {key} there.")


def _events(api: Api, place: Place, key: str) -> Iterator[dict[str, Any]]:
    """The attributes of what happened to it in a workspace, and its name; newest first."""
    path = at("workspaces", place.id, "audit-events", query={"filter[key]": key})
    for one in api.pages(path):
        yield {"workspace": place.name, **one["attributes"]}


def _when(event: dict[str, Any]) -> str:
    return str(event["created-at"])


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
