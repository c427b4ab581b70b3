"""Memberships of organizations with their users, as clients of the directory see them.

Whoever was invited is shown and found by the address of the invitation, and by nothing of their
own.
"""

import json
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.memberships import MembershipFilter, MembershipView
from teamvars.domain.names import fold
from teamvars.domain.pages import Page
from teamvars.domain.teams import Status
from teamvars.storage.database import Row, Transaction
from teamvars.storage.patterns import containing

_COLUMNS = (
    "memberships.id, organizations.id, organizations.name, users.id, "
    "coalesce(memberships.invited_as, users.username), "
    "coalesce(memberships.invited_as, users.email), memberships.status, memberships.created_at"
)
_FOLDED_EMAIL = "coalesce(memberships.invited_as_folded, users.email_folded)"
_FOLDED = ("coalesce(memberships.invited_as_folded, users.username_folded)", _FOLDED_EMAIL)
_TABLES = (
    "memberships JOIN users ON users.id = memberships.user_id "
    "JOIN organizations ON organizations.id = memberships.organization_id"
)


class Within(msgspec.Struct, frozen=True):
    """Whose memberships: an organization's, a user's, or a team's; the rest is None."""

    organization_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


async def find(tx: Transaction, membership_id: str) -> MembershipView | None:
    """A membership by id, without its teams."""
    row = await tx.fetch_one(
        f"SELECT {_COLUMNS} FROM {_TABLES} WHERE memberships.id = $1", membership_id
    )
    return None if row is None else _view(row)


async def find_of_user(
    tx: Transaction, organization_id: str, user_id: str
) -> MembershipView | None:
    """A user's membership of an organization, without its teams."""
    row = await tx.fetch_one(
        f"SELECT {_COLUMNS} FROM {_TABLES} "
        "WHERE memberships.organization_id = $1 AND memberships.user_id = $2",
        organization_id,
        user_id,
    )
    return None if row is None else _view(row)


async def search(
    tx: Transaction, within: Within, wanted: MembershipFilter, page: Page | None
) -> tuple[list[MembershipView], int]:
    """Memberships by id, without their teams, and how many there are in all.

    Without a page all of them.
    """
    where, args = _conditions(within, wanted)
    select = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE {where} ORDER BY memberships.id"
    if page is None:
        rows = await tx.fetch(select, *args)
        return [_view(row) for row in rows], len(rows)
    rows = await tx.fetch(
        f"{select} LIMIT ${len(args) + 1} OFFSET ${len(args) + 2}",
        *args,
        page.size,
        (page.number - 1) * page.size,
    )
    count = await tx.fetch_one(f"SELECT count(*) FROM {_TABLES} WHERE {where}", *args)
    assert count is not None
    return [_view(row) for row in rows], count[0]


async def with_teams(
    tx: Transaction, found: Sequence[MembershipView], team_ids: Collection[str] | None
) -> list[MembershipView]:
    """The memberships with their teams; secret ones only if they are among `team_ids`.

    Without `team_ids` all teams are seen.
    """
    seen = "" if team_ids is None else "AND (visibility = 'organization' OR teams.id IN {each $2})"
    args = [json.dumps([view.id for view in found])]
    if team_ids is not None:
        args.append(json.dumps(sorted(team_ids)))
    of: dict[str, list[str]] = {view.id: [] for view in found}
    for membership_id, team_id in await tx.fetch(
        "SELECT team_members.membership_id, teams.id FROM team_members "
        "JOIN teams ON teams.id = team_members.team_id "
        f"WHERE team_members.membership_id IN {{each $1}} {seen} ORDER BY teams.id",
        *args,
    ):
        of[membership_id].append(team_id)
    return [replace(view, team_ids=of[view.id]) for view in found]


async def by_team(
    tx: Transaction, team_ids: Iterable[str]
) -> tuple[dict[str, list[str]], dict[str, MembershipView]]:
    """The membership ids of each team, in order, and the memberships, without their teams."""
    ids = sorted(team_ids)
    rows = await tx.fetch(
        f"SELECT team_members.team_id, {_COLUMNS} FROM {_TABLES} "
        "JOIN team_members ON team_members.membership_id = memberships.id "
        "WHERE team_members.team_id IN {each $1} ORDER BY memberships.id",
        json.dumps(ids),
    )
    of: dict[str, list[str]] = {id_: [] for id_ in ids}
    views = {}
    for row in rows:
        of[row[0]].append(row[1])
        views[row[1]] = _view(row[1:])
    return of, views


def _conditions(within: Within, wanted: MembershipFilter) -> tuple[str, list[object]]:
    conditions: list[str] = []
    args: list[object] = []

    def also(condition: str, value: object) -> None:
        args.append(value)
        conditions.append(condition.replace("$n", f"${len(args)}"))

    if within.organization_id is not None:
        also("memberships.organization_id = $n", within.organization_id)
    if within.user_id is not None:
        also("memberships.user_id = $n", within.user_id)
    if within.team_id is not None:
        members = "SELECT membership_id FROM team_members WHERE team_members.team_id = $n"
        also(f"memberships.id IN ({members})", within.team_id)
    if wanted.search is not None:
        like = " OR ".join(f"{folded} LIKE $n ESCAPE '!'" for folded in _FOLDED)
        also(f"({like})", containing(wanted.search))
    if wanted.emails is not None:
        emails = [fold(email) for email in wanted.emails]
        also(f"{_FOLDED_EMAIL} IN {{each $n}}", json.dumps(emails))
    if wanted.status is not None:
        also("memberships.status = $n", wanted.status)
    return " AND ".join(conditions), args


def _view(row: Row) -> MembershipView:
    id_, organization_id, organization, user_id, username, email, status, created_at = row
    return MembershipView(
        id=id_,
        organization_id=organization_id,
        organization_name=organization,
        user_id=user_id,
        username=username,
        email=email,
        status=Status(status),
        created_at=created_at,
    )
