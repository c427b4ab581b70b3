"""A server that breaks its promise, for controls: it answers before it commits."""

import subprocess
import sys
from pathlib import Path
from typing import IO, ClassVar

import apsw

from teamvars import wiring
from teamvars.domain.errors import Refusal
from teamvars.storage.engines.sqlite import SqliteDatabase
from teamvars.web.http.app import ASGIApp
from tests.support.commands import Host

ROOT = Path(__file__).parents[2]


class HastyDatabase(SqliteDatabase):
    """Commits nothing of what it has answered, so that whenever it ends, something is lost."""

    async def _begin(self) -> apsw.Connection:
        connection = self._writer.connection()
        return connection if connection.in_transaction else await super()._begin()

    async def _commit(self, connection: apsw.Connection) -> Refusal | None:
        return None


class AlteredHost(Host):
    """A host whose server is not the one of the release."""

    factory: ClassVar[str]
    """Where its application is made, `module:function`."""

    def start(self, *words: object, out: IO[str], err: IO[str]) -> subprocess.Popen[str]:
        port = words[words.index("--port") + 1]
        options = f"--interface asgi --factory --log-level warning --port {port}".split()
        return subprocess.Popen(
            [sys.executable, "-m", "granian", *options, self.factory],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )


class HastyHost(AlteredHost):
    """A host whose server has that database."""

    factory = "tests.faults.hasty:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    return worker_on(HastyDatabase)


def worker_on(database: type[SqliteDatabase]) -> ASGIApp:
    """The application, on such a database."""

    def database_for(url: str, **_: object) -> SqliteDatabase:
        return database(Path(url.removeprefix("sqlite:///")))

    wiring.__dict__["database_for"] = database_for
    return wiring.worker()
