"""A PgBouncer in front of a PostgreSQL, as docs/operating.md has it: Debian's, or the program that
`TEAMVARS_TEST_PGBOUNCER` names.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import asyncpg

from teamvars.domain.diagnosis import Pooler
from tests.support import packages
from tests.support.patience import wait_until
from tests.support.postgres import Postgres
from tests.support.server import end_group, free_port

PROGRAM = "TEAMVARS_TEST_PGBOUNCER"
CONFIGURATION = """
[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
admin_users = {user}
pool_mode = {mode}
max_client_conn = 2000
default_pool_size = 60
{more}
"""


class PgBouncer(Postgres):
    """Runs in a `with`, and pools the sessions of a server; what an administrator does with the
    server itself goes past it. `url` has the mode as a node is told it.
    """

    def __init__(self, server: Postgres, mode: Pooler, *more: str) -> None:
        """`more`: lines of its settings."""
        super().__init__(server.admin_url)
        self.mode = mode
        self._behind = urlsplit(server.admin_url)
        self._more = more
        self._port = free_port()

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="teamvars-pgbouncer-"))
        text = CONFIGURATION.format(
            folder=self._folder,
            host=self._behind.hostname,
            server_port=self._behind.port,
            user=self._behind.username,
            port=self._port,
            mode=self.mode,
            more="\n".join(self._more),
        )
        file = self._folder / "pgbouncer.ini"
        file.write_text(text)
        users = self._folder / "users"
        users.write_text(f'"{self._behind.username}" ""\n')
        # It refuses to run as root.
        owner = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        if owner is not None:
            for path in (self._folder, file, users):
                os.chown(path, owner, -1)
        program = packages.program(os.environ.get(PROGRAM, "pgbouncer"), "pgbouncer")
        with (self._folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [program, str(file)], stdout=log, stderr=log, start_new_session=True, user=owner
            )
        wait_until(self._is_there, (self._folder / "log").read_text)
        return self

    def __exit__(self, *_: object) -> None:
        end_group(self._process)
        shutil.rmtree(self._folder)

    def url(self, database: str) -> str:
        return f"{self.plain_url(database)}?pooler={self.mode}"

    def plain_url(self, database: str) -> str:
        """Of one of the server's databases through the pooler, without a word of it."""
        user = self._behind.username
        return f"postgresql://{user}@127.0.0.1:{self._port}/{database}"

    def beside(self, url: str) -> str:
        return super().url(urlsplit(url).path.removeprefix("/"))

    async def tell(self, command: str) -> None:
        """A command to its console."""
        console = await asyncpg.connect(self.plain_url("pgbouncer"), server_settings={})
        await console.execute(command)
        await console.close()

    def logins(self) -> int:
        """How many connections it has been asked for."""
        return (self._folder / "log").read_text().count("login attempt")

    def _is_there(self) -> bool:
        assert self._process.poll() is None, (self._folder / "log").read_text()
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self._port)) == 0
