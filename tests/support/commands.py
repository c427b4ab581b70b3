"""The `teamvars` command, run in processes of their own as a user runs it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Self

from tests.support.forked import Started, fork
from tests.support.patience import HANGS

SCRIPT = str(Path(sys.executable).with_name("teamvars"))


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Its standard error, but for the line that names the store."""
        return re.sub(r"\AStore: .*\n", "", self.err)

    @property
    def json(self) -> Any:
        """The document on its standard output."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Host:
    """A host to run commands on: a folder, and an environment that holds no setting but these."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "teamvars-data"

    @property
    def environment(self) -> dict[str, str]:
        """What its processes find in their environment; several hosts share one machine's ports."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TEAMVARS_")}
        settings = {"METRICS_LISTEN": "off", **self.settings}
        return {**inherited, **{f"TEAMVARS_{name}": text for name, text in settings.items()}}

    def having(self, **settings: object) -> Self:
        """The same host with other settings: `port=1` is TEAMVARS_PORT=1."""
        more = {name.upper(): str(value) for name, value in settings.items()}
        return replace(self, settings={**self.settings, **more})

    def run(self, *words: object, given: str | None = None) -> Done:
        """Runs a command to its end; what is given is on its standard input."""
        out, err, in_ = (self.folder / name for name in (".out", ".err", ".in"))
        if given is None:
            in_ = Path(os.devnull)
        else:
            in_.write_text(given)
        with in_.open() as to_read, out.open("w") as to_out, err.open("w") as to_err:
            command = self._fork(words, to_read, to_out, to_err)
        try:
            code = command.wait(HANGS)
        except subprocess.TimeoutExpired:
            os.killpg(command.pid, signal.SIGKILL)
            raise
        return Done(code, out.read_text(), err.read_text())

    def succeed(self, *words: object, given: str | None = None) -> Done:
        """Runs a command that must end well."""
        done = self.run(*words, given=given)
        assert done.code == 0, done.err
        return done

    def print_to(self, out: IO[str], *words: object) -> Done:
        """Runs a command to its end that prints there, of which nothing is read."""
        with (self.folder / ".err").open("w+") as err:
            code = self.start(*words, out=out, err=err).wait(HANGS)
            err.seek(0)
            return Done(code, "", err.read())

    def bash(self, line: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a line of a shell, in which `teamvars` is the installed script."""
        path = f"{Path(SCRIPT).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["/usr/bin/env", "bash", "-c", line],
            cwd=self.folder,
            env={**self.environment, "PATH": path},
            input=given,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )

    def start(self, *words: object, out: IO[str], err: IO[str]) -> Started:
        """Starts a command and returns at once; it is the leader of its own group."""
        with Path(os.devnull).open() as nothing:
            return self._fork(words, nothing, out, err)

    def _fork(self, words: tuple[object, ...], *files: IO[str]) -> Started:
        return fork([SCRIPT, *map(str, words)], self.folder, self.environment, files)


class InstalledHost(Host):
    """A host whose servers are started as a user starts them, by the installed script.

    For whoever measures how long they take to start or how much memory they need, looks at the
    environment that a process was started with, or tells the interpreter something in it.
    """

    def start(self, *words: object, out: IO[str], err: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [SCRIPT, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )


def full() -> IO[str]:
    """An output that has no room for anything."""
    return Path("/dev/full").open("w")


def unread() -> IO[str]:
    """A pipe that nobody reads."""
    nobody, out = os.pipe()
    os.close(nobody)
    return os.fdopen(out, "w")
