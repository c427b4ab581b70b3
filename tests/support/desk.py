"""Somebody at a desk: a home and a folder of their own, and a terminal when they want one."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import IO, Self

from tests.support.commands import SCRIPT, Host
from tests.support.forked import Started
from tests.support.patience import HANGS

AGAIN = 20.0
"""Seconds: whoever has heeded a key has ended by then."""


@dataclass(frozen=True)
class Desk(Host):
    """Runs client commands; nothing of whoever runs the tests is seen or touched."""

    home: Path = Path("/nonexistent")

    @property
    def environment(self) -> dict[str, str]:
        """What its processes find in their environment."""
        own = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "TERM": "xterm",
        }
        return {**super().environment, **own}

    @property
    def files(self) -> Path:
        """Where its user files are."""
        return self.home / "config" / "teamvars"

    def at(self, folder: Path) -> "Desk":
        """The same in another folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        return Desk(folder, self.settings, self.home)

    def terminal(self, *words: object) -> "Terminal":
        """Starts a command on a terminal."""
        ours, its = pty.openpty()
        with os.fdopen(its, "w") as file:
            return Terminal(self._start_on(file, words), os.fdopen(ours, "r+b", buffering=0))

    def _start_on(self, terminal: IO[str], words: tuple[object, ...]) -> Started:
        return self._fork(words, terminal, terminal, terminal)


class LoadingDesk(Desk):
    """The same where the environment says what Python does as it starts: what is on a terminal is
    the installed script, which loads everything anew.
    """

    def _start_on(self, terminal: IO[str], words: tuple[object, ...]) -> Started:
        return subprocess.Popen(
            ["/usr/bin/setsid", "--ctty", SCRIPT, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )


@dataclass(frozen=True)
class Homeless(Desk):
    """The same for somebody who has no home; files of theirs would be below `config`."""

    config: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What its processes find in their environment."""
        return {**super().environment, "HOME": "", "XDG_CONFIG_HOME": self.config}


class Terminal:
    """A command on a pseudo-terminal; in a `with` it has ended afterwards."""

    def __init__(self, command: Started, screen: FileIO) -> None:
        self.seen = ""
        """All that it has shown."""
        self._read = 0
        self._command = command
        self._screen = screen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGKILL)
        self._screen.close()

    def expect(self, pattern: str) -> str:
        """Waits until what it shows from here on has the pattern; returns what was shown to it."""
        deadline = time.monotonic() + HANGS
        while (found := re.search(pattern, self.seen[self._read :], re.DOTALL)) is None:
            assert self._more(deadline), f"{pattern!r} is not in {self.seen!r}"
        text = self.seen[self._read : self._read + found.end()]
        self._read += found.end()
        return text

    def type(self, line: str) -> None:
        """Types a line."""
        self.press(f"{line}\n".encode())

    def press(self, key: bytes) -> None:
        """Presses a key, such as Ctrl-C (`\\x03`)."""
        self._screen.write(key)

    def interrupt(self) -> int:
        """Presses Ctrl-C at a prompt; its exit code. Presses it again where nothing happens for
        long: Python heeds a signal that comes just before it reads only after that.
        """
        self._until_it_ends(lambda: self.press(b"\x03"))
        return self.wait()

    def end(self, number: signal.Signals) -> None:
        """Sends a signal at a prompt, as `interrupt` presses Ctrl-C."""
        self._until_it_ends(lambda: self._command.send_signal(number))

    @property
    def echoes(self) -> bool:
        """Whether what is typed is shown."""
        return bool(termios.tcgetattr(self._screen)[3] & termios.ECHO)

    def wait(self) -> int:
        """Its exit code, once it has ended; -N when a signal has, as one does in the end."""
        deadline = time.monotonic() + HANGS
        while self._more(deadline):
            pass
        if time.monotonic() >= deadline:  # it may wait for an answer that nobody will type
            self._command.send_signal(signal.SIGKILL)
        self._screen.close()
        return self._command.wait()

    def _until_it_ends(self, do: Callable[[], None]) -> None:
        deadline = time.monotonic() + HANGS
        while time.monotonic() < deadline and self._command.poll() is None:
            do()
            again = time.monotonic() + AGAIN
            while self._more(again):
                pass

    def _more(self, deadline: float) -> bool:
        """Reads what it shows next; whether there can be more."""
        ready, _, _ = select.select([self._screen], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            read = self._screen.read(65536)
        except OSError:  # the other end is closed
            return False
        self.seen += read.decode(errors="replace")
        return bool(read)
