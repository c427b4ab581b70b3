"""Trying a value before it is stored: does it parse, and what does it evaluate to?"""

import asyncio
from typing import Any

from msgspec.structs import replace

from teamvars.domain.access import Caller, Permission
from teamvars.domain.discreet import Discreet
from teamvars.domain.errors import refuse_all
from teamvars.domain.variables import ValueDraft
from teamvars.hcl import HclError, parse
from teamvars.services import Clock
from teamvars.storage import access
from teamvars.storage.database import Database, Transaction


class ValueCheck(Discreet, frozen=True):
    """What became of a value. `error` says why it does not parse or does not evaluate.

    An expression that refers to variables or calls functions is valid but has no value here.
    """

    valid: bool
    evaluated: bool = False
    value: Any = None
    error: HclError | None = None
    references: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


class ValueChecks:
    """What callers try. Nothing is stored."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def check(self, caller: Caller, workspace_id: str, draft: ValueDraft) -> ValueCheck:
        """Tries a value, for whoever may write variables in the workspace.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft.
        """

        async def body(tx: Transaction) -> None:
            granted = await access.workspace(tx, caller, self._clock(), workspace_id)
            granted.require(Permission.WRITE_VARIABLES)

        await self._database.read(body)
        refuse_all(draft.all_faults())
        text = draft.value or ""
        if not draft.hcl:
            return ValueCheck(valid=True, evaluated=True, value=text)
        # In a thread: a short expression, too, can take long to evaluate.
        return await asyncio.to_thread(_check, text)


def _check(source: str) -> ValueCheck:
    try:
        expression = parse(source)
    except HclError as error:
        return ValueCheck(valid=False, error=error)
    parsed = ValueCheck(
        valid=True, references=expression.references, functions=expression.functions
    )
    try:
        return replace(parsed, evaluated=True, value=expression.evaluate())
    except HclError as error:
        return replace(parsed, error=error)
