"""Questions about the whole directory, for `doctor`."""

from teamvars.domain.diagnosis import Census
from teamvars.storage.database import Transaction


async def census(tx: Transaction) -> Census:
    """Teams as ORG/TEAM and organizations by name, in order."""
    owners = await tx.fetch(
        "SELECT organizations.name, count(users.id) FROM organizations "
        "JOIN teams ON teams.organization_id = organizations.id AND teams.is_owners = 1 "
        "LEFT JOIN team_members ON team_members.team_id = teams.id "
        "LEFT JOIN memberships ON memberships.id = team_members.membership_id "
        "AND memberships.status = 'active' "
        "LEFT JOIN users ON users.id = memberships.user_id AND users.disabled = 0 "
        "GROUP BY organizations.name HAVING count(users.id) < 2 ORDER BY 1"
    )
    return Census(
        managing_teams=await _teams(tx, "teams.manage_membership = 1"),
        token_teams=await _teams(tx, "teams.members_manage_token = 1 AND teams.is_owners = 0"),
        single_owner=tuple(name for name, active in owners if active == 1),
        without_owner=tuple(name for name, active in owners if active == 0),
    )


async def _teams(tx: Transaction, condition: str) -> tuple[str, ...]:
    rows = await tx.fetch(
        "SELECT organizations.name, teams.name FROM teams "
        "JOIN organizations ON organizations.id = teams.organization_id "
        f"WHERE {condition} ORDER BY 1, 2"
    )
    return tuple(f"{organization}/{team}" for organization, team in rows)


async def newest_entry_at(tx: Transaction) -> int:
    """When the newest audit entry says it was made, in µs UTC; 0 when there is none."""
    # On SQLite somebody may have put there what is no number: that is larger than any.
    row = await tx.fetch_one(
        f"SELECT CAST(max(at) AS BIGINT) FROM audit_entries WHERE at <= {2**63 - 1}"
    )
    return (row and row[0]) or 0


async def newest_callers(tx: Transaction, most: int) -> dict[str, int]:
    """The addresses of the newest changes over HTTP, each with how many callers came from it."""
    try:
        rows = await tx.fetch(
            "SELECT address, count(*) FROM ("
            "SELECT DISTINCT address, actor_kind, actor_id FROM ("
            "SELECT address, actor_kind, actor_id FROM audit_entries WHERE address IS NOT NULL "
            f"ORDER BY at DESC LIMIT {most}) AS newest) AS callers GROUP BY address"
        )
    except UnicodeDecodeError:  # on SQLite, where somebody has touched the trail
        return {}
    return dict(map(tuple, rows))
