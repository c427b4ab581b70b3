"""Log lines about the availability of the store: when an outage begins, and when it ends."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import structlog

from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Kind, Refusal
from teamvars.storage.database import Body, Database, T
from teamvars.storage.write_outages import WriteOutages, begins_with, is_part_of_one

_MOST_CHARACTERS = 300

log = structlog.get_logger("teamvars.storage")


class WatchedDatabase(Database):
    """A decorator of a `Database` that logs its outages.

    One warning when an outage begins, with the driver's error, however many calls fail in it. One
    when it ends: when a call succeeds that began after the last one that failed. An outage of
    writes alone is a state of its own, which the node ends; see `WriteOutages`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._failing_since: float | None = None
        self._failed_at = 0.0
        self._writes = WriteOutages(database.probe)

    @property
    def takes_writes(self) -> bool:
        return not self._writes.is_on

    async def open(self) -> None:
        await self._watch(self._database.open())

    def in_request(self) -> AbstractContextManager[None]:
        return self._database.in_request()

    # No coroutine of their own around `_watched`: each would cost every request a frame.

    def read(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.read(body))

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.query(body))

    def write(self, body: Body[T], *, subject: str | None = None) -> Coroutine[Any, Any, T]:
        return self._watch_write(self._database.write(body, subject=subject))

    def write_in_turns(
        self, body: Body[T], *, subject: str | None = None
    ) -> Coroutine[Any, Any, T]:
        return self._watch_write(self._database.write_in_turns(body, subject=subject))

    def change(self, subject: str, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch_write(self._database.change(subject, body))

    def now(self) -> int:
        return self._database.now()

    async def probe(self) -> None:
        await self._database.probe()

    async def migrate(self, body: Body[T]) -> T:
        return await self._watch(self._database.migrate(body))

    async def engine(self) -> Engine:
        return await self._watch(self._database.engine())

    async def close(self) -> None:
        self._writes.close()
        await self._database.close()

    def _watch(self, work: Awaitable[T]) -> Coroutine[Any, Any, T]:
        return self._watched(work, self._note_refusal)

    def _watch_write(self, work: Awaitable[T]) -> Coroutine[Any, Any, T]:
        return self._watched(work, self._note_refused_write)

    async def _watched(self, work: Awaitable[T], note: Callable[[Refusal], None]) -> T:
        begun = time.monotonic()
        try:
            result = await work
        except Refusal as refusal:
            note(refusal)
            raise
        self._note_success(begun)
        return result

    def _note_refused_write(self, refusal: Refusal) -> None:
        if begins_with(refusal):
            assert refusal.__cause__ is not None
            self._writes.begin(reason(refusal.__cause__))
        elif self.takes_writes or not is_part_of_one(refusal):
            self._note_refusal(refusal)

    def _note_refusal(self, refusal: Refusal) -> None:
        # Without a cause it is contention for a lock, or an outage that was logged before.
        if refusal.kind is Kind.UNAVAILABLE and refusal.__cause__ is not None:
            self._note_failure(refusal.__cause__)

    def _note_success(self, begun: float) -> None:
        if self._failing_since is not None and begun > self._failed_at:
            seconds = round(time.monotonic() - self._failing_since, 1)
            self._failing_since = None
            log.warning("storage is available again", seconds=seconds)

    def _note_failure(self, cause: BaseException) -> None:
        self._failed_at = time.monotonic()
        if self._failing_since is None:
            self._failing_since = self._failed_at
            log.warning("storage is unavailable", reason=reason(cause))


def reason(cause: BaseException) -> str:
    """The class of a driver's error and the first line of its message, at most 300 characters; of
    several servers those of each.

    Further lines are left out: a DETAIL of PostgreSQL can quote a row.
    """
    if notes := getattr(cause, "__notes__", None):
        return "; ".join(note[:_MOST_CHARACTERS] for note in notes)
    message = str(cause).partition("\n")[0][:_MOST_CHARACTERS]
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__
