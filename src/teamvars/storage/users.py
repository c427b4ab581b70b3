"""Users as rows."""

from collections.abc import Iterable

from msgspec.structs import replace

from teamvars.domain.audit import Actor
from teamvars.domain.errors import Code, Fault, Refusal, there_is_no
from teamvars.domain.names import fold
from teamvars.domain.notices import AND_BEFORE
from teamvars.domain.users import User
from teamvars.storage.database import Row, Statement, Transaction, each
from teamvars.storage.organizations import SEEN_BY
from teamvars.storage.pages import Reading

COLUMNS = (
    "users.id, users.username, users.email, users.site_admin, users.placeholder, users.disabled"
)

# Older releases do not unset the flag of whom they give a token, or make active. What somebody has
# made with such a token may be there longer than the token.
NEVER_KNOWN = (
    "(users.placeholder = 1 "
    "AND NOT EXISTS (SELECT 1 FROM tokens AS own WHERE own.user_id = users.id) "
    "AND NOT EXISTS (SELECT 1 FROM tokens AS made WHERE made.created_by = users.id) "
    "AND NOT EXISTS (SELECT 1 FROM memberships AS known "
    "WHERE known.user_id = users.id AND known.status = 'active'))"
)
# Of what waits for somebody under an id there is one message, lest whoever keeps changing something
# fills the queue and the mailboxes.
_TELL_OWNERS = f"""
INSERT INTO memos (id, address, subject, text, page, due_at)
SELECT $2 || ' ' || users.id, users.email, CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT),
    CAST($6 AS BIGINT)
FROM users WHERE users.disabled = 0 AND users.id IN (
    SELECT memberships.user_id FROM teams
    JOIN team_members ON team_members.team_id = teams.id
    JOIN memberships ON memberships.id = team_members.membership_id
    WHERE teams.organization_id = $1 AND teams.is_owners = 1 AND memberships.status = 'active'
) AND users.email <> ''
ON CONFLICT (id) DO UPDATE SET address = excluded.address, subject = excluded.subject,
    text = excluded.text || ' {AND_BEFORE}', page = excluded.page, due_at = excluded.due_at,
    attempts = 0
"""


def to_user(row: Row) -> User:
    """The user of a row with `COLUMNS`."""
    return User(row[0], row[1], row[2], bool(row[3]), bool(row[4]), bool(row[5]))


_USERS = Reading(COLUMNS, "users", to_user)


async def find_all(tx: Transaction, usernames: Iterable[str]) -> dict[str, User]:
    """The users with these names, by folded name; absent ones are left out."""
    return await _USERS.called(tx, "username", usernames)


async def find_all_by_email(tx: Transaction, emails: Iterable[str]) -> dict[str, User]:
    """The users with these addresses, by folded address; absent ones are left out."""
    return await _USERS.called(tx, "email", emails)


async def find(tx: Transaction, user_id: str) -> User | None:
    """A user by id."""
    return await _USERS.one(tx, "WHERE id = $1", user_id)


async def lock_all(tx: Transaction, user_ids: Iterable[str]) -> dict[str, User]:
    """Users by id, their rows locked for the rest of the transaction."""
    found = await _USERS.every(tx, "WHERE id IN {each $1} ORDER BY id {lock users}", each(user_ids))
    return {user.id: user for user in found}


async def find_beside(tx: Transaction, actor: Actor, user_id: str) -> User | None:
    """A user by id, if it is the actor or is in, or invited to, an organization the actor is in.

    Whoever is invited to all of those has the address of the first invitation, and no name yet.
    """
    inside = f"SELECT visible.id FROM ({SEEN_BY[actor.kind]}) AS visible"
    row = await tx.fetch_one(
        f"SELECT {COLUMNS}, seen.invited_as FROM users "
        "LEFT JOIN memberships AS seen ON seen.user_id = users.id "
        f"AND seen.organization_id IN ({inside}) "
        "WHERE users.id = $2 AND (users.id = $3 OR seen.id IS NOT NULL) "
        "ORDER BY CASE WHEN seen.invited_as IS NULL THEN 0 ELSE 1 END, seen.id LIMIT 1",
        actor.token_id,
        user_id,
        actor.id,
    )
    if row is None:
        return None
    *its, invited_as = row
    user = to_user(its)
    return user if invited_as is None else replace(user, username="", email=invited_as)


async def find_one(tx: Transaction, who: str) -> User:
    """The user an operator means: by id, or by name or e-mail address.

    Refuses: not found, a name that is one user's and the address of another.
    """
    rest = "WHERE id = $1 OR username_folded = $2 OR email_folded = $2 ORDER BY id"
    found = await _USERS.every(tx, rest, who, fold(who))
    if not found:
        raise there_is_no(f"user {who}")
    found = [user for user in found if user.id == who] or found
    if len(found) > 1:
        ids = " or ".join(user.id for user in found)
        detail = f"{who} is the name of one user and the address of another: say {ids}."
        raise Refusal(Fault(Code.INVALID_VALUE, detail))
    return found[0]


async def every(tx: Transaction) -> list[User]:
    """All users, by name."""
    return await _USERS.every(tx, "ORDER BY username_folded")


async def owner_streams(tx: Transaction, user_id: str) -> set[str]:
    """The streams in which a user can be made an owner, or another owner removed.

    They are those of the organizations the user is in or invited to, and of their owners teams.
    """
    rows = await tx.fetch(
        "SELECT teams.organization_id, teams.id FROM memberships "
        "JOIN teams ON teams.organization_id = memberships.organization_id "
        "AND teams.is_owners = 1 WHERE memberships.user_id = $1",
        user_id,
    )
    return {stream_id for row in rows for stream_id in row}


def telling_owners(
    organization_id: str, memo_id: str, said: tuple[str, str, str], at: int
) -> Statement:
    """The statement by which a memo waits for each active owner with an address, with a subject, a
    text and the path of a page. Its id begins so; it takes the place of another with that id.
    """
    return Statement(_TELL_OWNERS, (organization_id, memo_id, *said, at))


async def owned_alone(tx: Transaction, user_id: str) -> list[str]:
    """The names of the organizations that have no active owner but that user."""
    return await tx.column(
        "SELECT organizations.name FROM memberships AS mine "
        "JOIN team_members ON team_members.membership_id = mine.id "
        "JOIN teams ON teams.id = team_members.team_id AND teams.is_owners = 1 "
        "JOIN organizations ON organizations.id = teams.organization_id "
        "WHERE mine.user_id = $1 AND mine.status = 'active' AND NOT EXISTS ("
        "SELECT 1 FROM team_members AS beside "
        "JOIN memberships ON memberships.id = beside.membership_id "
        "JOIN users ON users.id = memberships.user_id WHERE beside.team_id = teams.id "
        "AND memberships.status = 'active' AND users.disabled = 0 AND users.id <> $1"
        ") ORDER BY organizations.name_folded",
        user_id,
    )


async def unclaimed(tx: Transaction, before: int, limit: int) -> list[str]:
    """The ids of placeholders made before then who are invited nowhere any more.

    Disabled users stay: as a new user, the next invitation would let them in.
    """
    return await tx.column(
        f"SELECT users.id FROM users WHERE {NEVER_KNOWN} AND users.disabled = 0 "
        "AND users.created_at < $1 "
        "AND NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = users.id) "
        "ORDER BY users.created_at LIMIT $2",
        before,
        limit,
    )
