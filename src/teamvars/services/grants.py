"""Grants: show, create, change and delete them."""

from teamvars.domain.access import Caller, Level, TeamAccess
from teamvars.domain.errors import Fault, Kind, Refusal, forbidden, not_found, refuse_all
from teamvars.domain.grants import (
    AccessType,
    Grant,
    GrantDraft,
    NamedGrant,
    no_such_team,
    no_such_workspace,
    owners_take_no_grants,
)
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import grants as grant_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, grants
from teamvars.storage.database import Database, Transaction


class Grants:
    """What callers do with grants. All methods refuse unauthenticated and not found.

    A grant is seen by whoever sees the team and may read the workspace's variables.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(self, caller: Caller, workspace_id: str, page: Page) -> Paged[NamedGrant]:
        """The grants on a workspace."""

        async def body(tx: Transaction) -> Paged[NamedGrant]:
            now = self._clock()
            granted = await access.workspace(tx, caller, now, workspace_id)
            granted.require_visible()
            whole = await access.organization(tx, caller, now, granted.workspace.organization_name)
            return await grants.of_workspace(tx, workspace_id, whole.sees_secret, page)

        return await self._database.read(body)

    async def list_of_team(self, caller: Caller, team_id: str, page: Page) -> Paged[NamedGrant]:
        """The grants of a team."""

        async def body(tx: Transaction) -> Paged[NamedGrant]:
            now = self._clock()
            granted = await access.team(tx, caller, now, team_id)
            granted.require_visible()
            whole = await access.organization(tx, caller, now, granted.organization_name)
            seen = None if whole.is_owner else whole.team_ids
            return await grants.of_team(tx, team_id, seen, page)

        return await self._database.read(body)

    async def read(self, caller: Caller, id_: str) -> Grant:
        """One grant."""

        async def body(tx: Transaction) -> Grant:
            found, _ = await _seen(tx, caller, self._clock(), id_)
            return found

        return await self._database.read(body)

    async def create(self, caller: Caller, draft: GrantDraft) -> Grant:
        """Gives a team access to a workspace of its organization.

        Refuses: forbidden, every fault of the draft, the owners team, a team that has access.
        """

        async def body(tx: Transaction) -> Grant:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            team_id, workspace_id = draft.team_id, draft.workspace_id
            await access.authenticate(tx, caller, ledger.now)
            if team_id is None or workspace_id is None:
                refuse_all(draft.all_faults())
                raise not_found()
            granted = await ledger.locked(
                lambda: _named(ledger, caller, team_id, workspace_id),
                lambda _: [team_id, workspace_id],
            )
            faults = draft.all_faults()
            if granted.team.is_owners:
                faults.append(owners_take_no_grants())
            refuse_all(faults)
            place = granted.team.organization_id, team_id, workspace_id
            base = Grant(new_id("tws"), *place, AccessType.CUSTOM, Level.NONE)
            made = draft.applied_to(base)
            await grant_changes.create(ledger, [made])
            return made

        return await self._database.write(body)

    async def update(self, caller: Caller, id_: str, draft: GrantDraft) -> Grant:
        """Changes a grant; changes nothing when the draft says nothing new.

        Refuses: forbidden, every fault of the draft, another id than the path's.
        """

        async def body(tx: Transaction) -> Grant:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            before = await _locked(ledger, caller, id_)
            refuse_all([*draft.all_faults(), *draft.conflicts(id_)])
            after = draft.applied_to(before)
            if after != before:
                await grant_changes.update(ledger, [(before, after)])
            return after

        return await self._database.write(body)

    async def delete(self, caller: Caller, id_: str) -> None:
        """Takes a team's access to a workspace away. Refuses: forbidden."""

        async def body(tx: Transaction) -> None:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found = await _locked(ledger, caller, id_)
            await grant_changes.delete(ledger, found.team_id, [found.workspace_id])

        await self._database.write(body)


async def _seen(tx: Transaction, caller: Caller, now: int, id_: str) -> tuple[Grant, TeamAccess]:
    """A grant that the caller sees, and what they may do with its team."""
    await access.authenticate(tx, caller, now)
    found = await grants.find(tx, id_)
    if found is None:
        raise not_found()
    granted = await access.team(tx, caller, now, found.team_id)
    granted.require_visible()
    (await access.workspace(tx, caller, now, found.workspace_id)).require_visible()
    return found, granted


async def _locked(ledger: Ledger, caller: Caller, id_: str) -> Grant:
    """A grant that the caller may change, once its team is locked."""

    async def look() -> Grant:
        found, granted = await _seen(ledger.tx, caller, ledger.now, id_)
        _require_owner(granted)
        return found

    return await ledger.locked(look, lambda seen: [seen.team_id])


async def _named(ledger: Ledger, caller: Caller, team_id: str, workspace_id: str) -> TeamAccess:
    """What the caller may do with the team; the workspace is of the same organization."""
    try:
        granted = await access.team(ledger.tx, caller, ledger.now, team_id)
        granted.require_visible()
    except Refusal as refusal:
        raise _pointing(refusal, no_such_team()) from None
    _require_owner(granted)
    try:
        beside = await access.workspace(ledger.tx, caller, ledger.now, workspace_id)
    except Refusal as refusal:
        raise _pointing(refusal, no_such_workspace()) from None
    if beside.workspace.organization_id != granted.team.organization_id:
        raise Refusal(no_such_workspace())
    return granted


def _pointing(refusal: Refusal, fault: Fault) -> Refusal:
    """The refusal, with the place in the document when the thing was not found."""
    return Refusal(fault) if refusal.kind is Kind.NOT_FOUND else refusal


def _require_owner(granted: TeamAccess) -> None:
    if not granted.is_owner:
        raise forbidden("Only owners and the organization's token may change access.")
