"""Teams, their members and their grants as rows."""

import json
from collections.abc import Collection, Iterable, Sequence

import msgspec

from teamvars.domain.errors import Refusal
from teamvars.domain.names import fold, name_taken
from teamvars.domain.pages import Page
from teamvars.domain.teams import LinkageType, Membership, Status, TeamFilter, Visibility
from teamvars.storage.database import Row, Taken, Transaction
from teamvars.storage.patterns import containing

_COLUMNS = (
    "id, organization_id, name, visibility, manage_membership, is_owners, members_manage_token"
)
_NAMED_BY = {
    LinkageType.USERS: "memberships.user_id",
    LinkageType.ORGANIZATION_MEMBERSHIPS: "memberships.id",
}


class TeamRow(msgspec.Struct, frozen=True):
    """A team as the directory sees it.

    `members_manage_token` says so of members of any team but `owners`, who may whatever it says.
    """

    id: str
    organization_id: str
    name: str
    visibility: Visibility
    manage_membership: bool
    is_owners: bool
    members_manage_token: bool = False


async def find_memberships(
    tx: Transaction, team_id: str, organization_id: str, linkage: LinkageType, ids: Sequence[str]
) -> list[Membership]:
    """The organization's memberships that the ids name, and whether each is in the team."""
    rows = await tx.fetch(
        "SELECT memberships.id, memberships.user_id, memberships.status, team_members.team_id "
        "FROM memberships LEFT JOIN team_members "
        "ON team_members.membership_id = memberships.id AND team_members.team_id = $1 "
        f"WHERE memberships.organization_id = $2 AND {_NAMED_BY[linkage]} IN {{each $3}} "
        "ORDER BY memberships.id",
        team_id,
        organization_id,
        json.dumps(ids),
    )
    return [Membership(row[0], row[1], Status(row[2]), row[3] is not None) for row in rows]


async def find_user_ids(
    tx: Transaction, organization_id: str, usernames: Iterable[str]
) -> dict[str, str]:
    """The ids of members of the organization by the usernames it is told; others are left out."""
    folded = {fold(name): name for name in usernames}
    shown = "coalesce(memberships.invited_as_folded, users.username_folded)"
    rows = await tx.fetch(
        f"SELECT {shown}, users.id FROM users "
        "JOIN memberships ON memberships.user_id = users.id "
        f"WHERE memberships.organization_id = $1 AND {shown} IN {{each $2}} "
        # Whose name it is comes last, and so before whoever was invited by that name.
        "ORDER BY CASE WHEN memberships.invited_as IS NULL THEN 1 ELSE 0 END",
        organization_id,
        json.dumps(list(folded)),
    )
    return {folded[row[0]]: row[1] for row in rows}


async def find_members(tx: Transaction, team_id: str) -> list[Membership]:
    """All members of a team, invited ones included."""
    rows = await tx.fetch(
        "SELECT memberships.id, memberships.user_id, memberships.status, users.disabled "
        "FROM team_members JOIN memberships ON memberships.id = team_members.membership_id "
        "JOIN users ON users.id = memberships.user_id WHERE team_members.team_id = $1",
        team_id,
    )
    return [Membership(row[0], row[1], Status(row[2]), True, bool(row[3])) for row in rows]


async def members_of(tx: Transaction, team_ids: Iterable[str]) -> dict[str, set[str]]:
    """The ids of the memberships in teams, by team; empty teams are left out."""
    members: dict[str, set[str]] = {}
    for team_id, membership_id in await tx.fetch(
        "SELECT team_id, membership_id FROM team_members WHERE team_id IN {each $1}",
        json.dumps(sorted(team_ids)),
    ):
        members.setdefault(team_id, set()).add(membership_id)
    return members


async def add_members(
    tx: Transaction, team_id: str, organization_id: str, membership_ids: Sequence[str]
) -> None:
    """Adds memberships that are not in the team."""
    await tx.execute(
        "INSERT INTO team_members (team_id, membership_id, organization_id) "
        "SELECT $1, id, $2 FROM memberships WHERE id IN {each $3}",
        team_id,
        organization_id,
        json.dumps(membership_ids),
    )


async def add_members_to_all(
    tx: Transaction, added: Iterable[tuple[TeamRow, Sequence[str]]]
) -> None:
    """Adds to each team memberships that are not in it."""
    await tx.execute_many(
        "INSERT INTO team_members (team_id, membership_id, organization_id) VALUES ($1, $2, $3)",
        [(team.id, id_, team.organization_id) for team, ids in added for id_ in ids],
    )


async def remove_members(tx: Transaction, team_id: str, membership_ids: Sequence[str]) -> None:
    """Removes memberships from the team; nothing else of them."""
    await tx.execute(
        "DELETE FROM team_members WHERE team_id = $1 AND membership_id IN {each $2}",
        team_id,
        json.dumps(membership_ids),
    )


async def of_organization(tx: Transaction, organization_id: str) -> list[TeamRow]:
    """An organization's teams by id."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM teams WHERE organization_id = $1 ORDER BY id", organization_id
    )
    return [_team(row) for row in rows]


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[TeamRow]:
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
) -> tuple[list[TeamRow], int]:
    """A page of an organization's teams, by name, and how many there are in all.

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
    where = " AND ".join(conditions)
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM teams WHERE {where} ORDER BY name_folded "
        f"LIMIT ${len(args) + 1} OFFSET ${len(args) + 2}",
        *args,
        page.size,
        (page.number - 1) * page.size,
    )
    count = await tx.fetch_one(f"SELECT count(*) FROM teams WHERE {where}", *args)
    assert count is not None
    return [_team(row) for row in rows], count[0]


async def find_by_ids(tx: Transaction, team_ids: Iterable[str]) -> list[TeamRow]:
    """The teams with these ids, by name; absent ones are left out."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM teams WHERE id IN {{each $1}} ORDER BY name_folded, id",
        json.dumps(sorted(team_ids)),
    )
    return [_team(row) for row in rows]


async def count_members(tx: Transaction, team_ids: Iterable[str]) -> dict[str, int]:
    """How many members each team has, invited ones included; empty teams are left out."""
    rows = await tx.fetch(
        "SELECT team_id, count(*) FROM team_members WHERE team_id IN {each $1} GROUP BY team_id",
        json.dumps(sorted(team_ids)),
    )
    return {row[0]: row[1] for row in rows}


async def users_of(tx: Transaction, team_ids: Iterable[str]) -> dict[str, list[str]]:
    """The ids of the users in each team, in order, invited ones included."""
    users: dict[str, list[str]] = {id_: [] for id_ in team_ids}
    for team_id, user_id in await tx.fetch(
        "SELECT team_members.team_id, memberships.user_id FROM team_members "
        "JOIN memberships ON memberships.id = team_members.membership_id "
        "WHERE team_members.team_id IN {each $1} ORDER BY memberships.user_id",
        json.dumps(sorted(users)),
    ):
        users[team_id].append(user_id)
    return users


async def insert(tx: Transaction, made: Iterable[TeamRow], now: int) -> None:
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


async def update(tx: Transaction, changed: Iterable[TeamRow]) -> None:
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


def _team(row: Row) -> TeamRow:
    id_, organization_id, name, visibility, *flags = row
    return TeamRow(id_, organization_id, name, Visibility(visibility), *map(bool, flags))
