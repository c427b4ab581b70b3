"""Organizations, their data keys and their memberships as rows."""

from dataclasses import dataclass

from teamvars.domain.access import WrappedKey
from teamvars.domain.names import fold
from teamvars.domain.teams import Status
from teamvars.storage.database import Transaction


@dataclass(frozen=True, slots=True)
class MembershipRow:
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


async def insert(
    tx: Transaction, organization_id: str, name: str, key: WrappedKey, now: int
) -> None:
    """Adds an organization and its first data key."""
    await tx.execute(
        "INSERT INTO organizations (id, name, name_folded, data_key_version, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        organization_id,
        name,
        fold(name),
        key.version,
        now,
    )
    await tx.execute(
        "INSERT INTO data_keys (organization_id, version, master_key_id, wrapped, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        organization_id,
        key.version,
        key.master_key_id,
        key.wrapped,
        now,
    )


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
