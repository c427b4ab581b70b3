"""Tokens as rows: hashes, never the tokens. Operators see them with the names of their owners."""

from collections.abc import Collection, Iterable

from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.sign_ins import IDLE
from teamvars.domain.times import DAY, LATEST
from teamvars.domain.tokens import (
    UNUSED_AFTER,
    IssuedToken,
    Suspects,
    TeamTokenSearch,
    Token,
    TokenEnd,
    TokenLimit,
    TokenOrder,
    TokenOwner,
)
from teamvars.storage.access import reach_of
from teamvars.storage.database import Row, Statement, Transaction, each
from teamvars.storage.pages import Reading, after, containing, lasting, where
from teamvars.storage.tables import listed, reading

_COLUMNS = (
    "tokens.id, tokens.user_id, tokens.team_id, tokens.organization_id, tokens.created_at, "
    "tokens.expires_at, tokens.last_used_at, tokens.description, "
    "tokens.created_by, tokens.reach, tokens.provider, tokens.sid"
)
_COLUMN_COUNT = _COLUMNS.count(",") + 1
_SELECT = f"""
SELECT {_COLUMNS},
    users.username, users.disabled, organizations.name, teams.name
FROM tokens
LEFT JOIN users ON users.id = tokens.user_id
LEFT JOIN teams ON teams.id = tokens.team_id
LEFT JOIN organizations
    ON organizations.id = coalesce(tokens.organization_id, teams.organization_id)
"""
_ORDER = " ORDER BY tokens.created_at, tokens.id"
MOST_COUNTED = 10_000
"""Of tokens that never end: where there are more, nobody needs to know how many."""
_MEANT = {
    "id": "tokens.id = $1",
    "hash": "tokens.hash = $1",
    "user": "tokens.user_id = $1",
    "organization": "organizations.name_folded = $1",
    "session": "tokens.user_id = $1 AND tokens.id IN (SELECT token_id FROM sessions)",
    "sign-in": "tokens.user_id = $1 AND tokens.reach IS NOT NULL",
    "maker": "tokens.created_by = $1 AND tokens.user_id IS NULL",
}
# Bounded, with how many there are in all.
_COUNTED = _SELECT.replace("\nFROM tokens", ", count(*) OVER ()\nFROM tokens")


def _token(row: Row) -> Token:
    """The token of a row with the columns of `_COLUMNS`."""
    kinds = ("user", "team", "organization")
    owners = ((kind, id_) for kind, id_ in zip(kinds, row[1:4], strict=True) if id_)
    kind, owner_id = next(owners, ("nobody", ""))  # only where the row was altered by hand
    return Token(row[0], kind, owner_id, *(*row[4:9], reach_of(row[9]), *row[10:_COLUMN_COUNT]))


_TOKENS = Reading(_COLUMNS, "tokens", _token)
_TEAM_TOKENS = Reading(
    _COLUMNS,
    "tokens JOIN teams ON teams.id = tokens.team_id "
    "LEFT JOIN users ON users.id = tokens.created_by",
    _token,
)
_LIMITS = reading(TokenLimit)
_SHORTEN = {
    kind: f"""UPDATE tokens SET expires_at = created_at + $2
WHERE {whose} AND {lasting("expires_at", "created_at + $2")}"""
    for kind, whose in {
        "organization": "organization_id = $1",
        "team": "team_id IN (SELECT id FROM teams WHERE organization_id = $1)",
    }.items()
}
# $2: when it was used, $3: when a session's would end by that, $4: now.
_NOTE_USE = f"""UPDATE tokens SET last_used_at = $2, expires_at = coalesce((
    SELECT CASE WHEN {after("sessions.ends_at", "$3")} THEN $3 ELSE sessions.ends_at + 0 END
    FROM sessions WHERE sessions.token_id = tokens.id AND {after("tokens.expires_at", "$4")}
), tokens.expires_at)
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"""
# What is not there comes first, but an end, which then comes last.
_ORDERS = {
    TokenOrder.TEAM: "teams.name_folded",
    TokenOrder.MAKER: "coalesce(users.username_folded, '')",
    TokenOrder.END: f"coalesce(tokens.expires_at, {LATEST} + 1)",
    TokenOrder.USE: "coalesce(tokens.last_used_at, 0)",
}


# $3: now. A comparison with no end at all holds for none.
_IS_AHEAD = after("tokens.expires_at", "$3")
_ENDS = {
    TokenEnd.ACTIVE: f"tokens.expires_at IS NULL OR {_IS_AHEAD}",
    TokenEnd.WITHIN_7_DAYS: f"{_IS_AHEAD} AND tokens.expires_at - {7 * DAY} <= $3",
    TokenEnd.WITHIN_30_DAYS: f"{_IS_AHEAD} AND tokens.expires_at - {30 * DAY} <= $3",
    TokenEnd.EXPIRED: f"NOT {_IS_AHEAD}",
    TokenEnd.NEVER: "tokens.expires_at IS NULL",
}


async def of_owner(tx: Transaction, owner: TokenOwner) -> list[Token]:
    """All tokens of one owner, expired ones included, oldest first."""
    rest = f"WHERE {owner.kind}_id = $1 ORDER BY created_at, id"
    return await _TOKENS.every(tx, rest, owner.id)


async def page_of_owner(
    tx: Transaction, owner: TokenOwner, page: Page, reach: frozenset[str] | None
) -> Paged[Token]:
    """A page of the tokens of one owner, as `of_owner`: all, or those of one reach."""
    conditions, args = where((f"{owner.kind}_id = $n", owner.id), ("reach = $n", listed(reach)))
    return await _TOKENS.paged(tx, f"WHERE {conditions}", "created_at, id", args, page)


async def page_of_teams(
    tx: Transaction, organization_id: str, wanted: TeamTokenSearch, page: Page, now: int
) -> Paged[Token]:
    """A page of the tokens of an organization's teams."""
    rest = "WHERE teams.organization_id = $1 AND teams.name_folded LIKE $2 ESCAPE '!'"
    args: list[object] = [organization_id, containing(wanted.part)]
    if wanted.ends:
        rest += f" AND ({' OR '.join(_ENDS[end] for end in sorted(set(wanted.ends)))})"
        args += [now] if set(wanted.ends) != {TokenEnd.NEVER} else []
    keys = () if wanted.order is None else (_ORDERS[wanted.order],)
    direction = "DESC" if wanted.is_reversed else "ASC"
    order = ", ".join(f"{key} {direction}" for key in (*keys, "tokens.created_at", "tokens.id"))
    return await _TEAM_TOKENS.paged(tx, rest, order, args, page)


async def find_of_teams(
    tx: Transaction, organization_id: str, token_ids: Collection[str]
) -> list[Token]:
    """Those of the tokens that an organization's teams have, oldest first."""
    rest = "WHERE teams.organization_id = $1 AND tokens.id IN {each $2}" + _ORDER
    return await _TEAM_TOKENS.every(tx, rest, organization_id, each(token_ids))


async def of_sign_in(
    tx: Transaction, provider: str, sid: str | None, user_id: str | None
) -> list[Token]:
    """The tokens for which somebody has signed in there: those of the session that the provider
    calls `sid`, and those of the user of which nobody knows whose they are; without a `sid`, all of
    the user. Oldest first.
    """
    return await _TOKENS.every(
        tx,
        "WHERE provider = $1 AND sid = $2 OR user_id = $3 AND provider = $1 "
        "AND ($2 IS NULL OR sid IS NULL) ORDER BY created_at, id",
        provider,
        sid,
        user_id,
    )


async def made_by(tx: Transaction, organization_id: str, user_id: str) -> list[Token]:
    """The tokens of an organization and of its teams that somebody made, oldest first."""
    of_teams = "SELECT id FROM teams WHERE teams.organization_id = $1"
    rest = (
        f"WHERE created_by = $2 AND (organization_id = $1 OR team_id IN ({of_teams})) "
        "ORDER BY created_at, id"
    )
    return await _TOKENS.every(tx, rest, organization_id, user_id)


async def count_live(tx: Transaction, owner: TokenOwner, now: int) -> int:
    """How many tokens of one owner can be used, without those of sessions."""
    return await tx.count(
        f"SELECT count(*) FROM tokens WHERE {owner.kind}_id = $1 "
        f"AND {lasting('expires_at', '$2')} "
        "AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.token_id = tokens.id)",
        owner.id,
        now,
    )


async def count_endless(tx: Transaction) -> int:
    """How many tokens never end; `MOST_COUNTED` are that many or more."""
    return await tx.count(
        "SELECT count(*) FROM "
        f"(SELECT 1 FROM tokens WHERE expires_at IS NULL LIMIT {MOST_COUNTED}) AS endless"
    )


async def get(tx: Transaction, token_id: str) -> Token:
    """One token. Refuses: not found."""
    return await _TOKENS.get(tx, "WHERE id = $1", token_id)


async def limits_of(tx: Transaction, organization_id: str) -> list[TokenLimit]:
    """The limits that an organization has set, by kind."""
    return await _LIMITS.every(tx, "WHERE organization_id = $1 ORDER BY kind", organization_id)


def shortening(organization_id: str, kind: str, lifetime: int) -> Statement:
    """The statement by which tokens of that kind live no longer than so many µs."""
    return Statement(_SHORTEN[kind], (organization_id, lifetime), is_long=True)


async def note_uses(tx: Transaction, uses: Iterable[tuple[str, int]], now: int) -> None:
    """Stores when tokens were last used, by id and in µs UTC, in this order.

    A session's token ends later for it, unless it has ended by now: no session comes back.
    """
    rows = [(token_id, used, used + IDLE, now) for token_id, used in uses]
    await tx.execute_many(_NOTE_USE, rows)


async def every(tx: Transaction) -> list[IssuedToken]:
    """All tokens that were not revoked, expired ones included, oldest first."""
    return await _find(tx, "")


async def meant(tx: Transaction, by: str, value: str | bytes) -> list[IssuedToken]:
    """The tokens that are found `by` a key of `_MEANT`, oldest first."""
    folded = fold(value) if isinstance(value, str) and by == "organization" else value
    return await _find(tx, f"WHERE {_MEANT[by]}", folded)


async def unending(tx: Transaction, now: int, limit: int) -> Suspects:
    """Live tokens that never expire."""
    return await _suspects(tx, "tokens.expires_at IS NULL", limit, now)


async def unattached(tx: Transaction, now: int, limit: int) -> Suspects:
    """Live tokens of users who are in no organization; a site admin needs none."""
    nowhere = "NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id)"
    return await _suspects(tx, f"users.site_admin = 0 AND {nowhere}", limit, now)


async def unused(tx: Transaction, now: int, limit: int) -> Suspects:
    """Live tokens that nobody has used for long, since they were made or at all."""
    used = "coalesce(tokens.last_used_at, tokens.created_at) <= $2"
    return await _suspects(tx, used, limit, now, now - UNUSED_AFTER)


async def _suspects(tx: Transaction, condition: str, limit: int, *args: int) -> Suspects:
    """The oldest of them, and how many there are; none that is refused anyhow."""
    rows = await tx.fetch(
        f"{_COUNTED} WHERE {lasting('tokens.expires_at', '$1')} "
        f"AND coalesce(users.disabled, 0) = 0 AND {condition} {_ORDER} LIMIT ${len(args) + 1}",
        *args,
        limit,
    )
    return Suspects([_issued(row) for row in rows], rows[0][_COLUMN_COUNT + 4] if rows else 0)


async def _find(tx: Transaction, where: str, *args: object) -> list[IssuedToken]:
    return [_issued(row) for row in await tx.fetch(_SELECT + where + _ORDER, *args)]


def _issued(row: Row) -> IssuedToken:
    token = _token(row)
    username, disabled, organization, team = row[_COLUMN_COUNT : _COLUMN_COUNT + 4]
    its_team = team and f"{organization}/{team}"
    names = {"user": username, "team": its_team, "organization": organization}
    return IssuedToken(token, names.get(token.owner_kind) or token.owner_id, bool(disabled))
