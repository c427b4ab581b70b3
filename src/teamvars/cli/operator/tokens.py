"""`token create`, `list`, `revoke`."""

import re
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.context import ERROR, USAGE, fail, note, print_json, run, say
from teamvars.domain.times import moment
from teamvars.domain.tokens import EXPIRY_RULE, can_expire
from teamvars.services.tokens import OwnerName

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})([dhms])")


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
    now = wiring.clock()
    if lifetime is not None and not can_expire(now + lifetime, now):
        fail(f"A token expires {EXPIRY_RULE}.", USAGE)
    new = run(context, lambda services, caller: services.tokens.create(caller, owner, lifetime))
    if as_json:
        print_json({"id": new.token.id, "token": new.secret})
        return
    say(new.secret)
    note(f"Token {new.token.id}. It is shown only this once.")


def list_(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tokens that were not revoked."""
    tokens = run(context, lambda services, _: services.tokens.list())
    touched = [(token.id, faulty) for token in tokens if (faulty := token.faulty())]
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
    else:
        for token in tokens:
            expires, used = _told(token.expires_at), _told(token.last_used_at)
            owner = f"{token.owner_kind} {token.owner_id}"
            say(f"{token.id}  {owner}  expires {expires}  last used {used}")
    for token_id, faulty in touched:
        note(f"teamvars: the row of token {token_id} was touched: {', '.join(faulty)}")
    if touched:
        raise typer.Exit(ERROR)


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
    """As JSON has it: null for never, and for what is no time (the row is named on stderr)."""
    found = None if at is None else moment(at)
    return None if found is None else f"{found.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def _told(at: int | None) -> str:
    return "never" if at is None else _time(at) or "at no time"
