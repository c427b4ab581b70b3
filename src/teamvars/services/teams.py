"""Teams and their members: show, create, change and delete them."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from teamvars.changes.trails import LastNumber
from teamvars.changes.waves import Change
from teamvars.decisions import teams as decisions
from teamvars.decisions.needs import ToTeam
from teamvars.decisions.teams import Direction, LinkedBy, MembersChange, TeamView
from teamvars.domain.access import Caller, OrganizationAccess, TeamAccess
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import LinkageType, MembersDraft, Membership
from teamvars.domain.pages import Page
from teamvars.domain.teams import Right, Team, TeamDraft, TeamFilter
from teamvars.services.house import House, UseCases, makes, reads
from teamvars.storage import access, access_by_name, memberships, team_access, teams
from teamvars.storage.database import Transaction

MAX_LISTED_USERS = 1000
"""Of all teams of a page together; where there are more, each must be asked for its own."""


class TeamPage(msgspec.Struct, frozen=True):
    """Some of the teams a caller sees, by name, how many there are in all, and their members."""

    teams: list[TeamView]
    total: int
    members: Mapping[str, Membership]


class Teams(UseCases):
    """What callers do with teams. All methods refuse unauthenticated and not found.

    Members of an organization see its teams, a secret one only if they are in it.
    """

    update = makes(decisions.update)
    delete = makes(decisions.delete)

    async def list(
        self, caller: Caller, organization: str, wanted: TeamFilter, page: Page, *, members: bool
    ) -> TeamPage:
        """The organization's teams that the caller sees, on request with their members."""

        async def body(tx: Transaction) -> TeamPage:
            granted = await access_by_name.organization(tx, caller, self._clock(), organization)
            id_ = granted.organization.id
            found = await teams.find_visible(tx, id_, granted.sees_secret, wanted, page)
            counts = await memberships.count_of_teams(tx, [team.id for team in found.items])
            theirs = await _accesses(tx, caller, granted, found.items)
            views = [decisions.view_of(one, counts.get(one.team.id, 0)) for one in theirs]
            if members:
                return await _with_members(tx, views, found.total)
            if sum(counts.values()) <= MAX_LISTED_USERS:
                views = await _with_users(tx, views)
            return TeamPage(views, found.total, {})

        return await self._database.read(body)

    @reads
    async def read(
        self, tx: Transaction, caller: Caller, team_id: str, *, members: bool
    ) -> TeamPage:
        """One team, on request with its members."""
        granted = await access.team(tx, caller, self._clock(), team_id)
        granted.require_visible()
        counts = await memberships.count_of_teams(tx, [team_id])
        view = decisions.view_of(granted, counts.get(team_id, 0))
        if members:
            return await _with_members(tx, [view], 1)
        return TeamPage(await _with_users(tx, [view]), 1, {})

    async def create(self, caller: Caller, organization: str, draft: TeamDraft) -> TeamView:
        """See `decisions.teams.create`."""
        return await self._make(caller, decisions.create, organization, draft, new_id("team"))


class TeamMembers(UseCases):
    """What callers do with members, by user or by organization membership.

    Every method refuses unauthenticated, not found, forbidden.
    """

    def __init__(self, house: House, *, usernames: bool) -> None:
        """`usernames`: whether a username stands for a user's id."""
        super().__init__(house)
        self._usernames = usernames

    @reads
    async def list(
        self, tx: Transaction, caller: Caller, team_id: str, linkage: LinkageType
    ) -> list[str]:
        """The ids of all members, invited ones included, in order."""
        granted = await access.team(tx, caller, self._clock(), team_id)
        granted.require_visible()
        return (await memberships.ids_of_teams(tx, [team_id], linkage))[team_id]

    async def change(
        self,
        caller: Caller,
        team_id: str,
        linkage: LinkageType,
        direction: Direction,
        draft: MembersDraft,
    ) -> None:
        """Adds or removes all the draft names, or none; those who are in or out already count.

        Refuses: every fault of the draft, ids without a membership of the organization, by user
        id an invitation that is not accepted, the removal of the last active owner, trail_altered.
        """
        asked = MembersChange(ToTeam(team_id), linkage, direction, draft, self._usernames)
        decide = partial(decisions.change_members, asked=asked)
        linked = LinkedBy(asked.team, linkage, draft.wanted)
        # What only takes away goes on where the trail was altered, and so asks what is there.
        last = (LastNumber(team_id),) if direction == "remove" else ()
        change = Change(caller, team_id, decide, foreseen=(asked.team, linked, *last))
        await self._house.changes.make(change)


async def _accesses(
    tx: Transaction, caller: Caller, granted: OrganizationAccess, found: Sequence[Team]
) -> list[TeamAccess]:
    """What the caller may do with each of some teams of an organization."""
    beyond = set[str]()
    if Right.MANAGE_TEAMS in granted.rights and not granted.is_owner:
        ids, own = [team.id for team in found], granted.team_ids
        beyond = await team_access.beyond(tx, ids, own, granted.everywhere)
    return [
        TeamAccess(
            team=team,
            organization_name=granted.organization.name,
            is_owner=granted.is_owner,
            in_organization=True,
            in_team=team.id in granted.team_ids,
            rights=granted.rights,
            lacks_grant=team.id in beyond,
            has_own_token=team.members_manage_token
            and team.id in granted.team_ids
            and caller.user_id is not None,
            stream=granted.stream,
        )
        for team in found
    ]


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
