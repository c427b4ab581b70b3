"""Teams: show, create, change and delete them."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, TeamAccess
from teamvars.domain.errors import Code, Fault, Refusal, forbidden, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Membership
from teamvars.domain.pages import Page
from teamvars.domain.team_members import LinkageType
from teamvars.domain.teams import Team, TeamDraft, TeamFilter, Visibility
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import teams as team_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, access_by_name, memberships, teams
from teamvars.storage.database import Database, Transaction

MAX_LISTED_USERS = 1000
"""Of all teams of a page together; where there are more, each must be asked for its own."""


class TeamView(msgspec.Struct, frozen=True):
    """A team, and what the one who looks may do with it.

    `user_ids` are its users, in order; None where a list would have too many. `member_ids` are its
    memberships, in order; None unless they were asked for.
    """

    team: Team
    organization_name: str
    members_count: int
    may_manage: bool
    may_change_members: bool
    may_manage_token: bool
    user_ids: Sequence[str] | None = None
    member_ids: Sequence[str] | None = None


class TeamPage(msgspec.Struct, frozen=True):
    """Some of the teams a caller sees, by name, how many there are in all, and their members."""

    teams: list[TeamView]
    total: int
    members: Mapping[str, Membership]


class Teams:
    """What callers do with teams. All methods refuse unauthenticated and not found.

    Members of an organization see its teams, a secret one only if they are in it.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(
        self, caller: Caller, organization: str, wanted: TeamFilter, page: Page, *, members: bool
    ) -> TeamPage:
        """The organization's teams that the caller sees, on request with their members."""

        async def body(tx: Transaction) -> TeamPage:
            granted = await access_by_name.organization(tx, caller, self._clock(), organization)
            granted.require_visible()
            owner, is_user = granted.organization, caller.user_id is not None
            found = await teams.find_visible(tx, owner.id, granted.sees_secret, wanted, page)
            counts = await memberships.count_of_teams(tx, [team.id for team in found.items])
            views = [
                TeamView(
                    team=team,
                    organization_name=owner.name,
                    members_count=counts.get(team.id, 0),
                    may_manage=granted.is_owner,
                    may_change_members=granted.is_owner
                    or (granted.manages_membership and not team.is_owners),
                    may_manage_token=granted.is_owner
                    or (team.members_manage_token and team.id in granted.team_ids and is_user),
                )
                for team in found.items
            ]
            if members:
                return await _with_members(tx, views, found.total)
            if sum(counts.values()) <= MAX_LISTED_USERS:
                views = await _with_users(tx, views)
            return TeamPage(views, found.total, {})

        return await self._database.read(body)

    async def read(self, caller: Caller, team_id: str, *, members: bool) -> TeamPage:
        """One team, on request with its members."""

        async def body(tx: Transaction) -> TeamPage:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_visible()
            view = await _view(tx, granted)
            if members:
                return await _with_members(tx, [view], 1)
            return TeamPage(await _with_users(tx, [view]), 1, {})

        return await self._database.read(body)

    async def create(self, caller: Caller, organization: str, draft: TeamDraft) -> TeamView:
        """Adds a team, a secret one unless the draft says otherwise.

        Refuses: forbidden, every fault of the draft, a taken name.
        """

        async def body(tx: Transaction) -> TeamView:
            ledger = self._ledger(tx, caller)
            granted = await access_by_name.organization(
                tx, caller, ledger.now, organization, lock=True
            )
            granted.require_owner()
            refuse_all(draft.all_faults())
            owner = granted.organization
            ledger.adopt(granted.stream)
            made = Team(
                id=new_id("team"),
                organization_id=owner.id,
                name=draft.name or "",
                visibility=Visibility(draft.visibility or Visibility.SECRET),
                manage_membership=bool(draft.manage_membership),
                is_owners=False,
                members_manage_token=bool(draft.members_manage_token),
            )
            await team_changes.create(ledger, [made])
            return TeamView(made, owner.name, 0, True, True, True, ())

        return await self._database.write(body)

    async def update(self, caller: Caller, team_id: str, draft: TeamDraft) -> TeamView:
        """Changes what the draft names; changes nothing when that is nothing.

        Refuses: forbidden, every fault of the draft, another id than the path's, another name for
        the owners team, a taken name.
        """

        async def body(tx: Transaction) -> TeamView:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, team_id)
            refuse_all([*draft.all_faults(), *draft.conflicts(granted.team)])
            (before,) = await _with_users(tx, [await _view(tx, granted)])
            after = draft.applied_to(before.team)
            if after != before.team:
                await team_changes.rename(ledger, before.team, after)
            return replace(before, team=after)

        return await self._database.write(body)

    async def delete(self, caller: Caller, team_id: str) -> None:
        """Removes a team with its grants and tokens; its members stay in the organization.

        Refuses: forbidden, the owners team.
        """

        async def body(tx: Transaction) -> None:
            ledger = self._ledger(tx, caller)
            granted = await _locked(ledger, caller, team_id)
            if granted.team.is_owners:
                detail = "The owners team cannot be deleted."
                raise Refusal(Fault(Code.OWNERS_IS_PERMANENT, detail))
            await team_changes.delete(ledger, [granted.team])

        await self._database.write(body)

    def _ledger(self, tx: Transaction, caller: Caller) -> Ledger:
        return Ledger(tx, caller, self._chain, self._clock())


async def _locked(ledger: Ledger, caller: Caller, team_id: str) -> TeamAccess:
    """The team, locked together with its organization, for a caller who may change it."""

    async def look() -> TeamAccess:
        granted = await access.team(ledger.tx, caller, ledger.now, team_id)
        _require_owner(granted)
        return granted

    return await ledger.locked(look, lambda seen: [seen.team.organization_id, team_id])


def _require_owner(granted: TeamAccess) -> None:
    granted.require_visible()
    if not granted.is_owner:
        raise forbidden("Only owners and the organization's token may change teams.")


async def _view(tx: Transaction, granted: TeamAccess) -> TeamView:
    team = granted.team
    counts = await memberships.count_of_teams(tx, [team.id])
    return TeamView(
        team,
        granted.organization_name,
        counts.get(team.id, 0),
        granted.is_owner,
        granted.is_owner or (granted.manages_membership and not team.is_owners),
        granted.manages_token,
    )


async def _with_users(tx: Transaction, views: Sequence[TeamView]) -> list[TeamView]:
    ids = [view.team.id for view in views]
    users = await memberships.ids_of_teams(tx, ids, LinkageType.USERS)
    return [replace(view, user_ids=users[view.team.id]) for view in views]


async def _with_members(tx: Transaction, views: Sequence[TeamView], total: int) -> TeamPage:
    found = await memberships.of_teams(tx, [view.team.id for view in views])
    people = {one.id: one for members in found.values() for one in members}
    full = []
    for view in views:
        members = found[view.team.id]
        users = sorted(one.user.id for one in members)
        full.append(replace(view, user_ids=users, member_ids=[one.id for one in members]))
    return TeamPage(full, total, people)
