"""Teams as rows."""

from collections.abc import Collection, Iterable

from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.teams import SETTINGS, Right, Rights, Team, TeamFilter, Visibility
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.pages import Reading, containing, where
from teamvars.storage.tables import from_column

RIGHTS = {right: right.replace("-", "_") for right in Right}
"""The columns of what teams may do in the organization."""

_COLUMNS = (
    "id, organization_id, name, visibility, is_owners, members_manage_token, "
    f"{', '.join(RIGHTS.values())}, settings"
)


def to_team(row: Row) -> Team:
    """What a row says, by these columns."""
    id_, organization_id, name, visibility, is_owners, manages_token, *flags, stored = row
    return Team(
        id=id_,
        organization_id=organization_id,
        name=name,
        visibility=Visibility(visibility),
        rights=given(flags),
        is_owners=bool(is_owners),
        members_manage_token=bool(manages_token),
        settings=from_column(SETTINGS, id_, stored),
    )


def given(flags: Row) -> Rights:
    """The rights that a team was given, by the columns of all."""
    return frozenset(right for right, flag in zip(RIGHTS, flags, strict=True) if flag)


_TEAMS = Reading(_COLUMNS, "teams", to_team)


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[Team]:
    """The teams of organizations by id."""
    ids = each(organization_ids)
    return await _TEAMS.every(tx, "WHERE organization_id IN {each $1} ORDER BY id", ids)


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
    names, search = wanted.names, wanted.search
    conditions, args = where(
        ("organization_id = $n", organization_id),
        ("(visibility = 'organization' OR id IN {each $n})", each(team_ids)),
        ("name_folded IN {each $n}", None if names is None else each(map(fold, names))),
        ("name_folded LIKE $n ESCAPE '!'", None if search is None else containing(search)),
    )
    return await _TEAMS.paged(tx, f"WHERE {conditions}", "name_folded", args, page)


async def find_named(tx: Transaction, organization_id: str, name: str) -> Team | None:
    """A team by its name."""
    rest = "WHERE organization_id = $1 AND name_folded = $2"
    return await _TEAMS.one(tx, rest, organization_id, fold(name))


async def held_alone(tx: Transaction, organization_id: str, user_id: str) -> list[Team]:
    """The teams of an organization in which somebody is, by name, and nobody else who can act."""
    theirs = (
        "SELECT team_id FROM team_members "
        "JOIN memberships ON memberships.id = membership_id WHERE user_id = $2"
    )
    others = (
        "SELECT 1 FROM team_members "
        "JOIN memberships ON memberships.id = team_members.membership_id "
        "JOIN users ON users.id = memberships.user_id WHERE team_members.team_id = teams.id "
        "AND users.id <> $2 AND memberships.status = 'active' AND users.disabled = 0"
    )
    rest = (
        f"WHERE organization_id = $1 AND id IN ({theirs}) AND NOT EXISTS ({others}) "
        "ORDER BY name_folded, id"
    )
    return await _TEAMS.every(tx, rest, organization_id, user_id)


async def find_by_ids(tx: Transaction, team_ids: Iterable[str]) -> list[Team]:
    """The teams with these ids, by name; absent ones are left out."""
    return await _TEAMS.every(tx, "WHERE id IN {each $1} ORDER BY name_folded, id", each(team_ids))
