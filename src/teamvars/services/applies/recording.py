"""Carrying a plan out, batch by batch, in one transaction."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from teamvars.changes.storing import Storing
from teamvars.changes.tools import Tools
from teamvars.decisions import Decision, Found, Note
from teamvars.decisions.variables import Put
from teamvars.domain.access import Caller
from teamvars.domain.applies import Outcome
from teamvars.domain.audit import CheckedStream, Stream
from teamvars.domain.variables import Variable
from teamvars.pace import Pace
from teamvars.services.applies.lookups import in_batches
from teamvars.services.applies.plans import Plan, Step
from teamvars.storage.database import Transaction

_VERBS: Mapping[Outcome, Literal["create", "update", "delete"]] = {
    Outcome.DELETED: "delete",
    Outcome.UPDATED: "update",
    Outcome.CREATED: "create",
}
"""In the order in which they are written, which gives up keys before it takes them."""


def _nothing(_: Variable) -> Mapping[str, object]:
    return {}


class Recorder:
    """Carries plans out for a caller, at one time, in workspaces whose streams are locked.

    Other tasks have the event loop at times.
    """

    def __init__(
        self, tx: Transaction, tools: Tools, caller: Caller, now: int, *locked: Stream
    ) -> None:
        self._found = Found(caller, now)
        self._found.streams |= {stream.id: stream for stream in locked}
        self._storing = Storing(tx, tools, self._found)
        self._pace = Pace.while_locked()

    async def carry_out(
        self,
        plan: Plan,
        stream_id: str,
        more: Callable[[Variable], Mapping[str, object]] = _nothing,
    ) -> CheckedStream:
        """Makes the changes of a plan in a workspace, with an audit entry for each. `more` is in
        the details about the variable. Returns the stream after them.

        Refuses: trail_altered.
        """
        for batch in in_batches(plan.changes, lambda step: len(step.stored.sealed or b"")):
            writes = [
                Put(verb, step.stored)
                for outcome, verb in _VERBS.items()
                for step in batch
                if step.outcome is outcome
            ]
            notes = [self._note(stream_id, step, more(step.stored.variable)) for step in batch]
            await self._store(Decision(None, tuple(writes), tuple(notes), usage=plan.usage))
        return self._storing.place_of(stream_id)

    async def note(
        self,
        variables: Iterable[Variable],
        action: str,
        more: Mapping[str, object],
        stream_id: str,
    ) -> None:
        """Adds an audit entry about each of some variables, which stay as they are, to the stream
        of their workspace. Refuses: trail_altered.
        """
        for batch in in_batches(variables, lambda _: 0):
            notes = [
                self._found.note(stream_id, action, each.id, {**each.audited(), **more})
                for each in batch
            ]
            await self._store(Decision(None, notes=tuple(notes)))

    async def _store(self, decision: Decision[None]) -> None:
        await self._storing.store(decision)
        await self._pace.keep()

    def _note(self, stream_id: str, step: Step, more: Mapping[str, object]) -> Note:
        details = {**step.stored.variable.audited(), **more}
        if step.outcome is Outcome.UPDATED:
            details["changed"] = step.changed
        action = f"variable.{_VERBS[step.outcome]}"
        return self._found.note(stream_id, action, step.stored.variable.id, details)
