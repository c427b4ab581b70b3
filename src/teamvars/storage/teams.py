"""Teams as rows."""

import json
from collections.abc import Collection, Iterable

from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.teams import Team, TeamFilter, Visibility
from teamvars.storage.database import Row, Transaction
from teamvars.storage.pages import Listing, containing

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


def _team(row: Row) -> Team:
    id_, organization_id, name, visibility, *flags = row
    return Team(id_, organization_id, name, Visibility(visibility), *map(bool, flags))
