"""Grants as rows."""

import json
from collections.abc import Collection, Iterable

from teamvars.domain.access import Level
from teamvars.domain.errors import not_found
from teamvars.domain.grants import GRANT_LEVELS, AccessType, Grant, NamedGrant
from teamvars.domain.pages import Page, Paged
from teamvars.domain.teams import Visibility
from teamvars.storage.database import Row, Transaction
from teamvars.storage.pages import Listing

_COLUMNS = (
    "grants.id, grants.organization_id, grants.team_id, grants.workspace_id, grants.access, "
    "grants.level"
)
_NAMES = "teams.name, teams.visibility, workspaces.name"
_TABLES = (
    "grants JOIN teams ON teams.id = grants.team_id "
    "JOIN workspaces ON workspaces.id = grants.workspace_id"
)
# What some of those teams may read, found once: asked of each row, it would be found as often as
# there are rows and teams.
_READABLE = f"""grants.workspace_id IN (
    SELECT theirs.workspace_id FROM grants AS theirs
    WHERE theirs.team_id IN {{each $2}} AND theirs.level >= {Level.READ.value})"""
_LEVELS = {level.value: level for level in GRANT_LEVELS}


async def get(tx: Transaction, grant_id: str) -> Grant:
    """A grant by id. Refuses: not found."""
    row = await tx.fetch_one(f"SELECT {_COLUMNS} FROM grants WHERE id = $1", grant_id)
    if row is None:
        raise not_found()
    return _grant(row)


async def of_workspace(
    tx: Transaction, workspace_id: str, team_ids: Collection[str] | None, page: Page
) -> Paged[NamedGrant]:
    """A page of the grants on a workspace, by id.

    Those of secret teams only if they are among `team_ids`; without those everything is seen.
    """
    where = "grants.workspace_id = $1"
    args: list[object] = [workspace_id]
    if team_ids is not None:
        args.append(json.dumps(sorted(team_ids)))
        where += " AND (teams.visibility = 'organization' OR teams.id IN {each $2})"
    return await _list(tx, where, "grants.id", args, page)


async def of_team(
    tx: Transaction, team_id: str, team_ids: Collection[str] | None, page: Page
) -> Paged[NamedGrant]:
    """A page of the grants of a team, by the names of their workspaces.

    Those alone on workspaces that one of `team_ids` may read; without those everything is seen.
    """
    where = "grants.team_id = $1"
    args: list[object] = [team_id]
    if team_ids is not None:
        args.append(json.dumps(sorted(team_ids)))
        where += f" AND {_READABLE}"
    return await _list(tx, where, "workspaces.name_folded", args, page)


async def of_teams(tx: Transaction, team_ids: Iterable[str]) -> list[Grant]:
    """All grants of teams."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM grants WHERE team_id IN {{each $1}}", json.dumps(sorted(team_ids))
    )
    return [_grant(row) for row in rows]


async def _list(
    tx: Transaction, where: str, order: str, args: list[object], page: Page
) -> Paged[NamedGrant]:
    listing = Listing(f"{_COLUMNS}, {_NAMES}", f"{_TABLES} WHERE {where}", order, args)
    return await listing.fetch(tx, page, _named)


def _named(row: Row) -> NamedGrant:
    return NamedGrant(_grant(row[:6]), row[6], Visibility(row[7]), row[8])


def _grant(row: Row) -> Grant:
    id_, organization_id, team_id, workspace_id, access, level = row
    return Grant(id_, organization_id, team_id, workspace_id, AccessType(access), _LEVELS[level])
