"""The SQL of access: who calls, what the caller may do, and where the stream of the subject stands.

$1 is the hash of the token and $2 the time; what else there is each statement says. As the engines
get them, the statements are in docs/sql/. `access` reads them by position.

They join with LEFT JOIN: there is a row for a valid token whether the subject exists or not.
"""

from enum import IntFlag

from msgspec.structs import replace

from teamvars.domain.access import Level
from teamvars.domain.teams import INCLUDED, Right
from teamvars.domain.tokens import WAY_BACK
from teamvars.storage.database import Lookup
from teamvars.storage.pages import lasting
from teamvars.storage.projects import PROJECT_OF, TARGETS_OF
from teamvars.storage.streams import PLACE
from teamvars.storage.teams import RIGHTS

# The token was not revoked and has not expired, and its user, if it is one's, is there and not
# disabled. The last is a scalar subquery, which is one lookup by primary key: PostgreSQL turns
# EXISTS into a join, and reads all users for it.
_IS_VALID = f"""caller.hash = $1
    AND {lasting("caller.expires_at", "$2")}
    AND (caller.user_id IS NULL
        OR (SELECT users.disabled FROM users WHERE users.id = caller.user_id) = 0)"""

SET_COLUMNS = """variable_sets.id AS set_id, variable_sets.name AS set_name,
    variable_sets.description, variable_sets.scope, variable_sets.priority,
    variable_sets.created_at, variable_sets.project_id"""

CALLER_COLUMNS = """caller.id AS token_id, caller.user_id,
    caller.team_id AS token_team_id, caller.organization_id AS token_organization_id,
    caller.reach"""

# The host made the user's token, for so short a time that it is good where members have to sign in.
_FROM_HOST = f"""caller.created_by IS NULL
            AND caller.expires_at - caller.created_at <= {WAY_BACK}"""

# A membership of the caller that counts, in its organization: where the token has rights at all, if
# that is not wherever its user has; only what a session made has a reach. All ids are of one
# length, and hold no blank.
IS_CALLERS = f"""memberships.user_id = caller.user_id AND memberships.status = 'active'
        AND (caller.reach IS NULL
            OR replace(CAST(caller.reach AS TEXT), memberships.organization_id, '')
                <> CAST(caller.reach AS TEXT))
        AND (organizations.sso_required = 0 OR caller.reach IS NOT NULL OR {_FROM_HOST})"""

# With which of its data keys an organization seals, in a join with it; and what a `WrappedKey` has.
IN_USE = """data_keys.organization_id = organizations.id
    AND data_keys.version = organizations.data_key_version"""
KEY = "data_keys.organization_id, data_keys.version, data_keys.master_key_id, data_keys.wrapped"

_STREAM_COLUMNS = f"streams.id AS stream_id, {PLACE}"
_PLACE_BEFORE_RIGHT = -6


def _access(
    one: tuple[str, str],
    named: str,
    columns: str,
    right: tuple[str, str, int],
    keys: str = f"LEFT JOIN data_keys ON {IN_USE}\n",
) -> Lookup:
    """The lookup of what callers may do with a row of a table, which has a stream and is in an
    organization, joined with its `keys`. `one`: the table, and what the row is found by, parameters
    from $3 on, which the many calls have `named` so.

    `right` is what its last column is called, the expression, and how much of it is the right to
    change. Who has that right has the stream locked, if it is asked for. PostgreSQL locks in a
    subquery of its own, once it has found the right, so that nobody else waits for the lock; and
    that subquery has the row as it is once it is locked (EvalPlanQual), while all else is of the
    statement's snapshot. `is_held` is NULL where nothing was locked.
    """
    (table, found_by), (name, expression, least) = one, right
    joins = f"""LEFT JOIN {table} ON {found_by}
LEFT JOIN organizations ON organizations.id = {table}.organization_id
{keys}LEFT JOIN streams ON streams.id = {table}.id"""
    types = {"hash": "BYTEA", "now": "BIGINT", **dict.fromkeys(named.split(), "TEXT")}
    read = f"""
SELECT {columns},
    {expression} AS {name}
FROM tokens AS caller
{joins}
WHERE {_IS_VALID}
"""
    lock = f"""
SELECT {columns},
    its.{name}, held.sequence = streams.sequence AS is_held
FROM tokens AS caller
{joins}
CROSS JOIN LATERAL (SELECT {expression} AS {name} OFFSET 0) AS its
LEFT JOIN LATERAL (
    SELECT held.sequence FROM streams AS held
    WHERE held.id = streams.id AND its.{name} >= {least:d}
    {{lock held}}
) AS held ON TRUE
WHERE {_IS_VALID}
"""
    return replace(
        Lookup.joining(read, "tokens", **types),
        locking=Lookup.joining(lock, "tokens", **types),
        place=_PLACE_BEFORE_RIGHT,
    )


AUTHENTICATE = Lookup.joining(
    f"""
SELECT {CALLER_COLUMNS}
FROM tokens AS caller
WHERE {_IS_VALID}
""",
    "tokens",
    hash="BYTEA",
    now="BIGINT",
)

# Workspaces


def level_of_team(by_project: str) -> str:
    """The `Level` that a team has in a workspace: by a grant on it, if there is one, by one on its
    project, whose level is `by_project`, or by a right in the organization.
    """
    return f"""CASE WHEN teams.is_owners = 1 THEN {Level.OWNER:d}
                WHEN teams.manage_workspaces = 1 THEN {Level.MANAGE:d}
                WHEN grants.level = {Level.WRITE:d} OR {by_project} = {Level.WRITE:d}
                    THEN {Level.WRITE:d}
                WHEN grants.level = {Level.READ:d} OR teams.read_workspaces = 1
                    OR {by_project} = {Level.READ:d} THEN {Level.READ:d}
                ELSE {Level.NONE:d} END"""


_BY_PROJECT = f"""(
                    SELECT project_grants.level FROM project_grants
                    WHERE project_grants.team_id = teams.id
                        AND project_grants.project_id = {PROJECT_OF})"""

# The caller's, by the team whose token it is or by those that the user is in. Without common table
# expressions: nothing is materialised, and every step is one lookup in an index. One subquery for
# both: PostgreSQL opens every table of a statement, whether it reads it or not. A subquery for each
# team, and in it one for the project, which is asked where the workspace does not say enough: as
# joins, PostgreSQL would read all teams of the organization for each call, and hash them. CROSS
# JOIN fixes the order of the joins on SQLite, which would else look through all members of a team.
_LEVEL = f"""CASE
        WHEN caller.organization_id = organizations.id THEN {Level.OWNER:d}
        ELSE coalesce((
            SELECT max((
                SELECT {level_of_team(_BY_PROJECT)}
                FROM teams
                LEFT JOIN grants ON grants.team_id = teams.id
                    AND grants.workspace_id = workspaces.id
                WHERE teams.id = acting.id AND teams.organization_id = organizations.id))
            FROM (
                SELECT caller.team_id AS id WHERE caller.team_id IS NOT NULL
                UNION ALL
                SELECT team_members.team_id
                FROM memberships CROSS JOIN team_members
                WHERE memberships.organization_id = organizations.id
                    AND {IS_CALLERS}
                    AND team_members.membership_id = memberships.id
            ) AS acting
        ), 0)
    END"""

_OWNER_COLUMNS = f"""organizations.id AS organization_id, organizations.name AS organization_name,
    data_keys.version AS key_version, data_keys.master_key_id, data_keys.wrapped AS wrapped_key,
    {_STREAM_COLUMNS}"""

_WORKSPACE = f"""{CALLER_COLUMNS},
    workspaces.id AS workspace_id, workspaces.name AS workspace_name,
    {_OWNER_COLUMNS}"""
_IN_WORKSPACE = "level", _LEVEL, Level.WRITE

_WITH_ID = "workspaces", "workspaces.id = $3"
# $3: the organization's folded name, $4: its own.
_WITH_NAME = (
    "workspaces",
    """workspaces.name_folded = $4
    AND workspaces.organization_id = (SELECT id FROM organizations WHERE name_folded = $3)""",
)

READ_WORKSPACE = _access(_WITH_ID, "workspace_id", _WORKSPACE, _IN_WORKSPACE)
READ_WORKSPACE_BY_NAME = _access(_WITH_NAME, "organization workspace", _WORKSPACE, _IN_WORKSPACE)

# The heads of the sets that reach a workspace, in the order of their ids: of those that `effective`
# finds as well, or whoever compares these would look again and again.
_HEADS_OF_SETS = f"""(
        SELECT CAST(string_agg(CAST(of_set.head AS {{bytes}}), '' ORDER BY of_set.id) AS {{bytes}})
        FROM (
            SELECT DISTINCT variable_sets.id AS set_id FROM set_targets
            CROSS JOIN variable_sets
            WHERE set_targets.target_id
                    IN {TARGETS_OF}
                AND variable_sets.id = set_targets.set_id
        ) AS reaching
        CROSS JOIN streams AS of_set
        WHERE of_set.id = reaching.set_id
    )"""

# With these heads first.
READ_WORKSPACE_AND_SETS = _access(
    _WITH_ID, "workspace_id", f"{_HEADS_OF_SETS} AS set_heads, {_WORKSPACE}", _IN_WORKSPACE
)

# Variable sets

# Whether a set reaches any workspace at all.
REACHES_SOME = f"""EXISTS (
                    SELECT 1 FROM set_targets
                    JOIN workspaces ON workspaces.id = set_targets.workspace_id
                        OR workspaces.organization_id = set_targets.target_id
                        OR {PROJECT_OF} = set_targets.target_id
                    WHERE set_targets.set_id = variable_sets.id)"""

# Whether it reaches one that a team may read.
_READS_SET = f"""((teams.read_workspaces = 1 OR teams.manage_workspaces = 1) AND {REACHES_SOME}
                OR EXISTS (
                    SELECT 1 FROM grants
                    JOIN workspaces ON workspaces.id = grants.workspace_id
                    JOIN set_targets ON set_targets.set_id = variable_sets.id
                        AND set_targets.target_id
                            IN {TARGETS_OF}
                    WHERE grants.team_id = teams.id AND grants.level >= {Level.READ:d})
                OR EXISTS (
                    SELECT 1 FROM project_grants CROSS JOIN workspaces CROSS JOIN set_targets
                    WHERE project_grants.team_id = teams.id
                        AND project_grants.level >= {Level.READ:d}
                        AND {PROJECT_OF} = project_grants.project_id
                        AND set_targets.set_id = variable_sets.id
                        AND set_targets.target_id
                            IN {TARGETS_OF}))"""

# What a team may do with the sets of the project whose this one is, by a grant on that.
_ITS_PROJECTS_SETS = """(
                    SELECT project_grants.set_level FROM project_grants
                    WHERE project_grants.team_id = teams.id
                        AND project_grants.project_id = variable_sets.project_id)"""

# Rights of several teams count together, and what is read by one of them.
_SET_LEVEL_OF_TEAMS = f"""CASE WHEN max(teams.is_owners) = 1 THEN {Level.OWNER:d}
                WHEN max(teams.manage_workspaces) = 1 AND max(teams.manage_projects) = 1
                    THEN {Level.MANAGE:d}
                WHEN max({_ITS_PROJECTS_SETS}) = {Level.WRITE:d} THEN {Level.WRITE:d}
                WHEN max({_ITS_PROJECTS_SETS}) = {Level.READ:d}
                    OR max(CASE WHEN {_READS_SET} THEN 1 ELSE 0 END) = 1 THEN {Level.READ:d}
                ELSE {Level.NONE:d} END"""

_SET_LEVEL = f"""CASE
        WHEN caller.organization_id = organizations.id THEN {Level.OWNER:d}
        WHEN caller.user_id IS NOT NULL THEN (
            SELECT {_SET_LEVEL_OF_TEAMS}
            FROM memberships
            JOIN team_members ON team_members.membership_id = memberships.id
            JOIN teams ON teams.id = team_members.team_id
                AND teams.organization_id = organizations.id
            WHERE memberships.organization_id = organizations.id
                AND {IS_CALLERS}
        )
        ELSE (
            SELECT {_SET_LEVEL_OF_TEAMS}
            FROM teams
            WHERE teams.id = caller.team_id AND teams.organization_id = organizations.id
        )
    END"""

READ_SET = _access(
    ("variable_sets", "variable_sets.id = $3"),
    "set_id",
    f"""{CALLER_COLUMNS},
    {SET_COLUMNS},
    {_OWNER_COLUMNS}""",
    ("level", _SET_LEVEL, Level.WRITE),
)

# Organizations


def rights_of(table: str) -> str:
    """The columns of what teams may do in the organization, of a table of teams."""
    return ", ".join(f"{table}.{column}" for column in RIGHTS.values())


# `acting`: every team whose rights the caller has; one of another organization than the membership
# that is in it gives none, whoever has altered the row. CROSS JOIN fixes the order of the joins on
# SQLite, which would else look for the caller among all members of a team.
CALLER_WITH_TEAMS = f"""
WITH caller AS (
    SELECT id, user_id, team_id, organization_id, reach, created_by, created_at, expires_at
    FROM tokens AS caller
    WHERE {_IS_VALID}
), acting AS (
    SELECT teams.id, teams.organization_id, teams.is_owners, {rights_of("teams")}
    FROM caller CROSS JOIN memberships CROSS JOIN organizations CROSS JOIN team_members
        CROSS JOIN teams
    WHERE {IS_CALLERS}
        AND organizations.id = memberships.organization_id
        AND team_members.membership_id = memberships.id AND teams.id = team_members.team_id
        AND teams.organization_id = memberships.organization_id
    UNION ALL
    SELECT teams.id, teams.organization_id, teams.is_owners, {rights_of("teams")}
    FROM caller
    JOIN teams ON teams.id = caller.team_id
)"""

# Every workspace is read by owners, and by whoever has a right to.
READS_ALL = """(
        caller.organization_id = organizations.id
        OR EXISTS (SELECT 1 FROM acting WHERE acting.organization_id = organizations.id
            AND (acting.is_owners = 1 OR acting.read_workspaces = 1
                OR acting.manage_workspaces = 1))
    )"""

IS_OWNER = """(
        caller.organization_id = organizations.id
        OR EXISTS (SELECT 1 FROM acting
            WHERE acting.organization_id = organizations.id AND acting.is_owners = 1)
    )"""

# Rights of several teams count together.
CHANGES_SETS = f"""(
        {IS_OWNER}
        OR (SELECT max(acting.manage_workspaces) + max(acting.manage_projects) FROM acting
            WHERE acting.organization_id = organizations.id) = 2
    )"""

# Through a team, which is faster to find, or with an accepted invitation alone.
IS_MEMBER = f"""(
        EXISTS (SELECT 1 FROM acting WHERE acting.organization_id = organizations.id)
        OR EXISTS (SELECT 1 FROM memberships WHERE memberships.organization_id = organizations.id
            AND {IS_CALLERS})
    )"""

_ORGANIZATION_COLUMNS = f"""{CALLER_COLUMNS},
    organizations.id AS organization_id, organizations.name AS organization_name,
    organizations.email, organizations.created_at, organizations.settings,
    organizations.sso_required,
    CASE WHEN {IS_OWNER} THEN 1 ELSE 0 END AS is_owner,
    CASE WHEN {IS_MEMBER} THEN 1 ELSE 0 END AS is_member,
    {_STREAM_COLUMNS}"""

# $3: the organization's id.
READ_ORGANIZATION = f"""{CALLER_WITH_TEAMS}
SELECT {_ORGANIZATION_COLUMNS}
FROM caller
LEFT JOIN organizations ON organizations.id = $3
LEFT JOIN streams ON streams.id = organizations.id
"""

# $3: the organization's folded name.
READ_ORGANIZATION_BY_NAME = READ_ORGANIZATION.replace(
    "organizations.id = $3", "organizations.name_folded = $3"
)

# $3: the organization's id.
# A row for each team of an organization, or one without a team.
FIND_ACTING_TEAMS = f"""{CALLER_WITH_TEAMS}
SELECT acting.id, {rights_of("acting")}
FROM caller LEFT JOIN acting ON acting.organization_id = $3
"""

# A row for each team, or one without a team.
FIND_SIGHT = f"""{CALLER_WITH_TEAMS}
SELECT {CALLER_COLUMNS},
    acting.id, acting.organization_id, acting.is_owners, {rights_of("acting")}
FROM caller LEFT JOIN acting ON 1 = 1
"""

# Teams


class TeamRight(IntFlag):
    """What a caller is to a team or may do with it: one bit each of `rights`, before those of the
    rights in the organization.

    CHANGES_MEMBERS is the highest, so that a comparison finds it.
    """

    IN_ORGANIZATION = 1
    IN_TEAM = 2
    OWNER = 4
    LACKS_GRANT = 8
    CHANGES_MEMBERS = 1 << 16


BITS = {right: 1 << place for place, right in enumerate(Right, start=4)}
"""Those of the rights that the caller's teams were given in the organization."""


def _has(*rights: Right) -> str:
    """Whether the caller has one of these."""
    return f"(its.bits & {sum(BITS[right] for right in rights)}) > 0"


def _sum(*bits: str) -> str:
    return "\n            + ".join(bits)


# Of a caller that acts with the rights of the teams `acting`.
_OF_TEAMS = _sum(
    f"CASE WHEN count(*) > 0 THEN {TeamRight.IN_ORGANIZATION:d} ELSE 0 END",
    f"coalesce(max(CASE WHEN acting.id = teams.id THEN 1 ELSE 0 END), 0) * {TeamRight.IN_TEAM:d}",
    f"coalesce(max(acting.is_owners), 0) * {TeamRight.OWNER:d}",
    *(f"coalesce(max(acting.{RIGHTS[right]}), 0) * {bit}" for right, bit in BITS.items()),
)

# As `_LEVEL`: no common table expression, and the joins in an order that SQLite cannot change, as
# it would else look for the caller among all members of a team.
_BITS = f"""CASE
        WHEN caller.organization_id = organizations.id THEN {TeamRight.OWNER:d}
        WHEN caller.user_id IS NOT NULL THEN (
            SELECT {_OF_TEAMS}
            FROM memberships
            LEFT JOIN team_members ON team_members.membership_id = memberships.id
            LEFT JOIN teams AS acting ON acting.id = team_members.team_id
                AND acting.organization_id = organizations.id
            WHERE memberships.organization_id = organizations.id
                AND {IS_CALLERS}
        )
        ELSE (
            SELECT {_OF_TEAMS}
            FROM teams AS acting
            WHERE acting.id = caller.team_id AND acting.organization_id = organizations.id
        )
    END"""

_EVERYWHERE = f"""CASE WHEN {_has(Right.MANAGE_WORKSPACES)} THEN {Level.MANAGE:d}
                WHEN {_has(Right.READ_WORKSPACES)} THEN {Level.READ:d} ELSE {Level.NONE:d} END"""
_IS_OWN = f"""(own.team_id = caller.team_id OR own.team_id IN (
                        SELECT team_members.team_id FROM memberships
                        JOIN team_members ON team_members.membership_id = memberships.id
                        WHERE memberships.organization_id = organizations.id
                            AND {IS_CALLERS}))"""

# Whether the team has a grant, on a workspace or on a project, of more than all of the caller's
# teams together: what they have on its project they have in a workspace, and not the reverse, since
# others may come into the project. Who changes all sets has all of what it has of a project's sets.
_LACKS_GRANT = f"""(EXISTS (
        SELECT 1 FROM grants AS its_grants
        WHERE its_grants.team_id = teams.id
            AND its_grants.level > {_EVERYWHERE}
            AND NOT EXISTS (
                SELECT 1 FROM grants AS own
                WHERE own.workspace_id = its_grants.workspace_id AND own.level >= its_grants.level
                    AND {_IS_OWN}
            )
            AND NOT EXISTS (
                SELECT 1 FROM workspaces
                JOIN project_grants AS own ON own.project_id = {PROJECT_OF}
                WHERE workspaces.id = its_grants.workspace_id AND own.level >= its_grants.level
                    AND {_IS_OWN}
            )
    ) OR EXISTS (
        SELECT 1 FROM project_grants AS its_grants
        WHERE its_grants.team_id = teams.id
            AND its_grants.level > {_EVERYWHERE}
            AND NOT EXISTS (
                SELECT 1 FROM project_grants AS own
                WHERE own.project_id = its_grants.project_id AND own.level >= its_grants.level
                    AND {_IS_OWN}
            )
    ) OR EXISTS (
        SELECT 1 FROM project_grants AS its_grants
        WHERE its_grants.team_id = teams.id AND its_grants.set_level > {Level.NONE:d}
            AND NOT ({_has(Right.MANAGE_WORKSPACES)} AND {_has(Right.MANAGE_PROJECTS)})
            AND NOT EXISTS (
                SELECT 1 FROM project_grants AS own
                WHERE own.project_id = its_grants.project_id
                    AND own.set_level >= its_grants.set_level AND {_IS_OWN}
            )
    ))"""

_MANAGES_TEAMS = _has(Right.MANAGE_TEAMS, Right.MANAGE_ORGANIZATION_ACCESS)

# Whether the caller has each right of the team, be it in one that includes it, as in `whole`.
_GIVING = {right: [right, *(one for one in INCLUDED if INCLUDED[one] is right)] for right in Right}
_HAS_ITS_RIGHTS = "\n                    AND ".join(
    f"(teams.{RIGHTS[right]} = 0 OR {_has(*giving)})" for right, giving in _GIVING.items()
)

# Only where the rest depends on it are grants looked at. The last bit is as `TeamAccess.may_change`
# has it. With a LIMIT PostgreSQL computes what is in a subquery once, not wherever it is used.
_RIGHTS = f"""(
        SELECT its.bits + its.lacks_grant * {TeamRight.LACKS_GRANT:d}
            + CASE WHEN (its.bits & {TeamRight.OWNER:d}) > 0
                    OR teams.is_owners = 0
                    AND (teams.visibility <> 'secret' OR (its.bits & {TeamRight.IN_TEAM:d}) > 0
                        OR {_has(Right.ACCESS_SECRET_TEAMS)})
                    AND {_HAS_ITS_RIGHTS}
                    AND ({_has(Right.MANAGE_MEMBERSHIP)}
                        OR {_MANAGES_TEAMS} AND its.lacks_grant = 0)
                THEN {TeamRight.CHANGES_MEMBERS:d} ELSE 0 END
        FROM (
            SELECT its.bits, CASE WHEN {_MANAGES_TEAMS} AND {_LACKS_GRANT}
                THEN 1 ELSE 0 END AS lacks_grant
            FROM (SELECT {_BITS} AS bits LIMIT 1) AS its LIMIT 1
        ) AS its
    )"""

READ_TEAM = _access(
    ("teams", "teams.id = $3"),
    "team_id",
    f"""{CALLER_COLUMNS},
    teams.id AS team_id, teams.name AS team_name,
    organizations.id AS organization_id, organizations.name AS organization_name,
    teams.visibility, teams.is_owners, teams.members_manage_token, {rights_of("teams")},
    teams.settings,
    {_STREAM_COLUMNS}""",
    ("rights", _RIGHTS, TeamRight.CHANGES_MEMBERS),
    keys="",
)
