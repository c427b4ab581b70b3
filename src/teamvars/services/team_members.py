"""The members of a team: show, add and remove them, by user or by organization membership."""

from functools import partial

from teamvars.changes.runner import Runner
from teamvars.changes.waves import Change
from teamvars.decisions import team_members as decisions
from teamvars.decisions.team_members import Direction, MembersChange, ToTeam
from teamvars.domain.access import Caller
from teamvars.domain.team_members import LinkageType, MembersDraft
from teamvars.services import Clock
from teamvars.storage import access, memberships
from teamvars.storage.database import Database, Transaction


class TeamMembers:
    """What callers do with members. Every method refuses unauthenticated, not found, forbidden."""

    def __init__(
        self, database: Database, changes: Runner, clock: Clock, *, usernames: bool = False
    ) -> None:
        """`usernames`: whether a username stands for a user's id."""
        self._usernames = usernames
        self._database = database
        self._changes = changes
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
        direction: Direction,
        draft: MembersDraft,
    ) -> None:
        """Adds or removes all the draft names, or none; those who are in or out already count.

        Refuses: every fault of the draft, ids without a membership of the organization, by user
        id an invitation that is not accepted, the removal of the last active owner, trail_altered.
        """
        asked = MembersChange(ToTeam(team_id), linkage, direction, draft, self._usernames)
        decide = partial(decisions.change, asked=asked)
        await self._changes.make(Change(caller, team_id, decide))
