"""Log lines about the availability of the store: when an outage begins, and when it ends."""

import time
from collections.abc import Awaitable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import structlog

from teamvars.domain.diagnosis import Engine
from teamvars.domain.errors import Kind, Refusal
from teamvars.storage.database import Body, Database, T

_MOST_CHARACTERS = 300

log = structlog.get_logger("teamvars.storage")


class WatchedDatabase(Database):
    """A decorator of a `Database` that logs its outages.

    One warning when an outage begins, with the driver's error, however many calls fail in it. One
    when it ends: when a call succeeds that began after the last one that failed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._failing_since: float | None = None
        self._failed_at = 0.0

    async def open(self) -> None:
        await self._watch(self._database.open())

    def in_request(self) -> AbstractContextManager[None]:
        return self._database.in_request()

    # No coroutine of their own around `_watch`: each would cost every request a frame.

    def read(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.read(body))

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.query(body))

    def write(self, body: Body[T], *, subject: str | None = None) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.write(body, subject=subject))

    def write_in_turns(
        self, body: Body[T], *, subject: str | None = None
    ) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.write_in_turns(body, subject=subject))

    def change(self, subject: str, body: Body[T]) -> Coroutine[Any, Any, T]:
        return self._watch(self._database.change(subject, body))

    async def migrate(self, body: Body[T]) -> T:
        return await self._watch(self._database.migrate(body))

    async def engine(self) -> Engine:
        return await self._watch(self._database.engine())

    async def close(self) -> None:
        await self._database.close()

    async def _watch(self, work: Awaitable[T]) -> T:
        begun = time.monotonic()
        try:
            result = await work
        except Refusal as refusal:
            # Without a cause it is contention for a lock, or an outage that was logged before.
            if refusal.kind is Kind.UNAVAILABLE and refusal.__cause__ is not None:
                self._note_failure(refusal.__cause__)
            raise
        if self._failing_since is not None and begun > self._failed_at:
            seconds = round(time.monotonic() - self._failing_since, 1)
            self._failing_since = None
            log.warning("storage is available again", seconds=seconds)
        return result

    def _note_failure(self, cause: BaseException) -> None:
        self._failed_at = time.monotonic()
        if self._failing_since is None:
            self._failing_since = self._failed_at
            log.warning("storage is unavailable", reason=reason(cause))


def reason(cause: BaseException) -> str:
    """The class of a driver's error and the first line of its message, at most 300 characters.

    Further lines are left out: a DETAIL of PostgreSQL can quote a row.
    """
    message = str(cause).partition("\n")[0][:_MOST_CHARACTERS]
    return f"{type(cause).__name__}: {message}" if message else type(cause).__name__
