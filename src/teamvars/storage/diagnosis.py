"""Questions about the whole store, for `doctor`.

Whether the rows are there that streams count is one grouped statement for each kind of row, to be
asked on one snapshot. All losses are counted, and the first of them described.
"""

from collections.abc import Callable

from teamvars.domain.audit import ACCEPT, SYSTEM_STREAM
from teamvars.domain.diagnosis import Census, Losses, entries_loss, usage_loss
from teamvars.domain.workspaces import Usage
from teamvars.storage.database import Transaction

# Of no value are there more bytes, and all of them together are a number on either engine.
_BYTES = f"CASE WHEN value_bytes <= {2**40} THEN value_bytes ELSE {2**40} END"
# None of these joins what it compares: of two large sets SQLite takes the product of their rows,
# and so does PostgreSQL, whose planner is told that all statements look up keys. What is there
# without a stream is no loss.
_USAGES = f"""
SELECT count(*) OVER (), id, CAST(max(variables) AS BIGINT), CAST(max(value_bytes) AS BIGINT),
    coalesce(max(held), 0), coalesce(max(held_bytes), 0)
FROM (
    SELECT id, variables, value_bytes, CAST(NULL AS BIGINT) AS held,
        CAST(NULL AS BIGINT) AS held_bytes
    FROM streams
    UNION ALL SELECT workspace_id, NULL, NULL, count(*), CAST(sum({_BYTES}) AS BIGINT)
    FROM variables GROUP BY workspace_id
    UNION ALL SELECT set_id, NULL, NULL, count(*), CAST(sum({_BYTES}) AS BIGINT)
    FROM set_variables GROUP BY set_id
) AS found
GROUP BY id
HAVING max(variables) <> coalesce(max(held), 0) OR max(value_bytes) <> coalesce(max(held_bytes), 0)
ORDER BY id LIMIT $1
"""
# What was missing when an operator accepted a stream is no loss: from there on it is counted.
_ENTRIES = f"""
SELECT count(*) OVER (), id, CAST(max(said) AS BIGINT), coalesce(max(entries), 0),
    CAST(coalesce(max(newest), 0) AS BIGINT)
FROM (
    SELECT id, sequence AS said, CAST(NULL AS BIGINT) AS entries, CAST(NULL AS BIGINT) AS newest
    FROM streams
    UNION ALL
    SELECT audit_entries.stream_id, NULL,
        CAST(max(coalesce(accepted.sequence, 1)) AS BIGINT) - 1 + count(*),
        max(audit_entries.sequence)
    FROM audit_entries
    LEFT JOIN (
        SELECT stream_id, max(sequence) AS sequence FROM audit_entries
        WHERE action = '{ACCEPT}' AND subject_id = stream_id GROUP BY stream_id
    ) AS accepted ON accepted.stream_id = audit_entries.stream_id
    WHERE audit_entries.sequence >= coalesce(accepted.sequence, 1)
    GROUP BY audit_entries.stream_id
) AS found
GROUP BY id
HAVING max(said) <> coalesce(max(entries), 0) OR max(said) <> coalesce(max(newest), 0)
ORDER BY id LIMIT $1
"""
_STREAMS = f"""
SELECT count(*) OVER (), id
FROM (
    SELECT id, 1 AS streams FROM streams
    UNION ALL SELECT '{SYSTEM_STREAM}', -1
    UNION ALL SELECT id, -1 FROM organizations
    UNION ALL SELECT id, -1 FROM teams
    UNION ALL SELECT id, -1 FROM workspaces
    UNION ALL SELECT id, -1 FROM variable_sets
    UNION ALL SELECT id, -1 FROM runners
) AS found
GROUP BY id HAVING sum(streams) <> 0
ORDER BY id LIMIT $1
"""
# No constraint says it of both: a column that was added refers to one other alone.
_PLACES = """
SELECT count(*) OVER (), lost.id, lost.place FROM (
    SELECT workspaces.id, workspaces.project_id AS place
    FROM workspaces
    LEFT JOIN projects ON projects.id = workspaces.project_id
        AND projects.organization_id = workspaces.organization_id
    WHERE workspaces.project_id IS NOT NULL AND projects.id IS NULL
    UNION ALL
    SELECT runners.id, runners.organization_id
    FROM runners LEFT JOIN organizations ON organizations.id = runners.organization_id
    WHERE organizations.id IS NULL
) AS lost
ORDER BY lost.id LIMIT $1
"""


# Those of organizations with runners: without one no job is handed anything.
_SECRET_SETS = """
SELECT organizations.name, variable_sets.name
FROM variable_sets JOIN organizations ON organizations.id = variable_sets.scope
WHERE EXISTS (
    SELECT 1 FROM set_variables
    WHERE set_variables.set_id = variable_sets.id AND set_variables.sensitive = 1
) AND EXISTS (SELECT 1 FROM runners WHERE runners.organization_id = organizations.id)
ORDER BY 1, 2
"""


async def census(tx: Transaction) -> Census:
    """Teams as ORG/TEAM, sets as ORG/SET and organizations by name, in order."""
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
        making_teams=await _teams(
            tx, "(teams.manage_teams = 1 OR teams.manage_organization_access = 1)"
        ),
        token_teams=await _teams(tx, "teams.members_manage_token = 1 AND teams.is_owners = 0"),
        secret_sets=tuple([f"{owner}/{name}" for owner, name in await tx.fetch(_SECRET_SETS)]),
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


async def newest_callers(tx: Transaction, most: int) -> dict[str, int]:
    """The addresses of the newest changes over HTTP, each with how many callers came from it."""
    rows = await tx.fetch(
        "SELECT address, count(*) FROM ("
        "SELECT DISTINCT address, actor_kind, actor_id FROM ("
        "SELECT address, actor_kind, actor_id FROM audit_entries WHERE address IS NOT NULL "
        f"ORDER BY at DESC LIMIT {most}) AS newest) AS callers GROUP BY address"
    )
    return dict(map(tuple, rows))


async def lost_usages(tx: Transaction, most: int) -> Losses:
    """Workspaces that do not hold as many variables, or bytes of values, as their streams say."""

    def described(id_: str, *numbers: int) -> str:
        return usage_loss(id_, Usage(*numbers[:2]), Usage(*numbers[2:]))

    return await _losses(tx, _USAGES, most, described)


async def lost_entries(tx: Transaction, most: int) -> Losses:
    """Streams that have fewer or other audit entries than their number says."""
    return await _losses(tx, _ENTRIES, most, entries_loss)


async def lost_streams(tx: Transaction, most: int) -> Losses:
    """Streams whose subject is gone, and subjects whose stream is."""
    return await _losses(tx, _STREAMS, most, str)


async def lost_places(tx: Transaction, most: int) -> Losses:
    """Workspaces that are in a project of another organization, and runners that are in none."""
    return await _losses(tx, _PLACES, most, lambda *ids: " in ".join(map(str, ids)))


async def _losses(tx: Transaction, sql: str, most: int, described: Callable[..., str]) -> Losses:
    rows = await tx.fetch(sql, most)
    return Losses([described(*row[1:]) for row in rows], rows[0][0] if rows else 0)
