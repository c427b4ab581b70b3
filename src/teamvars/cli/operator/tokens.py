"""`token create`, `list`, `revoke`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli import asking
from teamvars.cli.durations import lifetime
from teamvars.cli.exits import ERROR, USAGE
from teamvars.cli.operator.context import run
from teamvars.cli.operator.token_rows import as_json as rows_of
from teamvars.cli.operator.token_rows import say_tokens, told
from teamvars.cli.output import fail, note, print_json, say
from teamvars.domain.access import Caller
from teamvars.domain.tokens import DAY, EXPIRY_RULE, LIFETIME, IssuedToken, can_expire
from teamvars.services.tokens import OwnerName

USER_TOKEN_LIFETIME = 90 * DAY
"""Of a user's token when the command does not say; in µs."""
_MOST_OF_STDIN = 4096


def create(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="A user's name.")] = None,
    team: Annotated[str | None, typer.Option(help="A team, as ORG/TEAM.")] = None,
    organization: Annotated[str | None, typer.Option(help="An organization's name.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            help="Lifetime: 90d, 12h, 30m, 45s or never. 90d of a user's token, else 730d."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a token and show it, once."""
    owner = _owner(user, team, organization)
    lives = lifetime(expires, USER_TOKEN_LIFETIME if owner.user is not None else LIFETIME)
    now = wiring.clock()
    if lives is not None and not can_expire(now + lives, now):
        fail(f"A token expires {EXPIRY_RULE}.", USAGE)
    new = run(context, lambda services, caller: services.tokens.create(caller, owner, lives))
    if as_json:
        print_json({"id": new.token.id, "token": new.secret})
        return
    say(new.secret)
    ends = told(new.token.expires_at)
    note(f"Token {new.token.id}, expires {ends}. It is shown only this once.")


def list_(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tokens that were not revoked."""
    issued = run(context, lambda services, _: services.issued_tokens.list())
    if as_json:
        print_json(rows_of(issued))
    else:
        say_tokens(issued)
    touched = [(one.token.id, faulty) for one in issued if (faulty := one.token.faulty())]
    for token_id, faulty in touched:
        note(f"teamvars: the row of token {token_id} was touched: {', '.join(faulty)}")
    if touched:
        raise typer.Exit(ERROR)


def revoke(
    context: typer.Context,
    token_id: Annotated[str | None, typer.Argument(help="The id of a token.")] = None,
    user: Annotated[
        str | None, typer.Option(help="All of this user: a name, e-mail address or id.")
    ] = None,
    all_of: Annotated[
        str | None, typer.Option(help="That of this organization and those of its teams.")
    ] = None,
    leaked: Annotated[
        bool, typer.Option("--leaked", help="The one whose text is on standard input.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """End tokens at once, and say which they were."""
    if [token_id, user, all_of, leaked or None].count(None) != 3:
        fail("Say exactly one of a token's ID, --user, --all-of and --leaked.", USAGE)
    secret = asking.secret("The token: ", _MOST_OF_STDIN).strip() if leaked else ""

    async def work(services: wiring.Services, caller: Caller) -> Sequence[IssuedToken]:
        issued = services.issued_tokens
        if user is not None:
            return await issued.revoke_of_user(caller, user)
        if all_of is not None:
            return await issued.revoke_of_organization(caller, all_of)
        if leaked:
            return [await issued.revoke_leaked(caller, secret)]
        return [await issued.revoke(caller, token_id or "")]

    revoked = run(context, work)
    if as_json:
        print_json(rows_of(revoked))
    else:
        say_tokens(revoked)
        note(f"Revoked: {len(revoked)}.")


def _owner(user: str | None, team: str | None, organization: str | None) -> OwnerName:
    if [user, team, organization].count(None) != 2:
        fail("Say exactly one of --user, --team and --organization.", USAGE)
    if team is None:
        return OwnerName(user=user, organization=organization)
    organization, slash, name = team.partition("/")
    if not (organization and slash and name):
        fail("--team is ORG/TEAM.", USAGE)
    return OwnerName(organization=organization, team=name)
