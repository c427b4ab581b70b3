"""Organizations, their data keys and their memberships as rows."""

import json
from collections.abc import Iterable, Sequence

import msgspec

from teamvars.domain.access import WrappedKey
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Refusal, not_found
from teamvars.domain.names import fold, name_taken
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page
from teamvars.domain.teams import Status
from teamvars.storage.database import Taken, Transaction
from teamvars.storage.patterns import containing

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
    """A membership as the directory sees it.

    `invited_as` is the address that an invitation gave, until it is accepted. `user_disabled` is
    known where it was read, and counts where owners do.
    """

    id: str
    user_id: str
    username: str
    status: Status
    invited_as: str | None = None
    user_disabled: bool = False


async def find_all(tx: Transaction, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The ids and names of the organizations with these names, by folded name."""
    rows = await tx.fetch(
        "SELECT name_folded, id, name FROM organizations WHERE name_folded IN {each $1}",
        json.dumps([fold(name) for name in names]),
    )
    return {row[0]: (row[1], row[2]) for row in rows}


async def every(tx: Transaction) -> dict[str, tuple[str, str]]:
    """As `find_all`, of all organizations."""
    rows = await tx.fetch("SELECT name_folded, id, name FROM organizations")
    return {row[0]: (row[1], row[2]) for row in rows}


async def name_of(tx: Transaction, organization_id: str) -> str:
    """The name of an organization. Refuses: not found."""
    row = await tx.fetch_one("SELECT name FROM organizations WHERE id = $1", organization_id)
    if row is None:
        raise not_found()
    name: str = row[0]
    return name


async def get(tx: Transaction, organization_id: str) -> Organization:
    """An organization by id. Refuses: not found."""
    row = await tx.fetch_one(
        "SELECT id, name, email, created_at FROM organizations WHERE id = $1", organization_id
    )
    if row is None:
        raise not_found()
    return Organization(*row)


async def find_visible(
    tx: Transaction, actor: Actor, searches: Sequence[str], page: Page
) -> tuple[list[tuple[Organization, bool]], int]:
    """A page of the organizations the actor is in, by name, and how many there are in all.

    With each goes whether the actor may do everything in it. The names contain each of the texts.
    """
    args = actor.id, *map(containing, searches)
    alike = [f"name_folded LIKE ${n} ESCAPE '!'" for n in range(2, len(args) + 1)]
    where = f"WHERE {' AND '.join(alike)}" if alike else ""
    found = f"FROM ({_SEEN_BY[actor.kind]}) AS visible {where}"
    rows = await tx.fetch(
        f"SELECT id, name, email, created_at, is_owner {found} "
        f"ORDER BY name_folded LIMIT ${len(args) + 1} OFFSET ${len(args) + 2}",
        *args,
        page.size,
        (page.number - 1) * page.size,
    )
    count = await tx.fetch_one(f"SELECT count(*) {found}", *args)
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


async def update(tx: Transaction, organization: Organization) -> None:
    """Stores an organization's name and e-mail address as they are now. Refuses: name_taken."""
    try:
        await tx.execute(
            "UPDATE organizations SET name = $2, name_folded = $3, email = $4 WHERE id = $1",
            organization.id,
            organization.name,
            fold(organization.name),
            organization.email,
        )
    except Taken:
        raise Refusal(name_taken("an organization")) from None


async def delete(tx: Transaction, organization_id: str) -> None:
    """Removes an organization with all that is its own; users are not."""
    await tx.execute("DELETE FROM organizations WHERE id = $1", organization_id)


async def memberships_of(
    tx: Transaction, organization_ids: Iterable[str]
) -> list[tuple[str, MembershipRow]]:
    """The memberships of organizations by id, each after the id of its organization."""
    rows = await tx.fetch(
        "SELECT memberships.organization_id, memberships.id, users.id, users.username, "
        "memberships.status, memberships.invited_as, users.disabled "
        "FROM memberships JOIN users ON users.id = memberships.user_id "
        "WHERE memberships.organization_id IN {each $1} ORDER BY memberships.id",
        json.dumps(sorted(organization_ids)),
    )
    return [
        (row[0], MembershipRow(row[1], row[2], row[3], Status(row[4]), row[5], bool(row[6])))
        for row in rows
    ]


async def insert_memberships(
    tx: Transaction, memberships: Iterable[tuple[str, MembershipRow]], now: int
) -> None:
    """Adds users to organizations, whose ids come first."""
    await tx.execute_many(
        "INSERT INTO memberships (id, organization_id, user_id, status, invited_as, "
        "invited_as_folded, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        [
            (
                row.id,
                organization_id,
                row.user_id,
                row.status,
                row.invited_as,
                None if row.invited_as is None else fold(row.invited_as),
                now,
            )
            for organization_id, row in memberships
        ],
    )


async def set_statuses(tx: Transaction, memberships: Iterable[MembershipRow]) -> None:
    """Changes whether invitations count as accepted; from then on their users are known."""
    await tx.execute_many(
        "UPDATE memberships SET status = $2, invited_as = NULL, invited_as_folded = NULL "
        "WHERE id = $1",
        [(row.id, row.status) for row in memberships],
    )


async def delete_memberships(tx: Transaction, membership_ids: Sequence[str]) -> None:
    """Removes users from organizations, and so from all their teams."""
    await tx.execute("DELETE FROM memberships WHERE id IN {each $1}", json.dumps(membership_ids))
