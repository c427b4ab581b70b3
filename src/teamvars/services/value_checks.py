"""Trying a value before it is stored: does it parse, and what does it evaluate to?"""

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import TOO_COMPLEX, Refusal, refuse_all
from teamvars.domain.variables import ValueDraft
from teamvars.services import Clock
from teamvars.services.admission import admit_writer
from teamvars.services.code.checker import CodeChecker
from teamvars.services.code.examination import Examination, TooComplex
from teamvars.storage.database import Database


class ValueChecks:
    """What callers try. Nothing is stored."""

    def __init__(self, database: Database, clock: Clock, code: CodeChecker) -> None:
        self._database = database
        self._clock = clock
        self._code = code

    async def check(self, caller: Caller, workspace_id: str, draft: ValueDraft) -> Examination:
        """Tries a value, for whoever may write variables in the workspace.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft, code that is too
        complex, too many requests, busy.
        """
        await admit_writer(self._database, caller, self._clock(), workspace_id)
        refuse_all(draft.all_faults())
        text = draft.value or ""
        if not draft.hcl:
            return Examination(valid=True, evaluated=True, value=msgspec.json.encode(text))
        assert caller.actor is not None  # known since the access check
        try:
            return await self._code.evaluate(caller.actor.id, text)
        except TooComplex:
            raise Refusal(TOO_COMPLEX.at("/data/attributes/value")) from None
