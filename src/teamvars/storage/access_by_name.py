"""Access to what is named by its name, and what it is called now where that is a former one.

Whoever may not see something is told of nothing but what they do see. Whether there is such a
thing makes no difference to what is asked of the store, nor to the answer (contract §3).
"""

from teamvars.domain.access import Caller, Level, OrganizationAccess, WorkspaceAccess
from teamvars.domain.errors import Code, Refusal, not_found
from teamvars.domain.variable_search import SearchAccess
from teamvars.storage import access, former_names, search_access
from teamvars.storage.database import Transaction


async def organization(tx: Transaction, caller: Caller, now: int, name: str) -> OrganizationAccess:
    """As `access.organization`. Refuses as not found what the caller may not see."""
    try:
        granted = await access.organization(tx, caller, now, name)
        granted.require_visible()
    except Refusal as refusal:
        _require_not_found(refusal)
        raise not_found(await _organization_hint(tx, caller, name)) from None
    return granted


async def search(
    tx: Transaction, caller: Caller, now: int, organization: str, workspace: str | None
) -> SearchAccess:
    """As `search_access.search`. Refuses as not found what the caller may not see."""
    try:
        granted = await search_access.search(tx, caller, now, organization, workspace)
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
