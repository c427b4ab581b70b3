"""The members of a team: show, add and remove them, by user or by organization membership."""

from collections.abc import Collection, Sequence
from typing import Literal

from teamvars.domain.access import Caller, TeamAccess
from teamvars.domain.errors import Fault, refuse_all
from teamvars.domain.teams import LinkageType, MembersDraft, Membership, Status, owners_lost
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.storage import access, streams, teams
from teamvars.storage.database import Database, Transaction

Change = Literal["add", "remove"]


class Members:
    """What callers do with members. Every method refuses unauthenticated, not found, forbidden."""

    def __init__(
        self, database: Database, chain: Chain, clock: Clock, *, usernames: bool = False
    ) -> None:
        """`usernames`: whether a username stands for a user's id."""
        self._usernames = usernames
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(self, caller: Caller, team_id: str, linkage: LinkageType) -> list[str]:
        """The ids of all members, invited ones included, in order."""

        async def body(tx: Transaction) -> list[str]:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_visible()
            members = await teams.find_members(tx, team_id)
            return sorted(member.named_by(linkage) for member in members)

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
        id an invitation that is not accepted, the removal of the last active owner.
        """

        async def body(tx: Transaction) -> None:
            now = self._clock()
            granted = await access.team(tx, caller, now, team_id, lock=True)
            granted.require_manage_membership()
            organization_id = granted.team.organization_id
            asked, found = await self._find(tx, granted, linkage, draft)
            missing = asked.missing(member.named_by(linkage) for member in found)
            broken = await _rules_broken(tx, granted, linkage, change, (asked, found))
            refuse_all([*asked.faults, *missing, *broken])
            concerned = [m.id for m in found if m.in_team is (change == "remove")]
            if not concerned:
                return
            if change == "add":
                await teams.add_members(tx, team_id, organization_id, concerned)
            else:
                await teams.remove_members(tx, team_id, concerned)
            subject, details = ("teams", team_id), {"organization-memberships": concerned}
            event = caller.event(f"member.{change}", subject, details, now)
            await streams.append(tx, *self._chain.extend(granted.stream, event))

        await self._database.write(body)

    async def _find(
        self, tx: Transaction, granted: TeamAccess, linkage: LinkageType, draft: MembersDraft
    ) -> tuple[MembersDraft, Sequence[Membership]]:
        """The memberships a draft names, and the draft with ids where it had usernames.

        What is somebody's id is never taken for a username.
        """
        place = granted.team.id, granted.team.organization_id, linkage
        found = await teams.find_memberships(tx, *place, draft.wanted())
        strangers = set(draft.wanted()) - {member.named_by(linkage) for member in found}
        if not (strangers and self._usernames and linkage is LinkageType.USERS):
            return draft, found
        named = await teams.find_user_ids(tx, granted.team.organization_id, strangers)
        draft = draft.renamed(named)
        return draft, await teams.find_memberships(tx, *place, draft.wanted())


async def _rules_broken(
    tx: Transaction,
    granted: TeamAccess,
    linkage: LinkageType,
    change: Change,
    asked: tuple[MembersDraft, Collection[Membership]],
) -> list[Fault]:
    draft, found = asked
    if change == "add":
        invited = [m.user_id for m in found if m.status is Status.INVITED]
        return draft.not_accepted(invited) if linkage is LinkageType.USERS else []
    if not granted.team.is_owners:
        return []
    members = await teams.find_members(tx, granted.team.id)
    active = {m.id: m for m in members if m.counts_as_owner}
    lost = owners_lost(active, (m.id for m in found))
    return draft.last_owners(active[id_].named_by(linkage) for id_ in lost)
