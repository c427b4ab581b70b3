"""A server that breaks its promise, for controls: it commits an apply by halves."""

from teamvars.storage.database import Body, T
from teamvars.storage.engines.sqlite import SqliteDatabase
from teamvars.storage.engines.sqlite_connection import SqliteTransaction
from teamvars.web.http.asgi import ASGIApp
from tests.faults.hasty import AlteredHost, worker_on


class PiecemealDatabase(SqliteDatabase):
    """Commits each statement of a write in turns by itself."""

    async def write_in_turns(self, body: Body[T], *, subject: str | None = None) -> T:
        async with self._writing:
            return await body(SqliteTransaction(self._writer.connection()))


class PiecemealHost(AlteredHost):
    """A host whose server has that database."""

    factory = "tests.faults.piecemeal:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    return worker_on(PiecemealDatabase)
