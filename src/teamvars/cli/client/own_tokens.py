"""`login tokens`: one's own tokens, made and revoked over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click

from teamvars.cli import asking
from teamvars.cli.client.api import Api, at, connect, told
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.options import placed, yes_option
from teamvars.cli.exits import USAGE, Failure
from teamvars.cli.options import json_option, lifetime
from teamvars.cli.output import note, show, show_token
from teamvars.domain.tokens import DAY

_TYPE = "authentication-tokens"
_MADE = "already_made"
_SHOWN = {
    "id": "id",
    "description": "description",
    "created": "created-at",
    "expires": "expired-at",
    "last-used": "last-used-at",
}


@click.command()
@json_option
@placed()
def list_(where: Where, as_json: bool) -> None:
    """List your tokens.

    Example: teamvars login tokens list
    """
    api = connect(where)
    rows = [told(one, _SHOWN) for one in api.pages(_path(api))]
    show(rows, map(_cells, rows), as_json, said=None if rows else "You have no tokens.")


@click.command()
@click.option(
    "--description",
    default="",
    show_default=False,
    help="What it is for; shown beside each change made with it.",
)
@click.option("--expires", help="Lifetime: 90d, 12h, 30m or 45s. 90d unless given.")
@json_option
@placed()
def create(where: Where, description: str, expires: str | None, as_json: bool) -> None:
    """Make a token for yourself and show it once.

    Example: teamvars login tokens create --description laptop --expires 30d
    """
    lives = lifetime(expires, 90 * DAY)
    if lives is None:
        raise Failure("Every token that is made with another must expire.", USAGE)
    attributes = {"description": description or None, "expired-at": _end(lives)}
    api = connect(where)
    api.announce("Your tokens")
    try:
        made = _made(api, attributes)
    except ApiError as error:
        # Refused for its end alone: the token in use ends sooner.
        outlives = [fault.pointer for fault in error.faults] == ["/data/attributes/expired-at"]
        if expires is not None or not outlives:
            raise _unseen(error) from None
        made = _made(api, {**attributes, "expired-at": None})  # when the one in use does
    attributes = made["attributes"]
    show_token(made["id"], attributes["token"], attributes["expired-at"] or "never", as_json)


@click.command()
@click.argument("token_ids", nargs=-1, required=True, metavar="ID…", help="From the list.")
@yes_option
@placed()
def revoke(where: Where, token_ids: tuple[str, ...], yes: bool) -> None:
    """Revoke your tokens at once.

    Example: teamvars login tokens revoke at-2TeBwD7yRZ4pQ1nC --yes
    """
    api = connect(where)
    api.announce("Your tokens")
    asking.confirm(f"Revoke {', '.join(token_ids)}?", yes=yes)
    for token_id in token_ids:
        api.delete(at(_TYPE, token_id))
        note(f"Revoked: {token_id}.")


def _made(api: Api, attributes: dict[str, str | None]) -> Any:
    return api.post(_path(api), {"data": {"type": _TYPE, "attributes": attributes}}).document[
        "data"
    ]


def _unseen(error: ApiError) -> Failure:
    """A token that was made without an answer was shown to nobody, and cannot be shown again."""
    made = next((fault.meta.get("id") for fault in error.faults if fault.code == _MADE), None)
    if made is None:
        return error
    return Failure(
        "The token was made, but its text was lost with the answer. "
        f"Run: teamvars login tokens revoke {made}, then make another.",
        error.code,
    )


def _path(api: Api) -> str:
    return at("users", api.account()["id"], _TYPE)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["id"],
        row["description"] or "-",
        f"expires {row['expires'] or 'never'}",
        f"last used {row['last-used'] or 'never'}",
    )


def _end(after: int) -> str:
    try:
        end = datetime.now(UTC) + timedelta(microseconds=after)
    except OverflowError:
        raise Failure("--expires is too late for any calendar.", USAGE) from None
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")
