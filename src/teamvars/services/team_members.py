"""The members of a team: show, add and remove them, by user or by organization membership."""

from collections.abc import Sequence
from typing import Literal

from teamvars.domain.access import Caller, TeamAccess
from teamvars.domain.errors import Fault, refuse_all
from teamvars.domain.memberships import Status
from teamvars.domain.team_members import LinkageType, Linked, MembersDraft, owners_lost
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.changes import Changes
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.trails import recorded
from teamvars.storage import access, memberships
from teamvars.storage.database import Database, Transaction

Change = Literal["add", "remove"]

_WRITE = {"add": memberships.add_to_team, "remove": memberships.remove_from_team}


class TeamMembers:
    """What callers do with members. Every method refuses unauthenticated, not found, forbidden."""

    def __init__(
        self, database: Database, chain: Chain, clock: Clock, *, usernames: bool = False
    ) -> None:
        """`usernames`: whether a username stands for a user's id."""
        self._usernames = usernames
        self._database = database
        self._changes = Changes(database)
        self._chain = chain
        self._clock = clock

    async def list(self, caller: Caller, team_id: str, linkage: LinkageType) -> list[str]:
        """The ids of all members, invited ones included, in order."""

        async def body(tx: Transaction) -> list[str]:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_visible()
            return (await memberships.ids_of_teams(tx, [team_id], linkage))[team_id]

        return await self._database.read(body)

    async def change(
        self,
        caller: Caller,
        team_id: str,
        linkage: LinkageType,
        change: Change,
        draft: MembersDraft,
    ) -> None:
        """Adds or removes all the draft names, or none; those who are in or out already count.

        Refuses: every fault of the draft, ids without a membership of the organization, by user
        id an invitation that is not accepted, the removal of the last active owner, trail_altered.
        """

        async def body(tx: Transaction) -> None:
            now = self._clock()
            granted = await access.team(tx, caller, now, team_id, lock=True)
            granted.require_manage_membership()
            asked, found = await self._find(tx, granted, linkage, draft)
            missing = asked.missing(one.id for one in found)
            broken = await _rules_broken(tx, granted, linkage, change, (asked, found))
            refuse_all([*asked.faults, *missing, *broken])
            concerned = sorted(o.membership_id for o in found if o.in_team is (change == "remove"))
            if not concerned:
                return
            details = membership_changes.members_details(concerned)
            event = caller.event(f"member.{change}", team_id, details, now)
            record = await recorded(tx, self._chain, granted.stream, event)
            await _WRITE[change](tx, team_id, concerned, *record)

        async def look(tx: Transaction) -> None:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_manage_membership()

        await self._changes.make(caller, team_id, look, body)

    async def _find(
        self, tx: Transaction, granted: TeamAccess, linkage: LinkageType, draft: MembersDraft
    ) -> tuple[MembersDraft, Sequence[Linked]]:
        """The memberships a draft names, and the draft with ids where it had usernames.

        What is somebody's id is never taken for a username.
        """
        team = granted.team
        found = await memberships.find_linked(tx, team, linkage, draft.wanted())
        strangers = set(draft.wanted()) - {one.id for one in found}
        if not (strangers and self._usernames and linkage is LinkageType.USERS):
            return draft, found
        named = await memberships.find_user_ids(tx, team.organization_id, strangers)
        draft = draft.renamed(named)
        return draft, await memberships.find_linked(tx, team, linkage, draft.wanted())


async def _rules_broken(
    tx: Transaction,
    granted: TeamAccess,
    linkage: LinkageType,
    change: Change,
    asked: tuple[MembersDraft, Sequence[Linked]],
) -> list[Fault]:
    draft, found = asked
    if change == "add":
        invited = [one.id for one in found if one.status is Status.INVITED]
        return draft.not_accepted(invited) if linkage is LinkageType.USERS else []
    if not granted.team.is_owners:
        return []
    members = (await memberships.of_teams(tx, [granted.team.id]))[granted.team.id]
    active = [member.id for member in members if member.counts_as_owner]
    lost = owners_lost(active, (one.membership_id for one in found))
    return draft.last_owners(one.id for one in found if one.membership_id in lost)
