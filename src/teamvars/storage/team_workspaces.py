"""Teams' accesses to workspaces as rows."""

import json
from collections.abc import Collection

from teamvars.domain.errors import Refusal
from teamvars.domain.pages import Page
from teamvars.domain.team_workspaces import AccessType, TeamWorkspace, VariableLevel, taken
from teamvars.storage.database import Row, Taken, Transaction

_COLUMNS = "grants.id, grants.team_id, grants.workspace_id, grants.access, grants.level"


async def find(tx: Transaction, id_: str) -> TeamWorkspace | None:
    """An access by id."""
    row = await tx.fetch_one(f"SELECT {_COLUMNS} FROM grants WHERE id = $1", id_)
    return None if row is None else _team_workspace(row)


async def of_workspace(
    tx: Transaction, workspace_id: str, team_ids: Collection[str] | None, page: Page
) -> tuple[list[TeamWorkspace], int]:
    """A page of the accesses to a workspace, by id, and how many there are in all.

    Those of secret teams only if they are among `team_ids`; without those everything is seen.
    """
    where = "grants.workspace_id = $1"
    args: list[object] = [workspace_id]
    if team_ids is not None:
        args.append(json.dumps(sorted(team_ids)))
        where += " AND (teams.visibility = 'organization' OR teams.id IN {each $2})"
    tables = f"grants JOIN teams ON teams.id = grants.team_id WHERE {where}"
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM {tables} ORDER BY grants.id "
        f"LIMIT ${len(args) + 1} OFFSET ${len(args) + 2}",
        *args,
        page.size,
        (page.number - 1) * page.size,
    )
    count = await tx.fetch_one(f"SELECT count(*) FROM {tables}", *args)
    assert count is not None
    return [_team_workspace(row) for row in rows], count[0]


async def insert(tx: Transaction, made: TeamWorkspace, organization_id: str) -> None:
    """Adds an access. Refuses: grant_taken."""
    try:
        await tx.execute(
            "INSERT INTO grants (id, team_id, workspace_id, organization_id, access, level) "
            "VALUES ($1, $2, $3, $4, $5, $6)",
            made.id,
            made.team_id,
            made.workspace_id,
            organization_id,
            made.access,
            int(made.level),
        )
    except Taken:
        raise Refusal(taken()) from None


async def update(tx: Transaction, changed: TeamWorkspace) -> None:
    """Stores what an access is called and lets its team do."""
    await tx.execute(
        "UPDATE grants SET access = $2, level = $3 WHERE id = $1",
        changed.id,
        changed.access,
        int(changed.level),
    )


def _team_workspace(row: Row) -> TeamWorkspace:
    return TeamWorkspace(row[0], row[1], row[2], AccessType(row[3]), VariableLevel(row[4]))
