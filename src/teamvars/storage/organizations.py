"""Organizations, their data keys and their memberships as rows."""

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.audit import Actor, Page
from teamvars.domain.errors import Refusal, not_found
from teamvars.domain.names import fold, name_taken
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Status
from teamvars.storage.database import Taken, Transaction

# $1: the caller. Each row says whether the caller may do everything in that organization.
_SEEN_BY = {
    "user": """
        SELECT organizations.*, CASE WHEN EXISTS (
            SELECT 1 FROM team_members JOIN teams ON teams.id = team_members.team_id
            WHERE team_members.membership_id = memberships.id AND teams.is_owners = 1
        ) THEN 1 ELSE 0 END AS is_owner
        FROM memberships JOIN organizations ON organizations.id = memberships.organization_id
        WHERE memberships.user_id = $1 AND memberships.status = 'active'
    """,
    "team": """
        SELECT organizations.*, teams.is_owners AS is_owner
        FROM teams JOIN organizations ON organizations.id = teams.organization_id
        WHERE teams.id = $1
    """,
    "organization": "SELECT organizations.*, 1 AS is_owner FROM organizations WHERE id = $1",
}


class MembershipRow(msgspec.Struct, frozen=True):
    """A membership as the directory sees it."""

    id: str
    user_id: str
    username: str
    status: Status


async def find(tx: Transaction, name: str) -> tuple[str, str] | None:
    """The id and name of the organization with that name, however it is capitalised."""
    row = await tx.fetch_one(
        "SELECT id, name FROM organizations WHERE name_folded = $1", fold(name)
    )
    return None if row is None else (row[0], row[1])


async def name_of(tx: Transaction, organization_id: str) -> str:
    """The name of an organization. Refuses: not found."""
    row = await tx.fetch_one("SELECT name FROM organizations WHERE id = $1", organization_id)
    if row is None:
        raise not_found()
    name: str = row[0]
    return name


async def find_visible(
    tx: Transaction, actor: Actor, page: Page
) -> tuple[list[tuple[Organization, bool]], int]:
    """A page of the organizations the actor is in, by name, and how many there are in all.

    With each goes whether the actor may do everything in it.
    """
    visible = _SEEN_BY[actor.kind]
    rows = await tx.fetch(
        f"SELECT id, name, email, created_at, is_owner FROM ({visible}) AS visible "
        "ORDER BY name_folded LIMIT $2 OFFSET $3",
        actor.id,
        page.size,
        (page.number - 1) * page.size,
    )
    count = await tx.fetch_one(f"SELECT count(*) FROM ({visible}) AS visible", actor.id)
    assert count is not None
    return [(Organization(*row[:4]), bool(row[4])) for row in rows], count[0]


async def insert(tx: Transaction, organization: Organization, key: WrappedKey) -> None:
    """Adds an organization and its first data key. Refuses: name_taken."""
    try:
        await tx.execute(
            "INSERT INTO organizations (id, name, name_folded, email, data_key_version, "
            "created_at) VALUES ($1, $2, $3, $4, $5, $6)",
            organization.id,
            organization.name,
            fold(organization.name),
            organization.email,
            key.version,
            organization.created_at,
        )
    except Taken:
        raise Refusal(name_taken("an organization")) from None
    await tx.execute(
        "INSERT INTO data_keys (organization_id, version, master_key_id, wrapped, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        organization.id,
        key.version,
        key.master_key_id,
        key.wrapped,
        organization.created_at,
    )


async def delete(tx: Transaction, organization_id: str) -> None:
    """Removes an organization with all that is its own; users are not."""
    await tx.execute("DELETE FROM organizations WHERE id = $1", organization_id)


async def memberships_of(tx: Transaction, organization_id: str) -> list[MembershipRow]:
    """An organization's memberships by id."""
    rows = await tx.fetch(
        "SELECT memberships.id, users.id, users.username, memberships.status FROM memberships "
        "JOIN users ON users.id = memberships.user_id "
        "WHERE memberships.organization_id = $1 ORDER BY memberships.id",
        organization_id,
    )
    return [MembershipRow(row[0], row[1], row[2], Status(row[3])) for row in rows]


async def insert_membership(
    tx: Transaction, organization_id: str, membership: MembershipRow, now: int
) -> None:
    """Adds a user to an organization."""
    await tx.execute(
        "INSERT INTO memberships (id, organization_id, user_id, status, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        membership.id,
        organization_id,
        membership.user_id,
        membership.status,
        now,
    )


async def set_status(tx: Transaction, membership_id: str, status: Status) -> None:
    """Changes whether the invitation counts as accepted."""
    await tx.execute("UPDATE memberships SET status = $2 WHERE id = $1", membership_id, status)


async def delete_membership(tx: Transaction, membership_id: str) -> None:
    """Removes a user from an organization, and so from all its teams."""
    await tx.execute("DELETE FROM memberships WHERE id = $1", membership_id)
