"""The audit trail: showing it, and proving that nobody has touched it."""

import json
from collections.abc import Mapping

from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry, Break, Stream
from teamvars.security.chain import Chain
from teamvars.storage import streams
from teamvars.storage.database import Database, Transaction


class Audit:
    """What an operator does with the audit trail."""

    def __init__(self, database: Database, chain: Chain) -> None:
        self._database = database
        self._chain = chain

    async def newest(self, limit: int) -> list[AuditEntry]:
        """The newest entries of all streams, newest first."""

        async def body(tx: Transaction) -> list[AuditEntry]:
            return await streams.newest_entries(tx, limit)

        return await self._database.read(body)

    async def verify(self) -> tuple[int, list[Break]]:
        """How many streams were checked, and the first break of each that does not hold.

        A stream must lead, link by link, to its head. What streams there must be follows from
        the system's: each entry that says one was opened or closed vouches for it.
        """
        return await self._database.read(self._verify)

    async def _verify(self, tx: Transaction) -> tuple[int, list[Break]]:
        live = {stream.id: stream for stream in await streams.every(tx)}
        expected: dict[str, tuple[int, bytes] | None] = {SYSTEM_STREAM: None}
        breaks, checked = [], 0
        while len(expected) > checked:
            stream_id, closed_at = list(expected.items())[checked]
            checked += 1
            entries = [entry async for entry in streams.entries(tx, stream_id)]
            for entry in entries:
                expected.update(_vouched_for(entry))
            breaks.append(self._break(stream_id, live.get(stream_id), closed_at, entries))
        strays = {*live, *await streams.with_entries(tx)} - set(expected)
        breaks += [Break(id_, 1, "no entry says that this stream was opened") for id_ in strays]
        return checked, [found for found in breaks if found is not None]

    def _break(
        self,
        stream_id: str,
        stream: Stream | None,
        closed_at: tuple[int, bytes] | None,
        entries: list[AuditEntry],
    ) -> Break | None:
        if closed_at is not None:
            return self._chain.first_break(stream_id, entries, closed_at)
        if stream is None:
            return Break(stream_id, 1, "the stream is missing")
        found = self._chain.first_break(stream_id, entries, (stream.sequence, stream.link))
        if found is None and not self._chain.head_holds(stream):
            return Break(stream_id, stream.sequence + 1, "the stream's head was altered")
        return found


def _vouched_for(entry: AuditEntry) -> Mapping[str, tuple[int, bytes] | None]:
    """The streams an entry opens (None) or closes (where it ended)."""
    details = json.loads(entry.details)
    opened: dict[str, tuple[int, bytes] | None] = dict.fromkeys(details.get("opens", ()))
    for closed in details.get("closes", ()):
        opened[closed["stream"]] = (closed["sequence"], bytes.fromhex(closed["link"]))
    return opened
