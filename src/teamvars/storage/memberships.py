"""Memberships of organizations, and those of teams, as rows; and what somebody leaves behind.

Whoever was invited is found by the address of the invitation, and by nothing of their own.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.invitations import Delivery, Invitation
from teamvars.domain.memberships import (
    LeftBehind,
    LinkageType,
    Linked,
    Membership,
    MembershipFilter,
    Status,
)
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.storage import organizations, runners, teams, tokens, users
from teamvars.storage.database import Lookup, Row, Statement, Transaction, each
from teamvars.storage.pages import Reading, containing, where
from teamvars.storage.streams import has_proposed

_COLUMNS = (
    "memberships.id, organizations.id, organizations.name, memberships.status, "
    f"memberships.created_at, memberships.invited_as, {users.COLUMNS}, "
    "invitations.expires_at, invitations.delivery"
)
_FOLDED_USERNAME = "coalesce(memberships.invited_as_folded, users.username_folded)"
_FOLDED_EMAIL = "coalesce(memberships.invited_as_folded, users.email_folded)"
_FOLDED = (_FOLDED_USERNAME, _FOLDED_EMAIL)
_LIKE = " OR ".join(f"{folded} LIKE $n ESCAPE '!'" for folded in _FOLDED)
# Each of these is found by an index, once, whatever the number of members. Few are invited.
_WITH = "SELECT id FROM {table} AS found WHERE found.{column} IN {{each $n}}"
_BY = {
    column: _WITH.format(table="users", column=column)
    for column in ("username_folded", "email_folded", "id")
}
_CALLED = """memberships.invited_as_folded IN {{each $n}}
    OR memberships.invited_as_folded IS NULL AND memberships.user_id IN ({users})"""
_ADDRESSED = _CALLED.format(users=_BY["email_folded"])
_NAMED = " OR ".join(
    (
        _CALLED.format(users=f"{_BY['username_folded']} UNION ALL {_BY['email_folded']}"),
        f"memberships.user_id IN ({_BY['id']})",
        f"memberships.id IN ({_WITH.format(table='memberships', column='id')})",
    )
)
# Of what an older release has accepted the row may be left; it is no invitation any more.
_TABLES = (
    "memberships JOIN users ON users.id = memberships.user_id "
    "JOIN organizations ON organizations.id = memberships.organization_id "
    "LEFT JOIN invitations ON invitations.membership_id = memberships.id "
    "AND memberships.status = 'invited'"
)
_LINKED_BY = {
    LinkageType.USERS: "memberships.user_id",
    LinkageType.ORGANIZATION_MEMBERSHIPS: "memberships.id",
}
# $1: the team's id, $2: that of its organization, $3: the ids as a JSON array.
FIND_LINKED = {
    linkage: Lookup.of(
        f"""
SELECT {id_} AS linked_id, memberships.id, memberships.status,
    CASE WHEN team_members.team_id IS NULL THEN 0 ELSE 1 END AS in_team
FROM memberships
LEFT JOIN team_members ON team_members.membership_id = memberships.id
    AND team_members.team_id = $1
WHERE memberships.organization_id = $2 AND {id_} IN {{each $3}}
""",
        "TEXT",
        "TEXT",
        "TEXT",
    )
    for linkage, id_ in _LINKED_BY.items()
}
# The organization of a membership cannot change, and is the team's: a foreign key says so.
_ADD_TO_TEAM = """
INSERT INTO team_members (team_id, membership_id, organization_id)
SELECT $1, memberships.id, memberships.organization_id
FROM memberships
WHERE memberships.id IN {each $2}
"""
_REMOVE_FROM_TEAM = """
DELETE FROM team_members WHERE team_id = $1 AND membership_id IN {each $2}
"""
# $1: the organization, $2: usernames. Whose name it is comes last, and so before whoever was
# invited by that name.
_USER_IDS = """
SELECT memberships.invited_as_folded, memberships.user_id, 1 AS place FROM memberships
WHERE memberships.organization_id = $1 AND memberships.invited_as_folded IN {each $2}
UNION ALL
SELECT users.username_folded, users.id, 2 FROM users CROSS JOIN memberships
WHERE users.username_folded IN {each $2} AND memberships.organization_id = $1
    AND memberships.user_id = users.id AND memberships.invited_as_folded IS NULL
ORDER BY place
"""
_STATUSES = {status.value: status for status in Status}


def _membership(row: Row) -> Membership:
    id_, organization_id, organization, status, created_at, invited_as, *user = row[:12]
    expires_at, delivery = row[12:]
    return Membership(
        id=id_,
        organization_id=organization_id,
        organization_name=organization,
        user=users.to_user(user),
        status=Status(status),
        created_at=created_at,
        invited_as=invited_as,
        invitation=None if expires_at is None else Invitation(expires_at, Delivery(delivery)),
    )


_MEMBERSHIPS = Reading(_COLUMNS, _TABLES, _membership)


class Within(msgspec.Struct, frozen=True):
    """Whose memberships: an organization's, a user's, perhaps of some organizations alone, or a
    team's; the rest is None.
    """

    organization_id: str | None = None
    user_id: str | None = None
    reach: frozenset[str] | None = None
    team_id: str | None = None


async def get(tx: Transaction, membership_id: str) -> Membership:
    """A membership by id, without its teams. Refuses: not found."""
    return await _MEMBERSHIPS.get(tx, "WHERE memberships.id = $1", membership_id)


async def find_by_ids(tx: Transaction, membership_ids: Iterable[str]) -> list[Membership]:
    """Those of the memberships that there are, by id, without their teams."""
    rest = "WHERE memberships.id IN {each $1} ORDER BY memberships.id"
    return await _MEMBERSHIPS.every(tx, rest, each(membership_ids))


async def find_of_user(tx: Transaction, organization_id: str, user_id: str) -> Membership | None:
    """A user's membership of an organization, without its teams."""
    rest = "WHERE memberships.organization_id = $1 AND memberships.user_id = $2"
    return await _MEMBERSHIPS.one(tx, rest, organization_id, user_id)


def linked(rows: Sequence[Row]) -> list[Linked]:
    """What rows of `FIND_LINKED` say."""
    return [
        Linked(id_, membership_id, _STATUSES[status], bool(in_team))
        for id_, membership_id, status, in_team in rows
    ]


async def find_user_ids(
    tx: Transaction, organization_id: str, usernames: Iterable[str]
) -> dict[str, str]:
    """The ids of members of the organization by the usernames it is told; others are left out."""
    folded = {name: fold(name) for name in usernames}
    rows = await tx.fetch(_USER_IDS, organization_id, each(folded.values()))
    found = {row[0]: row[1] for row in rows}
    return {name: found[its] for name, its in folded.items() if its in found}


async def search(
    tx: Transaction, within: Within, wanted: MembershipFilter, page: Page | None
) -> Paged[Membership]:
    """Memberships by id or username, without their teams; without a page all of them."""
    members = "SELECT membership_id FROM team_members WHERE team_members.team_id = $n"
    conditions, args = where(
        ("memberships.organization_id = $n", within.organization_id),
        ("memberships.user_id = $n", within.user_id),
        (
            "memberships.organization_id IN {each $n}",
            None if within.reach is None else each(within.reach),
        ),
        (f"memberships.id IN ({members})", within.team_id),
        (f"({_LIKE})", None if wanted.search is None else containing(wanted.search)),
        (f"({_ADDRESSED})", _words(wanted.emails)),
        (f"({_NAMED})", _words(wanted.names, also=wanted.names)),
        ("memberships.status = $n", wanted.status),
    )
    order = f"{_FOLDED_USERNAME}, memberships.id" if wanted.by_name else "memberships.id"
    return await _MEMBERSHIPS.paged(tx, f"WHERE {conditions}", order, args, page)


async def of_organizations(tx: Transaction, organization_ids: Iterable[str]) -> list[Membership]:
    """The memberships of organizations by id, without their teams."""
    rest = "WHERE memberships.organization_id IN {each $1} ORDER BY memberships.id"
    return await _MEMBERSHIPS.every(tx, rest, each(organization_ids))


async def invited_by(tx: Transaction, organization_id: str, user_id: str) -> list[Membership]:
    """The memberships that somebody's invitations still wait to begin, by id, without teams."""
    rest = (
        "WHERE memberships.organization_id = $1 AND invitations.invited_by = $2 "
        "ORDER BY memberships.id"
    )
    return await _MEMBERSHIPS.every(tx, rest, organization_id, user_id)


async def of_teams(tx: Transaction, team_ids: Iterable[str]) -> dict[str, list[Membership]]:
    """The memberships in each team, by id, without their teams."""
    linked = await ids_of_teams(tx, team_ids, LinkageType.ORGANIZATION_MEMBERSHIPS)
    # Each is read once, in however many of the teams it is.
    every = await _MEMBERSHIPS.every(
        tx,
        "WHERE memberships.id IN "
        "(SELECT membership_id FROM team_members WHERE team_id IN {each $1})",
        each(linked),
    )
    known = {one.id: one for one in every}
    return {team: [known[id_] for id_ in ids if id_ in known] for team, ids in linked.items()}


async def ids_of_teams(
    tx: Transaction, team_ids: Iterable[str], linkage: LinkageType
) -> dict[str, list[str]]:
    """The ids by which linkage objects of that type name the members of each team, in order.

    Invited ones are included.
    """
    ids = list(team_ids)
    rows = await tx.fetch(
        f"SELECT team_members.team_id, {_in_one(_LINKED_BY[linkage])} FROM team_members "
        "JOIN memberships ON memberships.id = team_members.membership_id "
        "WHERE team_members.team_id IN {each $1} GROUP BY team_members.team_id",
        each(ids),
    )
    return _of_each(ids, rows)


async def count_of_teams(tx: Transaction, team_ids: Iterable[str]) -> dict[str, int]:
    """How many members each team has, invited ones included; empty teams are left out."""
    return await tx.pairs(
        "SELECT team_id, count(*) FROM team_members WHERE team_id IN {each $1} GROUP BY team_id",
        each(team_ids),
    )


async def team_ids_of(tx: Transaction, membership_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The teams that each of the memberships is in, by id, secret ones included."""
    ids = list(membership_ids)
    rows = await tx.fetch(
        f"SELECT membership_id, {_in_one('team_id')} FROM team_members "
        "WHERE membership_id IN {each $1} GROUP BY membership_id",
        each(ids),
    )
    return {id_: tuple(its) for id_, its in _of_each(ids, rows).items()}


async def with_teams(
    tx: Transaction, found: Sequence[Membership], team_ids: Collection[str] | None
) -> list[Membership]:
    """The memberships with their teams; secret ones only if they are among `team_ids`.

    Without `team_ids` all teams are seen.
    """
    seen = "" if team_ids is None else "AND (visibility = 'organization' OR teams.id IN {each $2})"
    ids = [membership.id for membership in found]
    args = [each(ids)]
    if team_ids is not None:
        args.append(each(team_ids))
    rows = await tx.fetch(
        f"SELECT team_members.membership_id, {_in_one('teams.id')} FROM team_members "
        "JOIN teams ON teams.id = team_members.team_id "
        f"WHERE team_members.membership_id IN {{each $1}} {seen} "
        "GROUP BY team_members.membership_id",
        *args,
    )
    of = _of_each(ids, rows)
    return [replace(membership, team_ids=of[membership.id]) for membership in found]


def _in_one(ids: str) -> str:
    """The ids of many rows in order, as one text: for each row that a statement returns the event
    loop stands still ten times as long as for an id.
    """
    return f"string_agg({ids}, ' ' ORDER BY {ids})"


def _of_each(owners: Iterable[str], rows: Iterable[Row]) -> dict[str, list[str]]:
    """The ids that such rows have for each of some owners, none where there is no row."""
    found: dict[str, list[str]] = {id_: [] for id_ in owners}
    for owner, ids in rows:
        found[owner] = ids.split(" ")
    return found


def putting(team_id: str, membership_ids: Sequence[str], *, adds: bool) -> Statement:
    """The statement that adds memberships to a team, none of which is in it, or removes them."""
    sql = _ADD_TO_TEAM if adds else _REMOVE_FROM_TEAM
    return Statement(sql, (team_id, each(membership_ids)))


def _words(words: Sequence[str] | None, also: Sequence[str] | None = ()) -> str | None:
    """The words in the form in which names are compared; `also` as they are, as ids are."""
    return None if words is None else each([*map(fold, words), *(also or ())])


# Wherever somebody is, or was: what they made says so.
_ORGANIZATIONS_OF = f"""
SELECT organization_id FROM memberships WHERE user_id = $1
UNION SELECT coalesce(tokens.organization_id, teams.organization_id) FROM tokens
    LEFT JOIN teams ON teams.id = tokens.team_id
    WHERE tokens.created_by = $1 AND tokens.user_id IS NULL
UNION SELECT organization_id FROM runners WHERE proposed_by = $1 OR {has_proposed("$1")}
UNION SELECT memberships.organization_id FROM invitations
    JOIN memberships ON memberships.id = invitations.membership_id
    WHERE invitations.invited_by = $1
ORDER BY 1
"""


async def organizations_of(tx: Transaction, user_id: str) -> list[str]:
    """The organizations that somebody is in or has left something in, by id."""
    return await tx.column(_ORGANIZATIONS_OF, user_id)


async def left_behind(tx: Transaction, organization_id: str, user_id: str) -> LeftBehind:
    """What somebody leaves behind in an organization. Refuses: not found."""
    organization = await organizations.get(tx, organization_id)
    place = organization_id, user_id
    return LeftBehind(
        organization_id,
        organization.name,
        user_id,
        await tokens.made_by(tx, *place),
        await runners.proposed_by(tx, *place),
        await invited_by(tx, *place),
        await teams.held_alone(tx, *place),
    )
