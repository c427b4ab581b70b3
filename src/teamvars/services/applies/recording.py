"""Carrying a plan out: rows and audit entries, batch by batch, in one transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from teamvars.domain.access import Caller
from teamvars.domain.applies import Outcome
from teamvars.domain.audit import CheckedStream, Event, Stream
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Usage
from teamvars.pace import Pace
from teamvars.security.chain import Chain
from teamvars.services.applies.lookups import in_batches
from teamvars.services.applies.plans import Plan, Step
from teamvars.services.trails import Trail
from teamvars.storage import streams, variables
from teamvars.storage.database import Transaction

_ACTIONS = {
    Outcome.CREATED: "variable.create",
    Outcome.UPDATED: "variable.update",
    Outcome.DELETED: "variable.delete",
}


def _nothing(_: Variable) -> Mapping[str, object]:
    return {}


class Recorder:
    """Carries plans out for a caller, at one time. Other tasks have the event loop at times."""

    def __init__(self, tx: Transaction, chain: Chain, caller: Caller, now: int) -> None:
        self._tx = tx
        self._trail = Trail(tx, chain)
        self._caller = caller
        self._now = now
        self._pace = Pace.while_locked()

    async def carry_out(
        self,
        plan: Plan,
        stream: Stream,
        more: Callable[[Variable], Mapping[str, object]] = _nothing,
    ) -> CheckedStream:
        """Makes the changes of a plan in a workspace whose locked stream is given, with an audit
        entry for each. `more` is in the details about the variable. Returns the stream after them.

        Refuses: trail_altered.
        """
        checked = self._trail.check(stream)
        for batch in in_batches(plan.changes, lambda step: len(step.stored.sealed or b"")):
            stored = {
                outcome: [step.stored for step in batch if step.outcome is outcome]
                for outcome in _ACTIONS
            }
            await variables.change_many(
                self._tx,
                stored[Outcome.CREATED],
                stored[Outcome.UPDATED],
                stored[Outcome.DELETED],
            )
            events = [self._event(step, more(step.stored.variable)) for step in batch]
            checked = await self._append(events, checked, plan.usage)
        return checked

    async def note(
        self,
        variables_: Iterable[Variable],
        action: str,
        more: Mapping[str, object],
        stream: Stream,
    ) -> None:
        """Adds an audit entry about each of some variables, which stay as they are, to their
        workspace's locked stream. Refuses: trail_altered.
        """
        checked = self._trail.check(stream)
        for batch in in_batches(variables_, lambda _: 0):
            events = [
                self._caller.event(action, each.id, {**each.audited(), **more}, self._now)
                for each in batch
            ]
            checked = await self._append(events, checked, stream.usage)

    async def _append(
        self, events: Sequence[Event], stream: CheckedStream, usage: Usage
    ) -> CheckedStream:
        entries, after = await self._trail.extend(stream, events, usage)
        await streams.append_all(self._tx, entries, [after])
        await self._pace.keep()
        return after

    def _event(self, step: Step, more: Mapping[str, object]) -> Event:
        details = {**step.stored.variable.audited(), **more}
        if step.outcome is Outcome.UPDATED:
            details["changed"] = step.changed
        action = _ACTIONS[step.outcome]
        return self._caller.event(action, step.stored.variable.id, details, self._now)
