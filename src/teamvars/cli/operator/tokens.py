"""`token create`, `list`, `revoke`."""

import sys
from collections.abc import Iterator, Sequence

from teamvars import wiring
from teamvars.cli import asking
from teamvars.cli.exits import ERROR, Misuse
from teamvars.cli.operator.context import run, run_dated
from teamvars.cli.operator.host import both_names
from teamvars.cli.options import argument, command, flag, json_option, lifetime, option
from teamvars.cli.output import Fields, Row, note, show, show_token
from teamvars.domain.access import Caller
from teamvars.domain.times import DAY, in_24_months, moment
from teamvars.domain.tokens import EXPIRY_RULE, IssuedToken, OwnerName, can_expire

USER_TOKEN_LIFETIME = 90 * DAY
"""Of a user's token when the command does not say; in µs."""
_MOST_OF_STDIN = 4096


@command
@option("--user", "A user: a name, e-mail address or id.")
@option("--team", "A team, as ORG/TEAM.")
@option("--organization", "An organization's name.")
@option(
    "--expires",
    "Lifetime: 90d, 12h, 30m, 45s or never. By default 90d for a user, else 24 months.",
)
@json_option
def create(
    user: str | None, team: str | None, organization: str | None, expires: str | None
) -> None:
    """Make a token and show it, once."""
    owner = _owner(user, team, organization)
    now = wiring.clock()
    otherwise = USER_TOKEN_LIFETIME if owner.user is not None else in_24_months(now) - now
    lives = None if expires == "never" else lifetime(expires, otherwise)
    if lives is not None and not can_expire(now + lives, now):
        raise Misuse(f"A token expires {EXPIRY_RULE}.")
    is_said = expires is not None
    new = run(
        lambda services, caller: services.tokens.create(caller, owner, lives, is_said=is_said)
    )
    show_token(new.token.id, new.secret, told(new.token.expires_at), "teamvars token revoke")


@command
@json_option
def list_() -> None:
    """List the tokens that are not revoked."""
    issued, now = run_dated(lambda services, _: services.issued_tokens.list())
    show(fields_of(issued, now), cells_of(issued, now), empty="There are no tokens.")
    touched = [(one.token.id, faulty) for one in issued if (faulty := one.token.faulty())]
    for token_id, faulty in touched:
        note(f"teamvars: the row of token {token_id} was touched: {', '.join(faulty)}")
    if touched:
        sys.exit(ERROR)


@command
@argument("token_id", "The id of a token.", required=False)
@option("--user", "All of this user: a name, e-mail address or id.")
@option("--all-of", "Those of this organization and of its teams.")
@flag("--leaked", "The one whose text is on standard input.")
@json_option
def revoke(token_id: str | None, user: str | None, all_of: str | None, leaked: bool) -> None:
    """Revoke tokens at once, and say which they were."""
    if [token_id, user, all_of, leaked or None].count(None) != 3:
        raise Misuse("Give exactly one of a token's ID, --user, --all-of and --leaked.")
    secret = asking.secret("The token: ", _MOST_OF_STDIN).strip() if leaked else ""
    if leaked and not secret:
        raise Misuse("There is no token on standard input.")

    async def work(services: wiring.Services, caller: Caller) -> Sequence[IssuedToken]:
        issued = services.issued_tokens
        if user is not None:
            return await issued.revoke_of_user(caller, user)
        if all_of is not None:
            return await issued.revoke_of_organization(caller, all_of)
        if leaked:
            return [await issued.revoke_leaked(caller, secret)]
        return [await issued.revoke(caller, token_id or "")]

    revoked, now = run_dated(work)
    show(fields_of(revoked, now), cells_of(revoked, now), said=f"Revoked: {len(revoked)}.")


def _owner(user: str | None, team: str | None, organization: str | None) -> OwnerName:
    if [user, team, organization].count(None) != 2:
        raise Misuse("Give exactly one of --user, --team and --organization.")
    if team is None:
        return OwnerName(user=user, organization=organization)
    organization, name = both_names(team, "--team is ORG/TEAM.")
    return OwnerName(organization=organization, team=name)


def fields_of(issued: Sequence[IssuedToken], now: int) -> Iterator[Fields]:
    """For programs: `owner` is its kind and id, `name` what the owner is called."""
    return (
        {
            "id": one.token.id,
            "owner": f"{one.token.owner_kind} {one.token.owner_id}",
            "name": one.owner,
            "description": one.token.description,
            "created": _time(one.token.created_at),
            "created-by": one.token.created_by,
            "expires": _time(one.token.expires_at),
            "last-used": _time(one.token.last_used_at),
            "marks": one.marks(now),
        }
        for one in issued
    )


def cells_of(issued: Sequence[IssuedToken], now: int) -> Iterator[Row]:
    """A row for each, for people."""
    return (
        (
            one.token.id,
            one.title,
            f"expires {told(one.token.expires_at)}",
            f"last used {told(one.token.last_used_at)}",
            ", ".join(one.marks(now)),
            one.token.description,
        )
        for one in issued
    )


def told(at: int | None) -> str:
    """A time in words."""
    return "never" if at is None else _time(at) or "at no time"


def _time(at: int | None) -> str | None:
    """As JSON has it: null for never, and for what is no time (the row is named on stderr)."""
    found = None if at is None else moment(at)
    return None if found is None else f"{found.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
