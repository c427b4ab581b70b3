"""One connection to a service: HTTP/1.1 with the standard library, no redirect ever followed.

`http.client` loads in a fifth of the time of what else there is (docs/decisions/018-the-client.md).
"""

import http.client
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from teamvars import __version__
from teamvars.cli.client.api import wires
from teamvars.cli.client.api.addresses import Address, proxy_for
from teamvars.cli.client.api.wires import NoConnectionError
from teamvars.cli.commands import PROXY
from teamvars.cli.exits import Failure
from teamvars.cli.output import note

_CONNECT_SECONDS = 10
_IDLE_SECONDS = 4
"""After which a server may have closed a connection: servers wait 5 seconds and more."""
_MOST_BYTES = 128 * 1024 * 1024
"""More than a list of variables can have: 16 MiB of values, each byte written as six."""


class Request(NamedTuple):
    """A request as it goes out. Its headers hold the token and its body may hold values."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None

    def __repr__(self) -> str:
        return f"{self.method} {without_values(self.path)}"


class Reply(NamedTuple):
    """An answer as it came; the names of its headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Travel(NamedTuple):
    """How requests travel. `seconds`: how long one may take, all repeats included."""

    seconds: float = 30.0
    by_environment: bool = False
    """Through the proxy that the environment names."""
    debug: bool = False


class NoAnswerError(Exception):
    """The request may have arrived, and nobody knows what became of it."""


class Connection:
    """Kept open from one request to the next."""

    def __init__(self, address: Address, travel: Travel) -> None:
        """Fails where the environment is to name a proxy, and names none that can be."""
        self.address = address
        self._host = str(address).partition("://")[2]
        self.seconds = travel.seconds
        self._debug = travel.debug
        self._by_environment = travel.by_environment
        self._proxy = proxy_for(address, os.environ) if travel.by_environment else None
        self._open: http.client.HTTPConnection | None = None
        self._wire: wires.Wire | None = None
        self._used = 0.0
        self.is_sending = False
        """Whether something was sent that was not answered yet."""

    def exchange(self, request: Request, until: float) -> Reply:
        """Sends a request and reads the answer. Raises NoConnectionError, NoAnswerError.

        `until`: when to give up, on the clock of `time.monotonic`.
        """
        started = time.monotonic()
        self.is_sending = False
        try:
            reply = self._exchange(request, until)
        except (NoConnectionError, NoAnswerError) as error:
            self.close()
            self._tell(request, str(error), started)
            raise
        self.is_sending = False
        request_id = reply.headers.get("x-request-id", "-")
        self._tell(request, f"{reply.status} {request_id}", started)
        return reply

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def unreachable(self, error: NoConnectionError) -> str:
        """The sentence that says so."""
        through = f" through the proxy {self._proxy}" if self._proxy else ""
        if self._by_environment or self.address.is_loopback:
            hint = ""
        else:
            hint = f" HTTPS_PROXY is used only with --proxy environment or {PROXY}=environment."
        return f"{self.address} cannot be reached{through}: {error}.{hint}"

    def _exchange(self, request: Request, until: float) -> Reply:
        connection = self._connected(until)
        self.is_sending = True
        try:
            connection.request(
                request.method,
                request.path,
                request.body,
                {"Host": self._host, "User-Agent": _AGENT, **request.headers},
            )
        except (BrokenPipeError, ConnectionResetError):
            pass  # who refuses may do so before the end of a body, and the answer is there already
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(_reason(error)) from None
        try:
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES + 1)
            if answer.length and len(content) <= _MOST_BYTES:
                # `http.client` minds this only where it is not told how much to read.
                raise http.client.IncompleteRead(b"")
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError(_reason(error)) from None
        if len(content) > _MOST_BYTES:
            raise Failure(f"The answer of {self.address} has more than {_MOST_BYTES} bytes.")
        self._used = time.monotonic()
        if answer.will_close:
            self.close()
        known = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, known, content)

    def _connected(self, until: float) -> http.client.HTTPConnection:
        if self._open is None or time.monotonic() >= self._used + _IDLE_SECONDS:
            self.close()
            first = min(until, time.monotonic() + _CONNECT_SECONDS)
            self._wire = wires.connect(self.address, self._proxy, first)
            self._open = http.client.HTTPConnection(self.address.host, self.address.port)
            made: Any = self._wire  # all of a socket that `http.client` uses
            self._open.sock = made
        assert self._wire is not None
        self._wire.until = until
        return self._open

    def _tell(self, request: Request, outcome: str, started: float) -> None:
        """A line about a request for `--debug`: nothing it says, and of its query the names."""
        if self._debug:
            taken = round((time.monotonic() - started) * 1000)
            note(f"{request!r}: {outcome}, {taken} ms")


_AGENT = f"teamvars/{__version__}"


def without_values(path: str) -> str:
    """A path whose query has lost its values: somebody may look for one."""
    bare, mark, query = path.partition("?")
    return bare + mark + "&".join(part.partition("=")[0] for part in query.split("&"))


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection was cut in the middle"
    if isinstance(error, http.client.HTTPException):
        return "the answer is not HTTP"
    return wires.reason(error)
