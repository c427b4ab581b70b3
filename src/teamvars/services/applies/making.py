"""What an apply and a copy have in common: a look without a lock, then the change under one."""

from contextlib import suppress
from typing import Protocol

from teamvars.domain.errors import BUSY, Refusal
from teamvars.services.applies.lookups import Moved
from teamvars.services.applies.plans import Applied
from teamvars.storage.database import Database, Transaction

_MAX_LOOKS = 3
"""Each further look means that somebody has changed the workspace during the one before."""


class Change(Protocol):
    """One apply or copy of a caller."""

    async def look(self, tx: Transaction) -> None:
        """Makes the plan, without a lock. Raises Moved."""
        ...

    def tried(self) -> Applied:
        """What the plan would come to; there must be one."""
        ...

    async def carry_out(self, tx: Transaction) -> Applied:
        """Carries the plan out under a lock, or another one where it does not hold any more."""
        ...


async def make(database: Database, change: Change, workspace_id: str, *, dry_run: bool) -> Applied:
    """Makes the change of the workspace, or says what it would come to.

    A workspace that never rests is planned under its lock. Refuses: busy, where a dry run has none.
    """
    is_planned = False
    for _ in range(_MAX_LOOKS):
        with suppress(Moved):
            await database.query(change.look)
            is_planned = True
            break
    if not dry_run:
        return await database.write_in_turns(change.carry_out, subject=workspace_id)
    if not is_planned:
        raise Refusal(BUSY)
    return change.tried()
