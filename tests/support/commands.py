"""The `teamvars` command, run in processes of their own as a user runs it.

Loading the program takes a second, so one process loads it once and forks for every command: each
has its own arguments, folder, environment, output and exit code. Servers are started the real way.
"""

import atexit
import importlib
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, Self, TypedDict

from tests.support.patience import HANGS

SCRIPT = str(Path(sys.executable).with_name("teamvars"))


class _Request(TypedDict):
    words: list[str]
    folder: str
    environment: dict[str, str]
    out: str
    err: str
    given: str | None


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
        """What its processes find in their environment."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TEAMVARS_")}
        return {**inherited, **{f"TEAMVARS_{name}": text for name, text in self.settings.items()}}

    def having(self, **settings: object) -> Self:
        """The same host with other settings: `port=1` is TEAMVARS_PORT=1."""
        more = {name.upper(): str(value) for name, value in settings.items()}
        return replace(self, settings={**self.settings, **more})

    def run(self, *words: object, given: str | None = None) -> Done:
        """Runs a command to its end; what is given is on its standard input."""
        out, err, in_ = (self.folder / name for name in (".out", ".err", ".in"))
        if given is not None:
            in_.write_text(given)
        request: _Request = {
            "words": [str(word) for word in words],
            "folder": str(self.folder),
            "environment": self.environment,
            "out": str(out),
            "err": str(err),
            "given": None if given is None else str(in_),
        }
        loaded = _loaded()
        assert loaded.stdin is not None
        assert loaded.stdout is not None
        loaded.stdin.write(json.dumps(request) + "\n")
        loaded.stdin.flush()
        code = int(loaded.stdout.readline())
        return Done(code, out.read_text(), err.read_text())

    def succeed(self, *words: object, given: str | None = None) -> Done:
        """Runs a command that must end well."""
        done = self.run(*words, given=given)
        assert done.code == 0, done.err
        return done

    def start(self, *words: object, out: IO[str], err: IO[str]) -> subprocess.Popen[str]:
        """Starts the installed script and returns at once; it is the leader of its own group."""
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


@cache
def _loaded() -> subprocess.Popen[str]:
    """The process that has the program loaded; it ends with this one, when its input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.commands"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(process.communicate)  # or Python complains of one that nobody waited for
    return process


def _serve_requests() -> None:
    for line in sys.stdin:
        request: _Request = json.loads(line)
        if (pid := os.fork()) == 0:
            become(request)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def become(request: _Request) -> NoReturn:
    """Turns this process into the command. One that does not end is ended by a signal."""
    signal.alarm(int(HANGS))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, path in ((1, request["out"]), (2, request["err"])):
        os.dup2(os.open(path, flags, 0o600), descriptor)
    os.dup2(os.open(request["given"] or os.devnull, os.O_RDONLY), 0)
    sys.argv = ["teamvars", *request["words"]]
    code: object = 0
    try:
        importlib.import_module("teamvars.cli").main()  # noqa: TID251 - of no other process
    except SystemExit as exit_:
        code = exit_.code
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    from teamvars.cli import client, operator

    for room in (client, operator):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)  # noqa: TID251 - loads what lazy commands would
    _serve_requests()
