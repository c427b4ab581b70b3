"""Storing a decision: its rows and those of the trail, once the streams are locked."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from teamvars.changes.looks import Tools
from teamvars.changes.nouns import STATEMENTS
from teamvars.changes.trails import OwnTrail
from teamvars.decisions import Decision, Found, Note
from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry, CheckedStream, Event
from teamvars.domain.errors import Refusal
from teamvars.domain.workspaces import Usage
from teamvars.storage import streams
from teamvars.storage.database import Statement, Taken, Transaction


async def store(tx: Transaction, tools: Tools, found: Found, decision: Decision[Any]) -> None:
    """Writes what was decided and records it. Refuses: trail_altered, what is taken."""
    await Storing(tx, tools, found).store(decision)


class Storing:
    """Stores the decisions of one request, whose transaction has locked what was found to be."""

    def __init__(self, tx: Transaction, tools: Tools, found: Found) -> None:
        self._tx = tx
        self._tools = tools
        self._found = found
        self._trail = OwnTrail(tx, tools.chain)
        self._places: dict[str, CheckedStream] = {}

    async def store(self, decision: Decision[Any]) -> None:
        """Writes what was decided and records it. Refuses: trail_altered, what is taken.

        The system's stream, on which invitations and tokens of every organization wait, is locked
        last, unless the decision rests on it, and so for the shortest time. That is out of id
        order, and yet makes no deadlock: a transaction that locks it together with teams or
        workspaces locks their organization before, and here that is locked already.
        """
        begun = {id_: self._tools.chain.open(id_, of) for id_, of in decision.opens.items()}
        self._places |= begun
        last = {SYSTEM_STREAM} - self._found.streams.keys()
        entries, after = await self._recorded(
            [note for note in decision.notes if note.stream_id not in last], decision.usage
        )
        ended = [id_ for note in decision.notes for id_ in note.closes]
        writes = [
            STATEMENTS[type(write)](self._tools, self._found, write) for write in decision.writes
        ]
        try:
            if len(writes) == len(entries) == len(decision.notes) == 1 and not (begun or ended):
                # None depends on another's effects.
                (one,) = writes
                await self._tx.write_each(one.part, *streams.appending(entries, after))
                return
            await streams.insert(self._tx, *begun.values())
            await _write(self._tx, writes)
        except Taken:
            if decision.taken is None:
                raise
            raise Refusal(decision.taken) from None
        await streams.append_all(self._tx, entries, after)
        if of_system := [note for note in decision.notes if note.stream_id in last]:
            self._found.streams |= await streams.lock(self._tx, last)
            await streams.append_all(self._tx, *await self._recorded(of_system, decision.usage))
        if ended:
            await streams.delete(self._tx, ended)

    def place_of(self, stream_id: str) -> CheckedStream:
        """Where a locked stream stands after all that was recorded so far."""
        if stream_id not in self._places:
            self._places[stream_id] = self._trail.check(self._found.streams[stream_id])
        return self._places[stream_id]

    async def _recorded(
        self, notes: Sequence[Note], usage: Usage | None
    ) -> tuple[list[AuditEntry], Sequence[CheckedStream]]:
        """The entries of all that is noted, and where their streams stand after them but for those
        that end. Refuses: trail_altered.
        """
        entries: list[AuditEntry] = []
        for id_, of_stream in groupby(notes, lambda note: note.stream_id):
            events = [self._ending(note) for note in of_stream]
            stream = self.place_of(id_)
            added, self._places[id_] = await self._trail.extend(stream, events, usage)
            entries += added
        ended = {id_ for note in notes for id_ in note.closes}
        moved = {note.stream_id for note in notes} - ended
        return entries, [self._places[id_] for id_ in sorted(moved)]

    def _ending(self, note: Note) -> Event:
        if not note.closes:
            return note.event
        ended = [self._trail.end(self.place_of(id_)) for id_ in note.closes]
        told = [{"stream": s.id, "sequence": s.sequence, "link": s.link.hex()} for s in ended]
        return replace(note.event, details={**note.event.details, "closes": told})


async def _write(tx: Transaction, statements: Sequence[Statement]) -> None:
    for sql, alike in groupby(statements, lambda statement: statement.sql):
        some = list(alike)
        if some[0].is_long:
            for statement in some:
                await tx.execute_long(sql, *statement.args)
        else:
            await tx.execute_many(sql, [statement.args for statement in some])
