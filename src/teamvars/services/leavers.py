"""What people who leave leave behind, for owners and for an operator."""

from collections.abc import Sequence

from teamvars.decisions import leavers as decisions
from teamvars.domain.access import Caller
from teamvars.domain.errors import Kind, Refusal
from teamvars.domain.leavers import LeftBehind
from teamvars.services.house import UseCases, looks, makes, reads
from teamvars.storage import leavers, users
from teamvars.storage.database import Transaction


class Leavers(UseCases):
    """What owners do about one who leaves. Refuses: unauthenticated, not found, forbidden."""

    read = looks(decisions.read)
    end = makes(decisions.end, in_turns=True)


class OperatorLeavers(UseCases):
    """What an operator does about one, in all organizations. Refuses: not found."""

    @reads
    async def show(self, tx: Transaction, who: str) -> Sequence[LeftBehind]:
        """What they leave behind, by organization, where that is something."""
        user = await users.find_one(tx, who)
        found = [
            await leavers.left_behind(tx, one, user.id)
            for one in await leavers.organizations_of(tx, user.id)
        ]
        return [one for one in found if not one.is_nothing]

    async def end(self, caller: Caller, who: str) -> Sequence[LeftBehind]:
        """Ends all of it but the teams, in each organization by itself; returns what it was."""
        ended = []
        for one in await self.show(who):
            asked = one.organization_id, one.user_id
            try:
                ended.append(await self._make(caller, decisions.end_by_operator, *asked))
            except Refusal as refusal:
                if refusal.kind is not Kind.NOT_FOUND:  # the organization is gone, and all of it
                    raise
        return ended
