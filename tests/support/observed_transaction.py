"""A transaction that tells somebody what is asked of it."""

from collections.abc import Callable, Sequence

from teamvars.domain.audit import Stream
from teamvars.storage.database import Lookup, Part, Row, Transaction


class ObservedTransaction(Transaction):
    """Passes every statement on, and notes its text and its parameters first."""

    def __init__(self, tx: Transaction, note: Callable[[str, tuple[object, ...]], None]) -> None:
        self._tx = tx
        self._note = note
        self.has_one_writer = tx.has_one_writer
        self.writes_once = tx.writes_once

    @property
    def may_pause(self) -> bool:
        return self._tx.may_pause

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        self._note(sql, args)
        return await self._tx.fetch(sql, *args)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        self._note(sql, tuple(rows[0]) if rows else ())
        await self._tx.execute_many(sql, rows)

    def write_if_unmoved(self, stream: Stream | None, after: Stream | None, *parts: Part) -> None:
        for sql, rows in parts:
            self._note(sql, tuple(rows[0]))
        self._tx.write_if_unmoved(stream, after, *parts)

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        locking = None if self.has_one_writer else lookup.locking
        self._note((locking or lookup).single, calls[0])
        return await self._tx.lock_each(lookup, calls)

    async def script(self, sql: str) -> None:
        await self._tx.script(sql)
