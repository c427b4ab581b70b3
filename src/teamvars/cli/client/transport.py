"""One connection to a service: HTTP/1.1 with the standard library, no redirect ever followed.

`http.client` loads in a fifth of the time of what else there is (docs/decisions/018-the-client.md).
"""

import http.client
import ssl
import time
from collections.abc import Mapping
from typing import NamedTuple

from teamvars import __version__
from teamvars.cli.client.addresses import Address
from teamvars.cli.failures import Failure
from teamvars.cli.output import note

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60
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


class NoConnectionError(Exception):
    """Nothing was sent; the text says why."""


class NoAnswerError(Exception):
    """The request may have arrived, and nobody knows what became of it."""


class Connection:
    """Kept open from one request to the next."""

    def __init__(self, address: Address, *, debug: bool) -> None:
        self.address = address
        self._debug = debug
        self._open: http.client.HTTPConnection | None = None
        self._used = 0.0

    def exchange(self, request: Request) -> Reply:
        """Sends a request and reads the answer. Raises NoConnectionError, NoAnswerError."""
        started = time.monotonic()
        try:
            reply = self._exchange(request)
        except (NoConnectionError, NoAnswerError) as error:
            self.close()
            self._tell(request, str(error), started)
            raise
        request_id = reply.headers.get("x-request-id", "-")
        self._tell(request, f"{reply.status} {request_id}", started)
        return reply

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _exchange(self, request: Request) -> Reply:
        connection = self._connected()
        try:
            connection.request(
                request.method,
                request.path,
                request.body,
                {"User-Agent": _AGENT, **request.headers},
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

    def _connected(self) -> http.client.HTTPConnection:
        if self._open is not None and time.monotonic() < self._used + _IDLE_SECONDS:
            return self._open
        self.close()
        scheme, host, port = self.address
        if scheme == "https":
            # Trusts what this host trusts, or what SSL_CERT_FILE and SSL_CERT_DIR name.
            context = ssl.create_default_context()
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=_CONNECT_SECONDS, context=context
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise NoConnectionError(
                f"its certificate is not trusted ({error.verify_message}). If an authority of your "
                "own has signed it, set SSL_CERT_FILE to that authority's certificate"
            ) from None
        except OSError as error:
            raise NoConnectionError(_reason(error)) from None
        made.sock.settimeout(_ANSWER_SECONDS)
        self._open = made
        return made

    def _tell(self, request: Request, outcome: str, started: float) -> None:
        """A line about a request for `--debug`: nothing it says, and of its query the names."""
        if self._debug:
            taken = round((time.monotonic() - started) * 1000)
            note(f"{request!r}: {outcome}, {taken} ms")


_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""What OpenSSL makes of an answer in plain HTTP."""

_AGENT = f"teamvars/{__version__}"


def without_values(path: str) -> str:
    """A path whose query has lost its values: somebody may look for one."""
    bare, mark, query = path.partition("?")
    return bare + mark + "&".join(part.partition("=")[0] for part in query.split("&"))


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it does not speak TLS. If it is on this host, give its address with http://"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection was cut in the middle"
    if isinstance(error, http.client.HTTPException):
        return "what came is not HTTP"
    return getattr(error, "strerror", None) or type(error).__name__
