"""A real server: `teamvars serve` in processes of its own, on a port of its own."""

import json
import os
import random
import signal
import socket
import ssl
import time
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tests.support.commands import Host
from tests.support.forked import Started
from tests.support.patience import HANGS

# For HTTP without TLS. A context of its own for each client would read all authorities each time.
TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_PORTS = 11_000, 32_768
"""From which up to which. Linux gives connections those above; browsers block one below."""
_GIVEN: list[socket.socket] = []
"""Of UDP, each with the number of a port that was given, for as long as this process lives."""


class Server:
    """`teamvars serve` on a host's store; in a `with` it is ready inside and gone afterwards.

    `url` stays the same from `kill` or `terminate` to the next `start`.
    """

    def __init__(
        self, host: Host, *options: object, workers: int = 1, authority: Path | None = None
    ) -> None:
        """`authority`: the certificate to trust, when the host is set to speak TLS."""
        self.host = host
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.trust = TRUSTS_NOBODY
        if authority is not None:
            self.url = f"https://localhost:{self.port}"
            self.trust = ssl.create_default_context(cafile=str(authority))
        self._words = ("serve", "--port", self.port, "--workers", workers, *options)
        self.log_path = host.folder / f"serve-{self.port}.log"
        self._process: Started | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it, or starts it again, and returns once it is ready."""
        with self.log_path.open("a") as log:
            self._process = self.host.start(*self._words, out=log, err=log)
        deadline = time.monotonic() + HANGS
        while not is_ready(self.url, self.trust):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"teamvars serve does not start:\n{self.log}")
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the main process, as an init system does."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        assert self._process is not None
        return self._process.wait(HANGS)

    def terminate(self) -> int:
        """Ends it in good order and returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Ends every one of its processes at once, as a crash does."""
        if self._process is not None:
            end_group(self._process)

    @property
    def pid(self) -> int:
        """The main process; the workers are its children."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """The whole lines it has written so far: a line can be seen while it is being written."""
        return "".join(self.log_path.read_text(errors="replace").rpartition("\n")[:2])

    def log_lines(self) -> list[dict[str, Any]]:
        """Its log, when that is JSON."""
        return [json.loads(line) for line in self.log.splitlines()]

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """An HTTP client for it."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        options = {"timeout": HANGS, "verify": self.trust, **options}
        return httpx.Client(base_url=self.url, headers=headers, **options)


def is_ready(url: str, trust: ssl.SSLContext = TRUSTS_NOBODY) -> bool:
    """Whether a server there can do its work."""
    # Asked again and again: a client of httpx takes longer to make than to be answered.
    parts = urlsplit(url)
    assert parts.hostname is not None
    asks = HTTPConnection(parts.hostname, parts.port, timeout=HANGS)
    if parts.scheme == "https":
        asks = HTTPSConnection(parts.hostname, parts.port, timeout=HANGS, context=trust)
    with closing(asks):
        try:
            asks.request("GET", "/readyz")
            return asks.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False


def end_group(process: Started) -> None:
    """Kills a process that leads a group, with the group, whatever is left of it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    """A port on which nobody listens now, and that no other process of tests is given. No
    connection is given one of these, so that a server that was killed finds its own free when it is
    started again.
    """
    while True:
        port = random.SystemRandom().randrange(*_PORTS)
        given = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with suppress(OSError):
            given.bind(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)):
                _GIVEN.append(given)
                return port
        given.close()
