"""A host's store, reached behind the program's back."""

import apsw

from tests.support.commands import Host
from tests.support.postgres import Postgres


def execute(host: Host, statement: str) -> None:
    """Runs a statement on it."""
    if url := host.settings.get("DATABASE_URL"):
        Postgres(url).execute(statement)
        return
    connection = apsw.Connection(str(host.data / "teamvars.db"))
    connection.set_busy_timeout(5000)
    connection.execute(statement)
    connection.close()
