"""Users as rows."""

import json
from collections.abc import Iterable

import msgspec

from teamvars.domain.audit import Actor
from teamvars.domain.names import fold
from teamvars.storage.database import Transaction

# $1: the actor; the organizations they are in.
_INSIDE = {
    "user": "SELECT mine.organization_id FROM memberships AS mine "
    "WHERE mine.user_id = $1 AND mine.status = 'active'",
    "team": "SELECT teams.organization_id FROM teams WHERE teams.id = $1",
    "organization": "SELECT organizations.id FROM organizations WHERE organizations.id = $1",
}


class UserRow(msgspec.Struct, frozen=True):
    """A user as the directory sees it."""

    id: str
    username: str
    email: str | None
    site_admin: bool


async def find_all(tx: Transaction, usernames: Iterable[str]) -> dict[str, UserRow]:
    """The users with these names, by folded name; absent ones are left out."""
    rows = await tx.fetch(
        "SELECT username_folded, id, username, email, site_admin FROM users "
        "WHERE username_folded IN {each $1}",
        json.dumps([fold(name) for name in usernames]),
    )
    return {row[0]: UserRow(row[1], row[2], row[3], bool(row[4])) for row in rows}


async def find(tx: Transaction, user_id: str) -> UserRow | None:
    """A user by id."""
    row = await tx.fetch_one(
        "SELECT id, username, email, site_admin FROM users WHERE id = $1", user_id
    )
    return None if row is None else UserRow(row[0], row[1], row[2], bool(row[3]))


async def find_by_email(tx: Transaction, email: str) -> UserRow | None:
    """A user by e-mail address, however it is capitalised."""
    row = await tx.fetch_one(
        "SELECT id, username, email, site_admin FROM users WHERE email_folded = $1", fold(email)
    )
    return None if row is None else UserRow(row[0], row[1], row[2], bool(row[3]))


async def find_beside(tx: Transaction, actor: Actor, user_id: str) -> UserRow | None:
    """A user by id, if it is the actor or is in, or invited to, an organization the actor is in."""
    row = await tx.fetch_one(
        "SELECT id, username, email, site_admin FROM users "
        "WHERE id = $2 AND (id = $1 OR EXISTS (SELECT 1 FROM memberships "
        f"WHERE memberships.user_id = users.id AND organization_id IN ({_INSIDE[actor.kind]})))",
        actor.id,
        user_id,
    )
    return None if row is None else UserRow(row[0], row[1], row[2], bool(row[3]))


async def insert(tx: Transaction, user: UserRow, now: int) -> None:
    """Adds a user. Raises Taken when the name or address is another's."""
    await tx.execute(
        "INSERT INTO users (id, username, username_folded, email, email_folded, site_admin, "
        "created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        user.id,
        user.username,
        fold(user.username),
        user.email,
        None if user.email is None else fold(user.email),
        int(user.site_admin),
        now,
    )


async def update(tx: Transaction, user: UserRow) -> None:
    """Stores a user as they are now. Raises Taken when the address is another's."""
    await tx.execute(
        "UPDATE users SET email = $2, email_folded = $3, site_admin = $4 WHERE id = $1",
        user.id,
        user.email,
        None if user.email is None else fold(user.email),
        int(user.site_admin),
    )
