"""Commands that start at once: a process has the program loaded, and forks for each of them.

Loading takes a second, which is more than most commands and servers of tests take. Each has its own
arguments, folder, environment, session, input, output and exit code.
"""

import atexit
import ctypes
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, NoReturn, Protocol, TypedDict

WARM = (
    ["init"],
    ["token", "create", "--user", "nobody"],
    ["doctor"],
    ["audit", "list"],
    ["whoami"],
)
"""Commands that use most of what commands have in common; not all of them end well."""

_NUMBER = struct.Struct("i")
_MOST_BYTES = 2**20
_LARGEST_GAP = 4096
_held: list[subprocess.Popen[bytes]] = []
"""Nobody has waited for these. A copy of this process forgets what is to be done at the end, and
Python would complain there of one that nobody holds.
"""


class _Request(TypedDict):
    words: Sequence[str]
    folder: str
    environment: Mapping[str, str]


class Started(Protocol):
    """A command that was started: what `subprocess.Popen` and `Forked` have in common."""

    @property
    def pid(self) -> int:
        """Its process, which leads its group."""

    def poll(self) -> int | None:
        """Its exit code; None while it is there."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended; raises `TimeoutExpired` when it takes longer."""

    def send_signal(self, sig: int) -> None:
        """Sends a signal, if it is still there."""


class Forked:
    """A command that another process has forked, and whose end that one tells."""

    def __init__(self, words: Sequence[str], told: socket.socket) -> None:
        self._words = words
        self._told = told
        self._code: int | None = None
        self._hearing = Lock()
        self.pid = self._number()

    def poll(self) -> int | None:
        """Its exit code; None while it is there."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended; raises `TimeoutExpired` when it takes longer.

        Of several threads that wait each is told: one hears it, the others wait for that one.
        """
        ends_at = None if timeout is None else time.monotonic() + timeout
        if not self._hearing.acquire(timeout=-1 if timeout is None else timeout):
            raise subprocess.TimeoutExpired(self._words, timeout or 0)
        try:
            if self._code is None:
                left = None if ends_at is None else max(0, ends_at - time.monotonic())
                if not select.select([self._told], [], [], left)[0]:
                    raise subprocess.TimeoutExpired(self._words, timeout or 0)
                self._code = self._number()
                self._told.close()
            return self._code
        finally:
            self._hearing.release()

    def send_signal(self, sig: int) -> None:
        """Sends a signal, if it is still there."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # its end may be on the way
                os.kill(self.pid, sig)

    def _number(self) -> int:
        number: int = _NUMBER.unpack(self._told.recv(_NUMBER.size))[0]
        return number


def fork(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], files: Sequence[IO[str]]
) -> Forked:
    """Starts a command with these files for its input, output and errors."""
    request: _Request = {"words": words, "folder": str(folder), "environment": environment}
    told, telling = socket.socketpair()
    with telling:
        descriptors = [telling.fileno(), *(file.fileno() for file in files)]
        socket.send_fds(loaded(), [json.dumps(request).encode()], descriptors)
        return Forked(words, told)


@cache
def loaded() -> socket.socket:
    """What the process that has the program loaded is asked by: whoever asks first starts it.

    Copies of this process ask the same one, a message for each command. It ends when nobody can ask
    any more.
    """
    asking, asked = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with asked:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(asked.fileno())],
            cwd=Path(__file__).parents[2],
            pass_fds=[asked.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    _held.append(process)

    def end() -> None:
        asking.close()
        process.wait()  # or Python complains of one that nobody waited for

    atexit.register(end)
    return asking


def _serve_requests(asked: socket.socket) -> None:
    """Forks for each request, and tells what has become of it by the first of its descriptors."""
    gc.collect()
    gc.freeze()  # so that those who are forked leave alone what they share
    _fill_gaps()
    tellers: dict[int, socket.socket] = {}

    def tell(*_: object) -> None:
        while tellers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with tellers.pop(pid) as teller, suppress(OSError):  # nobody may want to know
                teller.send(_NUMBER.pack(os.waitstatus_to_exitcode(status)))

    signal.signal(signal.SIGCHLD, tell)
    while (asking := socket.recv_fds(asked, _MOST_BYTES, 4))[0]:
        teller, files = socket.socket(fileno=asking[1][0]), asking[1][1:]
        request: _Request = json.loads(asking[0])
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # until it is written down
        if (pid := os.fork()) == 0:
            for one in (asked, teller, *tellers.values()):
                one.close()
            _become(request, files)
        tellers[pid] = teller
        teller.send(_NUMBER.pack(pid))
        for file in files:
            os.close(file)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _fill_gaps() -> None:
    """Takes what memory is free between what is in use, for good.

    Whoever is forked would take it, and copy a page for each piece: a quarter of what it copies.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    allocate = ctypes.CDLL(None).malloc
    allocate.restype, allocate.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
    last = allocate(_LARGEST_GAP)
    for size in range(_LARGEST_GAP, 0, -16):
        while 0 < (place := allocate(size)) < last:
            pass
        last = place  # behind all that was in use


def _become(request: _Request, files: list[int]) -> NoReturn:
    """Turns this process into the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # which those that ran before have found by another environment
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that its keys are for this process
    # The stream knows of its file whether it can be sought in, which that of a pipe cannot.
    own = sys.stdout
    sys.stdout = os.fdopen(1, "w", encoding=own.encoding, errors=own.errors, closefd=False)
    code = _run(request["words"])
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _run(words: Sequence[str]) -> object:
    """Runs the program in this process; what it would exit with."""
    sys.argv = list(words)
    try:
        importlib.import_module("teamvars.cli").main()  # noqa: TID251 - of no other process
    except SystemExit as exit_:
        return exit_.code
    return 0


def _warm_up() -> None:
    """Runs some commands, which nobody sees: what they have read and made, those have who are
    forked then.
    """
    for name in [name for name in os.environ if name.startswith("TEAMVARS_")]:
        del os.environ[name]
    umask = os.umask(0)
    outputs = (sys.stdout, sys.stderr)
    before = [os.dup(output.fileno()) for output in outputs]
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nothing:
        os.chdir(folder)
        # Or 'whoami' would ask the service that whoever runs the tests is logged in to.
        os.environ.update(HOME=folder, XDG_CONFIG_HOME=folder)
        for output in outputs:
            os.dup2(nothing.fileno(), output.fileno())
        for words in WARM:
            _run(["teamvars", *words])
        os.chdir("/")
    for output, descriptor in zip(outputs, before, strict=True):
        output.flush()
        os.dup2(descriptor, output.fileno())
        os.close(descriptor)
    os.umask(umask)  # which commands change


if __name__ == "__main__":
    from teamvars import console
    from teamvars.cli import client, operator

    for room in (client, operator):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)  # noqa: TID251 - loads what lazy commands would
    asked = socket.socket(fileno=int(sys.argv[1]))
    _warm_up()
    console.load(console.PATH)  # a third of what a server takes to start
    _serve_requests(asked)
