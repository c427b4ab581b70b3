"""A server that takes a commit that failed for one that never was, for controls."""

import asyncio

import apsw

from teamvars.domain.errors import Refusal, storage_unavailable
from teamvars.storage.engines.sqlite import SqliteDatabase
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import AlteredHost, worker_on


class ForgetfulDatabase(SqliteDatabase):
    """Says of every commit that failed that nothing was changed, and goes on."""

    async def _commit(self, connection: apsw.Connection) -> Refusal | None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._committer, connection.execute, "COMMIT")
        except apsw.Error:
            self._writer.close()
            return storage_unavailable()
        return None


class ForgetfulHost(AlteredHost):
    """A host whose server has that database."""

    factory = "tests.faults.forgetful:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    return worker_on(ForgetfulDatabase)
