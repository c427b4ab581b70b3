"""The access statements: one query that says who calls, what they may, and where the head stands.

Tokens, memberships and grants are read on every request and trusted for none but that one.
"""

from collections.abc import Awaitable, Callable

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor
from teamvars.domain.errors import not_found, storage_unavailable, unauthenticated
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team, Visibility
from teamvars.domain.workspaces import Workspace
from teamvars.storage import streams
from teamvars.storage.database import Question, Row, Transaction

# Which token it is, if it authenticates anybody: it was not revoked and has not expired, and its
# user is not disabled. That is a scalar subquery so as to be one look by id, whatever is asked:
# PostgreSQL joins what is asked with EXISTS, and goes through all users for it.
_BY_TOKEN = """
caller.hash = {hash} AND (caller.expires_at IS NULL OR caller.expires_at > {now})
    AND coalesce((SELECT users.disabled FROM users WHERE users.id = caller.user_id), 0) = 0
"""

# $1: hash of the token, $2: now. `acting`: every team whose rights the caller has. SQLite joins in
# the order of CROSS JOIN: it would else look for the caller among all members of a team.
_CALLER = f"""
WITH caller AS (
    SELECT id, user_id, team_id, organization_id FROM tokens AS caller
    WHERE {_BY_TOKEN.format(hash="$1", now="$2")}
), acting AS (
    SELECT teams.id, teams.organization_id, teams.is_owners, teams.manage_membership
    FROM caller CROSS JOIN memberships CROSS JOIN team_members CROSS JOIN teams
    WHERE memberships.user_id = caller.user_id AND memberships.status = 'active'
        AND team_members.membership_id = memberships.id AND teams.id = team_members.team_id
    UNION ALL
    SELECT teams.id, teams.organization_id, teams.is_owners, teams.manage_membership
    FROM caller
    JOIN teams ON teams.id = caller.team_id
)
"""

_IS_OWNER = """(
    caller.organization_id = organizations.id
    OR EXISTS (SELECT 1 FROM acting
        WHERE acting.organization_id = organizations.id AND acting.is_owners = 1)
)"""

# Through a team, which is faster to find, or with an accepted invitation alone.
_IS_INSIDE = """(
    EXISTS (SELECT 1 FROM acting WHERE acting.organization_id = organizations.id)
    OR EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = caller.user_id
        AND memberships.organization_id = organizations.id AND memberships.status = 'active')
)"""

_MANAGES_MEMBERSHIP = """EXISTS (
    SELECT 1 FROM acting
    WHERE acting.organization_id = organizations.id AND acting.manage_membership = 1
)"""

# As `TeamAccess.require_manage_membership` has it.
_CHANGES_MEMBERS = f"""(
    {_IS_OWNER}
    OR teams.is_owners = 0 AND {_MANAGES_MEMBERSHIP} AND (
        teams.visibility <> 'secret' OR EXISTS (SELECT 1 FROM acting WHERE acting.id = teams.id)
    )
)"""

# Of its users alone: what a token that was lost could make would outlive it.
_MANAGES_TOKEN = """(
    teams.members_manage_token = 1 AND caller.user_id IS NOT NULL
    AND EXISTS (SELECT 1 FROM acting WHERE acting.id = teams.id)
)"""

_WHO = f"""
SELECT {{number}}caller.id, caller.user_id, caller.team_id, caller.organization_id
FROM {{askers}}tokens AS caller
WHERE {_BY_TOKEN}
"""

# The hottest statement of all: nothing in it is materialised, every step is one look at an index.
_LEVEL = """
    CASE
        WHEN caller.organization_id = organizations.id THEN 3
        WHEN caller.user_id IS NOT NULL THEN coalesce((
            SELECT max(CASE WHEN teams.is_owners = 1 THEN 3 ELSE coalesce(grants.level, 0) END)
            FROM memberships
            JOIN team_members ON team_members.membership_id = memberships.id
            JOIN teams ON teams.id = team_members.team_id
            LEFT JOIN grants ON grants.team_id = teams.id AND grants.workspace_id = workspaces.id
            WHERE memberships.organization_id = organizations.id
                AND memberships.user_id = caller.user_id AND memberships.status = 'active'
        ), 0)
        ELSE coalesce((
            SELECT CASE WHEN teams.is_owners = 1 THEN 3 ELSE coalesce(grants.level, 0) END
            FROM teams
            LEFT JOIN grants ON grants.team_id = teams.id AND grants.workspace_id = workspaces.id
            WHERE teams.id = caller.team_id AND teams.organization_id = organizations.id
        ), 0)
    END
"""

_WORKSPACE = f"""
SELECT {{number}}caller.id, caller.user_id, caller.team_id, caller.organization_id,
    workspaces.id, workspaces.name, organizations.id, organizations.name,
    {{level}},
    data_keys.version, data_keys.master_key_id, data_keys.wrapped,
    unlocked.sequence,
    streams.id, streams.sequence, streams.link, streams.head,
    streams.variables, streams.value_bytes
FROM {{askers}}tokens AS caller
{{join}} workspaces ON {{target}}
{{join}} organizations ON organizations.id = workspaces.organization_id
{{join}} data_keys ON data_keys.organization_id = organizations.id
    AND data_keys.version = organizations.data_key_version
{{join}} streams AS unlocked ON unlocked.id = workspaces.id
{{join}} streams ON streams.id = workspaces.id
WHERE {_BY_TOKEN}
"""

_TEAM = f"""
SELECT caller.id, caller.user_id, caller.team_id, caller.organization_id,
    teams.id, teams.name, organizations.id, organizations.name, teams.visibility, teams.is_owners,
    CASE WHEN {_IS_OWNER} THEN 1 ELSE 0 END,
    CASE WHEN {_IS_INSIDE} THEN 1 ELSE 0 END,
    CASE WHEN EXISTS (SELECT 1 FROM acting WHERE acting.id = teams.id) THEN 1 ELSE 0 END,
    CASE WHEN {_MANAGES_MEMBERSHIP} THEN 1 ELSE 0 END,
    CASE WHEN {_CHANGES_MEMBERS} THEN 1 ELSE 0 END,
    CASE WHEN {_IS_OWNER} OR {_MANAGES_TOKEN} THEN 1 ELSE 0 END,
    teams.manage_membership, teams.members_manage_token,
    unlocked.sequence,
    streams.id, streams.sequence, streams.link, streams.head,
    streams.variables, streams.value_bytes
FROM caller
{{join}} teams ON teams.id = $3
{{join}} organizations ON organizations.id = teams.organization_id
{{join}} streams AS unlocked ON unlocked.id = $3
{{join}} streams ON streams.id = $3
"""

_ORGANIZATION = f"""
SELECT caller.id, caller.user_id, caller.team_id, caller.organization_id,
    organizations.id, organizations.name, organizations.email, organizations.created_at,
    CASE WHEN {_IS_OWNER} THEN 1 ELSE 0 END,
    CASE WHEN {_IS_INSIDE} THEN 1 ELSE 0 END,
    unlocked.sequence,
    streams.id, streams.sequence, streams.link, streams.head,
    streams.variables, streams.value_bytes
FROM caller
{{join}} organizations ON organizations.name_folded = $3
{{join}} streams AS unlocked ON unlocked.id = organizations.id
{{join}} streams ON streams.id = organizations.id
"""

_ACTING_TEAMS = """
SELECT acting.id, acting.manage_membership FROM acting WHERE acting.organization_id = $3
"""

_WRITE = str(Level.WRITE.value)
_ONE_ASKER = {"number": "", "askers": "", "hash": "$1", "now": "$2"}
# Of PostgreSQL alone, since only there it pays; the arrays are those of `Question.many`.
_MANY_ASKERS = {
    "number": "asker.number, ",
    "askers": "unnest(CAST($1 AS BYTEA[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[])) "
    "WITH ORDINALITY AS asker (hash, now, workspace_id, number) CROSS JOIN ",
    "hash": "asker.hash",
    "now": "asker.now",
    "target": "workspaces.id = asker.workspace_id",
}

_BY_ID = "workspaces.id = $3"
_BY_NAME = """workspaces.name_folded = $4 AND workspaces.organization_id = (
    SELECT id FROM organizations WHERE name_folded = $3)"""


def _reading(select: str, target: str = "") -> str:
    return select.format(join="LEFT JOIN", level=_LEVEL, target=target, **_ONE_ASKER)


def _locking(select: str, target: str = "") -> str:
    # Inner joins: PostgreSQL locks no row of the nullable side of an outer one.
    select = select.format(join="JOIN", level=_WRITE, target=target, **_ONE_ASKER)
    return select + "{lock streams}"


_READ_WORKSPACE = Question(
    one=_reading(_WORKSPACE, _BY_ID),
    many=_WORKSPACE.format(join="LEFT JOIN", level=_LEVEL, **_MANY_ASKERS),
)
_READ_WORKSPACE_BY_NAME = _reading(_WORKSPACE, _BY_NAME)
# Who may not write locks nothing, and waits for nobody's lock. In a batch nobody does: who would
# have to asks again apart, with the first of the two. The level is found out once: with the lock
# an owner is told no more than that they may write.
_MAY_WRITE = f" AND {_LEVEL} >= {_WRITE} "
_LOCK_WORKSPACE = Question(
    one=_locking(_WORKSPACE + _MAY_WRITE, _BY_ID),
    many=_WORKSPACE.format(join="JOIN", level=_WRITE, **_MANY_ASKERS)
    + _MAY_WRITE
    + "{lock streams} SKIP LOCKED",
)
_READ_ORGANIZATION = _CALLER + _reading(_ORGANIZATION)
_LOCK_ORGANIZATION = _CALLER + _locking(_ORGANIZATION + f" WHERE {_IS_OWNER} ")
_FIND_ACTING_TEAMS = _CALLER + _ACTING_TEAMS
_READ_TEAM = _CALLER + _reading(_TEAM)
_LOCK_TEAM = _CALLER + _locking(_TEAM + f" WHERE {_CHANGES_MEMBERS} ")
_AUTHENTICATE = Question(
    one=_WHO.format(askers="", hash="$1", now="$2", number=""),
    many=_WHO.format(
        askers="unnest(CAST($1 AS BYTEA[]), CAST($2 AS BIGINT[])) "
        "WITH ORDINALITY AS asker (hash, now, number) CROSS JOIN ",
        hash="asker.hash",
        now="asker.now",
        number="asker.number, ",
    ),
)


async def authenticate(tx: Transaction, caller: Caller, now: int) -> None:
    """Sets the caller's actor. Refuses: unauthenticated."""
    _settle(caller, await tx.ask(_AUTHENTICATE, caller.token_hash, now))


async def workspace(
    tx: Transaction, caller: Caller, now: int, workspace_id: str, *, lock: bool = False
) -> WorkspaceAccess:
    """What the caller may do in a workspace. Refuses: unauthenticated, not found.

    With `lock`, if the caller may write variables, the workspace's stream is locked before all else
    is read; otherwise nothing is locked. An owner's level is then WRITE.
    """
    args = (caller.token_hash, now, workspace_id)
    row = await _row(
        lambda: tx.ask(_READ_WORKSPACE, *args),
        (lambda: tx.ask(_LOCK_WORKSPACE, *args)) if lock else None,
        lambda row: row[8] >= Level.WRITE,
    )
    return _workspace(caller, row)


async def workspace_by_name(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> WorkspaceAccess:
    """As `workspace`, by folded names."""
    args = (caller.token_hash, now, organization, name)
    return _workspace(caller, await tx.fetch_one(_READ_WORKSPACE_BY_NAME, *args))


async def organization(
    tx: Transaction, caller: Caller, now: int, name: str, *, lock: bool = False
) -> OrganizationAccess:
    """What the caller may do with an organization. Refuses: unauthenticated, not found.

    With `lock`, if the caller owns it, the organization's stream is locked before all else is read;
    otherwise nothing is locked.
    """
    args = (caller.token_hash, now, fold(name))
    row = await _row(
        lambda: tx.fetch_one(_READ_ORGANIZATION, *args),
        (lambda: tx.fetch_one(_LOCK_ORGANIZATION, *args)) if lock else None,
        lambda row: row[8],
    )
    _settle(caller, row)
    assert row is not None
    if row[4] is None:
        raise not_found()
    acting = await tx.fetch(_FIND_ACTING_TEAMS, caller.token_hash, now, row[4])
    return OrganizationAccess(
        organization=Organization(row[4], row[5], row[6], row[7]),
        is_owner=bool(row[8]),
        is_member=bool(row[9]),
        team_ids=frozenset(team[0] for team in acting),
        manages_membership=any(team[1] for team in acting),
        stream=streams.from_row(row[-6:]),
    )


async def team(
    tx: Transaction, caller: Caller, now: int, team_id: str, *, lock: bool = False
) -> TeamAccess:
    """What the caller may do with a team. Refuses: unauthenticated, not found.

    With `lock`, if the caller may change its members, the team's stream is locked before all else
    is read; otherwise nothing is locked.
    """
    args = (caller.token_hash, now, team_id)
    row = await _row(
        lambda: tx.fetch_one(_READ_TEAM, *args),
        (lambda: tx.fetch_one(_LOCK_TEAM, *args)) if lock else None,
        lambda row: row[14],
    )
    _settle(caller, row)
    assert row is not None
    if row[4] is None:
        raise not_found()
    return TeamAccess(
        team=Team(
            id=row[4],
            organization_id=row[6],
            name=row[5],
            visibility=Visibility(row[8]),
            manage_membership=bool(row[16]),
            is_owners=bool(row[9]),
            members_manage_token=bool(row[17]),
        ),
        organization_name=row[7],
        is_owner=bool(row[10]),
        in_organization=bool(row[11]),
        in_team=bool(row[12]),
        manages_membership=bool(row[13]),
        manages_token=bool(row[15]),
        stream=streams.from_row(row[-6:]),
    )


_MOST_LOOKS = 8
"""Attempts to read a locked row consistently; each further one follows a concurrent change."""

_Ask = Callable[[], Awaitable[Row | None]]


async def _row(read: _Ask, lock: _Ask | None, has_right: Callable[[Row], bool]) -> Row | None:
    """The row; with `lock` its stream is locked, and all of it was read under that lock.

    A caller without the right that the lock demands gets the row unlocked, to be refused.

    After waiting for a row lock, READ COMMITTED re-reads the locked row alone (EvalPlanQual);
    everything else is from the statement's snapshot, taken before the wait. When the two sequence
    numbers differ, the subject was changed in between, and the row is read again.
    """
    if lock is None:
        return await read()
    for _ in range(_MOST_LOOKS):
        row = await lock()
        if row is None:
            # No right, or no such subject: the unlocked row says which, unless that changed since.
            row = await read()
            if row is None or row[4] is None or not has_right(row):
                return row
        elif row[-7] == row[-5]:
            return row
    raise storage_unavailable()


def _settle(caller: Caller, row: Row | None) -> None:
    """Sets the caller's actor. Refuses an unknown, expired or revoked token, a disabled user."""
    if row is None:
        raise unauthenticated()
    token_id, user_id, team_id, organization_id = row[:4]
    if user_id is not None:
        caller.actor = Actor("user", user_id, token_id)
    elif team_id is not None:
        caller.actor = Actor("team", team_id, token_id)
    else:
        caller.actor = Actor("organization", organization_id, token_id)


def _workspace(caller: Caller, row: Row | None) -> WorkspaceAccess:
    _settle(caller, row)
    assert row is not None
    if row[4] is None:
        raise not_found()
    return WorkspaceAccess(
        workspace=Workspace(row[4], row[5], row[6], row[7]),
        level=Level(row[8]),
        key=WrappedKey(row[6], row[9], row[10], row[11]),
        stream=streams.from_row(row[-6:]),
    )
