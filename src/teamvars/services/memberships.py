"""Memberships of organizations: show and remove them, and what people who leave leave behind."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from teamvars.decisions import memberships as decisions
from teamvars.decisions.memberships import MembershipPage
from teamvars.domain.access import Caller
from teamvars.domain.errors import Kind, passing_over
from teamvars.domain.memberships import LeftBehind, Membership, MembershipFilter
from teamvars.domain.pages import Page, Paged
from teamvars.services.house import UseCases, afterwards, looks, makes, reads
from teamvars.storage import access, access_by_name, memberships, teams, users
from teamvars.storage.database import Transaction

_AGAIN = "What is told above has ended. The same command ends the rest."


class Memberships(UseCases):
    """What callers do with memberships. All methods refuse unauthenticated and not found.

    They are seen by members of the organization; an invited user sees the invitation.
    """

    read = looks(decisions.read)
    remove = makes(decisions.remove)
    revoke = makes(decisions.revoke)
    left_behind = looks(decisions.left_behind)
    end_left_behind = makes(decisions.end_left_behind, in_turns=True)

    @reads
    async def list(
        self,
        tx: Transaction,
        caller: Caller,
        organization: str,
        wanted: MembershipFilter,
        page: Page,
    ) -> MembershipPage:
        """An organization's memberships."""
        granted = await access_by_name.organization(tx, caller, self._clock(), organization)
        within = memberships.Within(organization_id=granted.organization.id)
        found = await memberships.search(tx, within, wanted, page)
        return await _page_of(tx, found, granted.sees_secret)

    @reads
    async def list_of_caller(self, tx: Transaction, caller: Caller, page: Page) -> MembershipPage:
        """The calling user's own memberships and invitations; a team or organization has none."""
        actor = await self._actor(tx, caller)
        if actor.kind != "user":
            return MembershipPage([], 0, {})
        within = memberships.Within(user_id=actor.id, reach=caller.reach)
        found = await memberships.search(tx, within, MembershipFilter(), page)
        return MembershipPage(found.items, found.total, {})

    @reads
    async def list_of_team(
        self,
        tx: Transaction,
        caller: Caller,
        team_id: str,
        wanted: MembershipFilter,
        page: Page | None,
    ) -> MembershipPage:
        """The memberships that are in a team; all of them when there is no page."""
        granted = await access.team(tx, caller, self._clock(), team_id)
        granted.require_visible()
        found = await memberships.search(tx, memberships.Within(team_id=team_id), wanted, page)
        whole = await access.organization(tx, caller, self._clock(), granted.team.organization_id)
        return await _page_of(tx, found, whole.sees_secret)


async def _page_of(
    tx: Transaction, found: Paged[Membership], seen: frozenset[str] | None
) -> MembershipPage:
    """The memberships with their teams: all, or besides those that are no secret the `seen`."""
    whole = await memberships.with_teams(tx, found.items, seen)
    named = {id_ for membership in whole for id_ in membership.team_ids}
    of = await teams.find_by_ids(tx, named) if named else []
    return MembershipPage(whole, found.total, {team.id: team for team in of})


class OperatorLeavers(UseCases):
    """What an operator does about one who leaves, in all organizations. Refuses: not found."""

    @reads
    async def show(self, tx: Transaction, who: str) -> Sequence[LeftBehind]:
        """What they leave behind, by organization, where that is something."""
        user = await users.find_one(tx, who)
        found = [
            await memberships.left_behind(tx, one, user.id)
            for one in await memberships.organizations_of(tx, user.id)
        ]
        return [one for one in found if not one.is_nothing]

    async def end(self, caller: Caller, who: str, tell: Callable[[LeftBehind], object]) -> None:
        """Ends all of it but the teams, in each organization by itself, and tells of each what it
        was. Raises Unfinished.
        """
        for n, one in enumerate(await self.show(who)):
            with afterwards(_AGAIN) if n else nullcontext():
                await self._end(caller, one, tell)

    async def _end(
        self, caller: Caller, one: LeftBehind, tell: Callable[[LeftBehind], object]
    ) -> None:
        asked = one.organization_id, one.user_id
        with passing_over(Kind.NOT_FOUND):  # the organization is gone, and all of it
            tell(await self._make(caller, decisions.end_by_operator, *asked))
