"""`login tokens`: one's own tokens, made and revoked over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from teamvars.cli import asking
from teamvars.cli.client import reading
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.errors import ApiError
from teamvars.cli.client.options import AsJson, Yes, placed
from teamvars.cli.client.place import Where
from teamvars.cli.durations import lifetime
from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note, print_json, say, say_rows
from teamvars.domain.tokens import DAY

_TYPE = "authentication-tokens"
_MADE = "already_made"


@placed()
def list_(where: Where, as_json: AsJson = False) -> None:
    """List your tokens.

    Example: teamvars login tokens list
    """
    api = connect(where)
    rows = [_row(one) for one in api.pages(_path(api))]
    if as_json:
        print_json(rows)
        return
    if not rows:
        note("You have no tokens.")
    say_rows(
        [
            (
                row["id"],
                row["description"] or "-",
                f"expires {row['expires'] or 'never'}",
                f"last used {row['last-used'] or 'never'}",
            )
            for row in rows
        ]
    )


@placed()
def create(
    where: Where,
    description: Annotated[
        str, typer.Option(help="What it is for; shown beside each change made with it.")
    ] = "",
    expires: Annotated[
        str | None, typer.Option(help="Lifetime: 90d, 12h, 30m or 45s. 90d unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token of yours and show it, once.

    Example: teamvars login tokens create --description laptop --expires 30d
    """
    lives = lifetime(expires, 90 * DAY)
    if lives is None:
        raise Failure("A service ends every token that is made with another.", USAGE)
    attributes = {"description": description or None, "expired-at": _end(lives)}
    api = connect(where)
    api.announce("Your tokens")
    try:
        made = _made(api, attributes)
    except ApiError as error:
        if expires is not None or not _outlives(error):
            raise _unseen(error) from None
        made = _made(api, {**attributes, "expired-at": None})  # when the one in use does
    token = made["attributes"]["token"]
    if as_json:
        print_json({"id": made["id"], "token": token})
        return
    say(token)
    ends = made["attributes"]["expired-at"] or "never"
    note(f"Token {made['id']}, expires {ends}. It is shown only this once.")


@placed()
def revoke(
    where: Where,
    token_ids: Annotated[list[str], typer.Argument(metavar="ID…", help="From the list.")],
    yes: Yes = False,
) -> None:
    """End tokens of yours at once.

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


def _outlives(error: ApiError) -> bool:
    """Whether it was refused for its end alone: the token in use ends sooner."""
    return [fault.pointer for fault in error.faults] == ["/data/attributes/expired-at"]


def _unseen(error: ApiError) -> Failure:
    """A token that was made without an answer was shown to nobody, and cannot be shown again."""
    made = next((fault.meta.get("id") for fault in error.faults if fault.code == _MADE), None)
    if made is None:
        return error
    return Failure(
        "The token was made, and its text is lost with the answer. "
        f"Run: teamvars login tokens revoke {made}, then make another.",
        error.code,
    )


def _path(api: Api) -> str:
    return at("users", reading.account(api)["id"], _TYPE)


def _row(token: dict[str, Any]) -> dict[str, Any]:
    attributes = token["attributes"]
    return {
        "id": token["id"],
        "description": attributes["description"],
        "created": attributes["created-at"],
        "expires": attributes["expired-at"],
        "last-used": attributes["last-used-at"],
    }


def _end(after: int) -> str:
    try:
        end = datetime.now(UTC) + timedelta(microseconds=after)
    except OverflowError:
        raise Failure("--expires is later than any calendar goes.", USAGE) from None
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")
