"""Teams as rows."""

import json
from collections.abc import Collection, Iterable, Sequence

from teamvars.domain.errors import Refusal
from teamvars.domain.names import fold, name_taken
from teamvars.domain.pages import Page, Paged
from teamvars.domain.teams import Team, TeamFilter, Visibility
from teamvars.storage.database import Row, Taken, Transaction
from teamvars.storage.pages import Listing
from teamvars.storage.patterns import containing

_COLUMNS = (
    "id, organization_id, name, visibility, manage_membership, is_owners, members_manage_token"
)


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[Team]:
    """The teams of organizations by id."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM teams WHERE organization_id IN {{each $1}} ORDER BY id",
        json.dumps(sorted(organization_ids)),
    )
    return [_team(row) for row in rows]


async def find_visible(
    tx: Transaction,
    organization_id: str,
    team_ids: Collection[str] | None,
    wanted: TeamFilter,
    page: Page,
) -> Paged[Team]:
    """A page of an organization's teams, by name.

    Secret ones are left out unless they are among `team_ids`; without those everything is seen.
    """
    conditions, args = ["organization_id = $1"], [organization_id]
    if team_ids is not None:
        args.append(json.dumps(sorted(team_ids)))
        conditions.append(f"(visibility = 'organization' OR id IN {{each ${len(args)}}})")
    if wanted.names is not None:
        args.append(json.dumps([fold(name) for name in wanted.names]))
        conditions.append(f"name_folded IN {{each ${len(args)}}}")
    if wanted.search is not None:
        args.append(containing(wanted.search))
        conditions.append(f"name_folded LIKE ${len(args)} ESCAPE '!'")
    source = f"teams WHERE {' AND '.join(conditions)}"
    return await Listing(_COLUMNS, source, "name_folded", args).fetch(tx, page, _team)


async def find_named(tx: Transaction, organization_id: str, name: str) -> Team | None:
    """A team by its name."""
    row = await tx.fetch_one(
        f"SELECT {_COLUMNS} FROM teams WHERE organization_id = $1 AND name_folded = $2",
        organization_id,
        fold(name),
    )
    return None if row is None else _team(row)


async def find_by_ids(tx: Transaction, team_ids: Iterable[str]) -> list[Team]:
    """The teams with these ids, by name; absent ones are left out."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM teams WHERE id IN {{each $1}} ORDER BY name_folded, id",
        json.dumps(sorted(team_ids)),
    )
    return [_team(row) for row in rows]


async def insert(tx: Transaction, made: Iterable[Team], now: int) -> None:
    """Adds teams. Refuses: name_taken."""
    try:
        await tx.execute_many(
            "INSERT INTO teams (id, organization_id, name, name_folded, visibility, "
            "manage_membership, is_owners, members_manage_token, created_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                (
                    team.id,
                    team.organization_id,
                    team.name,
                    fold(team.name),
                    team.visibility,
                    int(team.manage_membership),
                    int(team.is_owners),
                    int(team.members_manage_token),
                    now,
                )
                for team in made
            ],
        )
    except Taken:
        raise Refusal(name_taken("a team")) from None


async def update(tx: Transaction, changed: Iterable[Team]) -> None:
    """Stores teams' names and settings as they are now. Refuses: name_taken."""
    try:
        await tx.execute_many(
            "UPDATE teams SET name = $2, name_folded = $3, visibility = $4, "
            "manage_membership = $5, members_manage_token = $6 WHERE id = $1",
            [
                (
                    team.id,
                    team.name,
                    fold(team.name),
                    team.visibility,
                    int(team.manage_membership),
                    int(team.members_manage_token),
                )
                for team in changed
            ],
        )
    except Taken:
        raise Refusal(name_taken("a team")) from None


async def delete(tx: Transaction, team_ids: Sequence[str]) -> None:
    """Removes teams with their members, grants and tokens."""
    await tx.execute("DELETE FROM teams WHERE id IN {each $1}", json.dumps(team_ids))


def _team(row: Row) -> Team:
    id_, organization_id, name, visibility, *flags = row
    return Team(id_, organization_id, name, Visibility(visibility), *map(bool, flags))
