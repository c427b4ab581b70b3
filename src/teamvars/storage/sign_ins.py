"""Identities and sessions as rows."""

from collections.abc import Iterable, Sequence

from teamvars.domain.audit import NO_ORGANIZATION, SYSTEM_STREAM, Stream
from teamvars.domain.organizations import Organization
from teamvars.domain.sign_ins import Identity, OpenSession, Session, Standing
from teamvars.domain.users import User
from teamvars.storage import organizations, users
from teamvars.storage.database import Lookup, Row, Transaction
from teamvars.storage.pages import after, lasting
from teamvars.storage.streams import PLACE, also_held, to_stream
from teamvars.storage.tables import reading

_IDENTITIES, _SESSIONS = reading(Identity), reading(Session)


# $3: the names of organizations, $4: now.
def _arriving(is_held: str, lock: str) -> Lookup:
    single = f"""
SELECT {users.COLUMNS}, (
        SELECT string_agg(organizations.id, ' ') FROM organizations
        WHERE organizations.name_folded IN {{each $3}}
    ) AS reach, (
        SELECT count(*) FROM memberships
        JOIN organizations ON organizations.id = memberships.organization_id
        LEFT JOIN invitations ON invitations.membership_id = memberships.id
        WHERE memberships.user_id = users.id AND organizations.name_folded IN {{each $3}}
            AND (memberships.status = 'active' OR memberships.status = 'invited'
                AND {lasting("invitations.expires_at", "$4")})
    ) AS places, (
        SELECT count(*) FROM tokens JOIN sessions ON sessions.token_id = tokens.id
        WHERE tokens.user_id = users.id AND tokens.expires_at > $4
    ) AS open_sessions, {PLACE}{is_held}
FROM identities
JOIN users ON users.id = identities.user_id
JOIN streams ON streams.id = '{SYSTEM_STREAM}'{lock}
WHERE identities.issuer = $1 AND identities.subject = $2
"""
    types = {"issuer": "TEXT", "subject": "TEXT", "names": "TEXT", "now": "BIGINT"}
    return Lookup.joining(single, "identities", **types)


ARRIVING = also_held(_arriving)
# Asked by whoever has no token, and so for all of them at once.
_OPEN = Lookup.of(
    f"""
SELECT tokens.id, sessions.provider
FROM sessions
JOIN tokens ON tokens.id = sessions.token_id
JOIN users ON users.id = tokens.user_id
WHERE sessions.cookie_hash = $1 AND {after("tokens.expires_at", "$2")} AND users.disabled = 0
""",
    "BYTEA",
    "BIGINT",
)
_SWEPT_AT_ONCE = 500
# CROSS JOIN has SQLite begin with the sessions, and not look for one of each token.
_ENDED = (
    "SELECT tokens.id FROM sessions CROSS JOIN tokens "
    "WHERE tokens.id = sessions.token_id AND tokens.expires_at <= $1"
)


def arriving(rows: Sequence[Row]) -> tuple[User, frozenset[str], bool, int, Stream] | None:
    """Of a row of `ARRIVING`: who is linked, those organizations by id, whether the user is in one
    of them or may accept an invitation to one, how many sessions are open, and the system's stream.
    """
    if not rows:
        return None
    *user, reach, places, sessions = rows[0][:-5]
    stream = to_stream((SYSTEM_STREAM, NO_ORGANIZATION, *rows[0][-5:]))
    return users.to_user(user), frozenset((reach or "").split()), places > 0, sessions, stream


async def find_identity(tx: Transaction, issuer: str, subject: str) -> Identity | None:
    """Whom a provider means by that name."""
    return await _IDENTITIES.one(tx, "WHERE issuer = $1 AND subject = $2", issuer, subject)


async def identities_of(tx: Transaction, user_id: str) -> list[Identity]:
    """By what names providers mean a user, oldest first."""
    return await _IDENTITIES.every(tx, "WHERE user_id = $1 ORDER BY created_at, id", user_id)


async def organizations_called(tx: Transaction, names: Iterable[str]) -> list[Organization]:
    """Those organizations of these names that there are."""
    return list((await organizations.find_all(tx, names)).values())


async def standing(tx: Transaction, user_id: str, now: int) -> Standing:
    """What a user is now."""
    rows = await tx.fetch(
        "SELECT memberships.organization_id, memberships.status, "
        f"{lasting('invitations.expires_at', '$2')}, EXISTS ("
        "SELECT 1 FROM team_members JOIN teams ON teams.id = team_members.team_id "
        "WHERE team_members.membership_id = memberships.id AND teams.is_owners = 1) "
        "FROM memberships LEFT JOIN invitations ON invitations.membership_id = memberships.id "
        "WHERE memberships.user_id = $1",
        user_id,
        now,
    )
    return Standing(
        frozenset(id_ for id_, status, *_ in rows if status == "active"),
        frozenset(id_ for id_, status, is_open, _ in rows if status == "invited" and is_open),
        any(owns for *_, owns in rows),
        bool(await identities_of(tx, user_id)),
    )


async def session_of(tx: Transaction, token_id: str) -> Session | None:
    """What a token has beside it that is a session's."""
    return await _SESSIONS.one(tx, "WHERE token_id = $1", token_id)


async def find_open(tx: Transaction, cookie_hash: bytes, now: int) -> OpenSession | None:
    """The session whose cookie a browser has, if its token is good."""
    row = await tx.look_up(_OPEN, cookie_hash, now)
    return None if row is None else OpenSession(*row)


async def forget_ended(tx: Transaction, now: int) -> None:
    """Removes some of the sessions that have ended, with their tokens."""
    # Said of the token itself as well: it may live longer since this began to wait for it.
    some = f"{_ENDED} LIMIT {_SWEPT_AT_ONCE}"
    await tx.execute(f"DELETE FROM tokens WHERE expires_at <= $1 AND id IN ({some})", now)


async def has_ended(tx: Transaction, now: int) -> bool:
    """Whether there are any."""
    return await tx.fetch_one(f"{_ENDED} LIMIT 1", now) is not None
