"""What is named by its name, and what it is called now where that is a former one.

Callers who may not see something are told of nothing but what they do see. Whether there is such a
thing makes no difference to what is asked of the store, nor to the answer (contract §3). Operators
may know what there is: what they mean is refused as not found, with the name.
"""

import json
from collections.abc import Sequence

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    Place,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.errors import Code, Refusal, not_found, there_is_no
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.variable_search import SearchAccess
from teamvars.domain.workspaces import Workspace
from teamvars.storage import access, former_names, organizations, teams, workspaces
from teamvars.storage.access_statements import (
    CALLER_COLUMNS,
    CALLER_WITH_TEAMS,
    CHANGES_SETS,
    IN_USE,
    IS_MEMBER,
    READ_ORGANIZATION_BY_NAME,
    READS_ALL,
)
from teamvars.storage.database import Transaction
from teamvars.storage.projects import PROJECT_OF

MAX_LISTED = 400
"""Workspaces with a grant up to which a search goes through them, one by one."""

_NO_RIGHT = "-"

_SEARCH_COLUMNS = f"""{CALLER_COLUMNS},
    organizations.id AS organization_id, organizations.name AS organization_name,
    CASE WHEN {READS_ALL} THEN 1 ELSE 0 END AS reads_all,
    CASE WHEN {CHANGES_SETS} THEN 1 ELSE 0 END AS changes_sets,
    CASE WHEN {IS_MEMBER} THEN 1 ELSE 0 END AS is_member,
    data_keys.version AS key_version, data_keys.master_key_id, data_keys.wrapped AS wrapped_key,
    of_caller.ids AS team_ids"""

# $3: the organization's folded name. The teams are one JSON array, so that PostgreSQL looks their
# grants up by it, where it would join grants of all teams.
_OF_ORGANIZATION = f"""FROM caller
CROSS JOIN (
    SELECT '["' || string_agg(acting.id, '","') || '"]' AS ids FROM acting
    WHERE acting.organization_id = (SELECT id FROM organizations WHERE name_folded = $3)
) AS of_caller
LEFT JOIN organizations ON organizations.name_folded = $3
LEFT JOIN data_keys ON {IN_USE}"""

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
    ) AS workspace_ids,
    (
        SELECT string_agg((
            SELECT string_agg(its.id, ' ') FROM (
                SELECT workspaces.id FROM workspaces WHERE {PROJECT_OF} = some_grants.project_id
                LIMIT {MAX_LISTED + 1}
            ) AS its
        ), ' ')
        FROM (
            SELECT project_id FROM project_grants
            WHERE team_id IN {{each of_caller.ids}} AND level >= {Level.READ.value}
            LIMIT {MAX_LISTED + 1}
        ) AS some_grants
    ) AS ids_by_project
{_OF_ORGANIZATION}
"""

# $4: the folded name of the one workspace that is wanted.
READ_SEARCH_OF_WORKSPACE = f"""{CALLER_WITH_TEAMS}
SELECT {_SEARCH_COLUMNS},
    CASE WHEN {READS_ALL} OR (
        SELECT max(level) FROM (
            SELECT level FROM grants
            WHERE team_id IN {{each of_caller.ids}} AND workspace_id = workspaces.id
            UNION ALL
            SELECT level FROM project_grants
            WHERE team_id IN {{each of_caller.ids}} AND project_id = {PROJECT_OF}
        ) AS its_grants
    ) >= {Level.READ.value} THEN workspaces.id END AS workspace_ids,
    NULL AS ids_by_project
{_OF_ORGANIZATION}
LEFT JOIN workspaces ON workspaces.organization_id = organizations.id
    AND workspaces.name_folded = $4
"""


async def organization(tx: Transaction, caller: Caller, now: int, name: str) -> OrganizationAccess:
    """As `access.organization`. Refuses as not found what the caller may not see."""
    try:
        granted = await access.organization(tx, caller, now, fold(name), READ_ORGANIZATION_BY_NAME)
        granted.require_visible()
    except Refusal as refusal:
        _require_not_found(refusal)
        raise not_found(await _organization_hint(tx, caller, name)) from None
    return granted


async def search(
    tx: Transaction, caller: Caller, now: int, organization: str, workspace: str | None
) -> SearchAccess:
    """What the caller may search of an organization, or of that workspace of it.

    Refuses as not found what the caller may not see.
    """
    try:
        granted = await _search(tx, caller, now, organization, workspace)
        granted.require_visible()
    except Refusal as refusal:
        _require_not_found(refusal)
        raise not_found(await _organization_hint(tx, caller, organization)) from None
    return granted


async def workspace(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> WorkspaceAccess:
    """As `access.workspace_by_name`. Refuses as not found what the caller may not see."""
    try:
        granted = await access.workspace_by_name(tx, caller, now, organization, name)
        granted.require_visible()
    except Refusal as refusal:
        _require_not_found(refusal)
        hint = await _organization_hint(tx, caller, organization)
        within = await _workspace_hint(tx, caller, now, organization, name)
        raise not_found(hint or within) from None
    return granted


async def organizations_meant(tx: Transaction, names: Sequence[str]) -> dict[str, Organization]:
    """Organizations by their folded names. Refuses all that are not there at once."""
    found = await organizations.find_all(tx, names)
    missing = [name for name in names if fold(name) not in found]
    if missing:
        former = await former_names.every(tx)
        told = [there_is_no(f"organization {name}", former.present(name)) for name in missing]
        raise Refusal(*(fault for refusal in told for fault in refusal.faults))
    return found


async def organization_meant(tx: Transaction, name: str) -> Organization:
    """An organization by its name."""
    return (await organizations_meant(tx, [name]))[fold(name)]


async def team_meant(tx: Transaction, organization_name: str, name: str) -> Team:
    """A team by its own name and its organization's."""
    within = await organization_meant(tx, organization_name)
    if (found := await teams.find_named(tx, within.id, name)) is None:
        raise await _there_is_no(tx, "team", former_names.TEAMS, within, name)
    return found


async def workspace_meant(tx: Transaction, organization_name: str, name: str) -> Workspace:
    """A workspace by its own name and its organization's."""
    within = await organization_meant(tx, organization_name)
    if (found := await workspaces.find_named(tx, within.name, name)) is None:
        raise await _there_is_no(tx, "workspace", former_names.WORKSPACES, within, name)
    return found


async def _there_is_no(
    tx: Transaction, noun: str, table: str, within: Organization, name: str
) -> Refusal:
    former = await former_names.inside(tx, table, [within.id])
    return there_is_no(f"{noun} {within.name}/{name}", former[within.id].present(name))


async def _search(
    tx: Transaction, caller: Caller, now: int, organization: str, workspace: str | None
) -> SearchAccess:
    """One statement says who calls, and which workspaces they may read.

    Grants are counted no further than a search can use; who has more of them is not told from one
    who may read everything before the rows are looked at.
    """
    args = caller.token_hash, now, fold(organization)
    found = (
        await tx.fetch_one(READ_SEARCH, *args)
        if workspace is None
        else await tx.fetch_one(READ_SEARCH_OF_WORKSPACE, *args, fold(workspace))
    )
    its = access.identify(caller, found)
    id_, name, reads_all, changes_sets, is_member, *key, team_ids, workspace_ids, by_project = its
    if id_ is None:
        raise not_found()
    caller.place = Place(id_, name)
    if reads_all or is_member:
        caller.organization_id = id_
    listed = f"{workspace_ids or ''} {by_project or ''}".split()
    is_listed = workspace is not None or (not reads_all and len(listed) <= MAX_LISTED)
    return SearchAccess(
        organization_id=id_,
        organization_name=name,
        reads_all=bool(reads_all),
        changes_sets=bool(changes_sets),
        is_member=bool(is_member),
        team_ids=tuple(json.loads(team_ids or "[]")),
        workspace_ids=tuple(sorted({*listed} - {_NO_RIGHT})) if is_listed else None,
        key=WrappedKey(id_, *key),
    )


def _require_not_found(refusal: Refusal) -> None:
    if refusal.faults[0].code is not Code.NOT_FOUND:
        raise refusal


async def _organization_hint(tx: Transaction, caller: Caller, name: str) -> str | None:
    assert caller.actor is not None  # known since the access check
    former = await former_names.of_organizations_seen(tx, caller.actor)
    present = former.present(name)
    return None if present is None else f"The organization is called {present} now."


async def _workspace_hint(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> str | None:
    assert caller.actor is not None  # known since the access check
    former = await former_names.of_workspaces_seen(tx, caller.actor, organization)
    try:  # also where there is none: nobody is to tell that from one they may not see
        seen = await access.workspace(tx, caller, now, former.id_of(name) or "")
    except Refusal:
        return None
    if seen.level < Level.READ:
        return None
    return f"The workspace is called {seen.workspace.name} now."
