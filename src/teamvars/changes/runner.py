"""The runner: looks up what a decision asks for, asks it again, and stores what it has decided."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from teamvars.changes import nouns
from teamvars.changes.batches import Batches
from teamvars.changes.known_callers import KnownCallers
from teamvars.changes.looks import answered
from teamvars.changes.tools import Tools
from teamvars.changes.waves import Change, Known, run_alone
from teamvars.decisions import Found, Need, Needs, Verdict
from teamvars.domain.access import Caller
from teamvars.domain.errors import Fault, Kind, Refusal
from teamvars.storage.database import Store, Transaction

T = TypeVar("T")

LACKS_RIGHT = {Kind.UNAUTHENTICATED, Kind.NOT_FOUND, Kind.FORBIDDEN}

Parse = Callable[[str, Sequence[str]], Awaitable[Sequence[Fault | None]]]
"""Answers the `Verdict` of each text of whoever has that id. Refuses: busy, too many requests."""


class Runner:
    """Makes changes. Refuses as they decide; and unauthenticated, trail_altered."""

    def __init__(self, database: Store, tools: Tools, parse: Parse) -> None:
        self._database = database
        self._tools = tools
        self._parse = parse
        self._writers = KnownCallers()
        self._batches = Batches(database, tools)

    async def make(self, change: Change[T]) -> T:
        """Makes the change and returns its answer, once that is committed."""

        async def attempt(known: Known) -> T:
            await self._admit(change)
            return await self._make(change, known)

        return await self.with_verdicts(change.caller, attempt)

    async def with_verdicts(self, caller: Caller, attempt: Callable[[Known], Awaitable[T]]) -> T:
        """What the attempt comes to, once it knows the verdicts for which it raises Needs.

        Code is parsed between two attempts, and so under no lock.
        """
        known: Known = {}
        while True:
            try:
                return await attempt(known)
            except Needs as needs:
                lacking = [each for each in needs.needs if isinstance(each, Verdict)]
            assert lacking  # whatever else is needed is looked up
            assert caller.actor is not None  # authenticated before a verdict is asked for
            faults = await self._parse(caller.actor.id, [verdict.text for verdict in lacking])
            known |= zip(lacking, faults, strict=True)

    async def look(self, caller: Caller, see: Callable[[Found], T]) -> T:
        """What is seen on one snapshot. Refuses as `see` does."""
        return await self._database.read(lambda tx: self._seen(tx, caller, see))

    async def glance(self, caller: Caller, see: Callable[[Found], T]) -> T:
        """As `look`, with a snapshot for each look-up, which others that wait may share."""
        return await self._database.query(lambda tx: self._seen(tx, caller, see))

    async def _seen(self, tx: Transaction, caller: Caller, see: Callable[[Found], T]) -> T:
        found = Found(caller, self._tools.clock())
        while True:
            try:
                return see(found)
            except Needs as needs:
                await self._look_up(tx, found, needs.need)

    async def _admit(self, change: Change[Any]) -> None:
        """Keeps callers without the right out of the queue of writers, by looks of readers."""
        subject = change.subject
        if subject is None or self._writers.knows(change.caller, subject):
            return

        async def look(tx: Transaction) -> None:
            found = Found(change.caller, self._tools.clock())
            while not found.streams:
                try:
                    change.decide(found)
                    return
                except Needs as needs:
                    await self._look_up(tx, found, needs.need)

        await self._database.query(look)
        self._writers.note(change.caller, subject)

    async def _make(self, change: Change[T], known: Known) -> T:
        if change.subject is None or not self._database.may_share:
            alone = partial(self._run_alone, change, known)
            if change.in_turns:
                return await self._database.write_in_turns(alone)
            return await self._database.write(alone, subject=change.subject)
        try:
            return await self._batches.make(change, change.subject, known)
        except Refusal as refusal:
            if refusal.kind in LACKS_RIGHT:
                self._writers.forget(change.caller, change.subject)
            raise

    async def _run_alone(self, change: Change[T], known: Known, tx: Transaction) -> T:
        return await run_alone(tx, self._tools, change, known)

    async def _look_up(self, tx: Transaction, found: Found, need: Need[Any]) -> None:
        found.answers[need] = await answered(
            nouns.look_up(type(need)), tx, self._tools, found, need
        )

    async def close(self) -> None:
        """Waits for the changes under way."""
        await self._batches.close()
