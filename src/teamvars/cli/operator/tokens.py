"""`token create`, `list`, `revoke`."""

import re
from datetime import UTC, datetime
from typing import Annotated

import typer

from teamvars.cli.operator.context import USAGE, fail, note, print_json, run
from teamvars.services.tokens import OwnerName

app = typer.Typer(help="API tokens.", no_args_is_help=True)

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})([dhms])")


@app.command("create")
def create(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="A user's name.")] = None,
    team: Annotated[str | None, typer.Option(help="A team, as ORG/TEAM.")] = None,
    organization: Annotated[str | None, typer.Option(help="An organization's name.")] = None,
    expires: Annotated[str | None, typer.Option(help="Lifetime: 90d, 12h, 30m or 45s.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a token and show it, once."""
    owner = _owner(user, team, organization)
    lifetime = None if expires is None else _microseconds(expires)
    new = run(context, lambda services, caller: services.tokens.create(caller, owner, lifetime))
    if as_json:
        print_json({"id": new.token.id, "token": new.secret})
        return
    typer.echo(new.secret)
    note(f"Token {new.token.id}. It is shown only this once.")


@app.command("list")
def list_(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tokens that were not revoked."""
    tokens = run(context, lambda services, _: services.tokens.list())
    rows = [
        {
            "id": token.id,
            "owner": f"{token.owner_kind} {token.owner_id}",
            "created": _time(token.created_at),
            "expires": _time(token.expires_at),
            "last-used": _time(token.last_used_at),
        }
        for token in tokens
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        expires, used = row["expires"] or "never", row["last-used"] or "never"
        typer.echo(f"{row['id']}  {row['owner']}  expires {expires}  last used {used}")


@app.command("revoke")
def revoke(context: typer.Context, token_id: str) -> None:
    """End a token at once."""
    run(context, lambda services, caller: services.tokens.revoke(caller, token_id))
    note(f"Token {token_id} is revoked.")


def _owner(user: str | None, team: str | None, organization: str | None) -> OwnerName:
    if [user, team, organization].count(None) != 2:
        fail("Say exactly one of --user, --team and --organization.", USAGE)
    if team is None:
        return OwnerName(user=user, organization=organization)
    organization, slash, name = team.partition("/")
    if not (organization and slash and name):
        fail("--team is ORG/TEAM.", USAGE)
    return OwnerName(organization=organization, team=name)


def _microseconds(duration: str) -> int:
    found = _DURATION.fullmatch(duration)
    if found is None or int(found[1]) == 0:
        fail("--expires is a duration above zero such as 90d, 12h, 30m or 45s.", USAGE)
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000


def _time(at: int | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
