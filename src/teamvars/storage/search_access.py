"""Access for a search: one statement says who calls, and which workspaces they may read.

Grants are counted no further than a search can use; who has more of them is not told from one who
may read everything before the rows are looked at.
"""

import json
from typing import NamedTuple

from teamvars.domain.access import Caller, Level, Place, WrappedKey
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, not_found
from teamvars.domain.names import fold
from teamvars.domain.variable_search import SearchAccess
from teamvars.storage.access import CallerRow, identify
from teamvars.storage.access_statements import (
    CALLER_COLUMNS,
    CALLER_WITH_TEAMS,
    IS_MEMBER,
    IS_OWNER,
)
from teamvars.storage.database import Transaction

MAX_LISTED = 400
"""Grants up to which a search goes through the workspaces they are on, one by one."""

_NO_RIGHT = "-"

_SEARCH_COLUMNS = f"""{CALLER_COLUMNS},
    organizations.id AS organization_id, organizations.name AS organization_name,
    CASE WHEN {IS_OWNER} THEN 1 ELSE 0 END AS is_owner,
    CASE WHEN {IS_MEMBER} THEN 1 ELSE 0 END AS is_member,
    data_keys.version AS key_version, data_keys.master_key_id, data_keys.wrapped AS wrapped_key,
    of_caller.ids AS team_ids"""

# $3: the organization's folded name. The teams are one JSON array, so that PostgreSQL looks their
# grants up by it, where it would join grants of all teams.
_OF_ORGANIZATION = """FROM caller
CROSS JOIN (
    SELECT '["' || string_agg(acting.id, '","') || '"]' AS ids FROM acting
    WHERE acting.organization_id = (SELECT id FROM organizations WHERE name_folded = $3)
) AS of_caller
LEFT JOIN organizations ON organizations.name_folded = $3
LEFT JOIN data_keys ON data_keys.organization_id = organizations.id
    AND data_keys.version = organizations.data_key_version"""

# Of each grant its workspace, or a hyphen if it gives no right.
READ_SEARCH = f"""{CALLER_WITH_TEAMS}
SELECT {_SEARCH_COLUMNS},
    (
        SELECT string_agg(
            CASE WHEN level >= {Level.READ.value} THEN workspace_id ELSE '{_NO_RIGHT}' END, ' ')
        FROM (
            SELECT level, workspace_id FROM grants WHERE team_id IN {{each of_caller.ids}}
            LIMIT {MAX_LISTED + 1}
        ) AS some_grants
    ) AS workspace_ids
{_OF_ORGANIZATION}
"""

# $4: the folded name of the one workspace that is wanted.
READ_SEARCH_OF_WORKSPACE = f"""{CALLER_WITH_TEAMS}
SELECT {_SEARCH_COLUMNS},
    CASE WHEN {IS_OWNER} OR (
        SELECT max(level) FROM grants
        WHERE team_id IN {{each of_caller.ids}} AND workspace_id = workspaces.id
    ) >= {Level.READ.value} THEN workspaces.id END AS workspace_ids
{_OF_ORGANIZATION}
LEFT JOIN workspaces ON workspaces.organization_id = organizations.id
    AND workspaces.name_folded = $4
"""


class SearchRow(NamedTuple):
    """A row of either statement. All but the caller is None when there is no such organization."""

    token_id: str
    user_id: str | None
    token_team_id: str | None
    token_organization_id: str | None
    organization_id: str | None
    organization_name: str
    is_owner: int
    is_member: int
    key_version: int
    master_key_id: str
    wrapped_key: bytes
    team_ids: str | None
    workspace_ids: str | None


async def search(
    tx: Transaction, caller: Caller, now: int, organization: str, workspace: str | None
) -> SearchAccess:
    """What the caller may search of an organization, or of that workspace of it by name.

    Refuses: unauthenticated, not found.
    """
    args = caller.token_hash, now, fold(organization)
    found = (
        await tx.fetch_one(READ_SEARCH, *args)
        if workspace is None
        else await tx.fetch_one(READ_SEARCH_OF_WORKSPACE, *args, fold(workspace))
    )
    if found is None:
        raise Refusal(NO_VALID_TOKEN)
    row = SearchRow(*found)
    identify(caller, CallerRow(*found[:4]))
    if row.organization_id is None:
        raise not_found()
    caller.place = Place(row.organization_id, row.organization_name)
    if row.is_owner or row.is_member:
        caller.organization_id = row.organization_id
    listed = (row.workspace_ids or "").split()
    is_listed = workspace is not None or (not row.is_owner and len(listed) <= MAX_LISTED)
    return SearchAccess(
        organization_id=row.organization_id,
        organization_name=row.organization_name,
        is_owner=bool(row.is_owner),
        is_member=bool(row.is_member),
        team_ids=tuple(json.loads(row.team_ids or "[]")),
        workspace_ids=tuple(sorted({*listed} - {_NO_RIGHT})) if is_listed else None,
        key=WrappedKey(row.organization_id, row.key_version, row.master_key_id, row.wrapped_key),
    )
