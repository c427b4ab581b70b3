"""One connection to a service: HTTP/1.1 with the standard library, no redirect ever followed.

`http.client` loads in a fifth of the time of what else there is (docs/decisions/018-the-client.md).
"""

import http.client
import io
import os
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from teamvars import __version__
from teamvars.cli.client.api.addresses import Address, Proxy, proxy_for
from teamvars.cli.commands import PROXY
from teamvars.cli.exits import Failure
from teamvars.cli.output import note

_PIECE = 64 * 1024
_LONGEST_HEAD = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""What OpenSSL makes of an answer in plain HTTP."""
_CLOSED = (http.client.RemoteDisconnected, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Which of them it is in the handshake of TLS, the release of Python decides."""
_OWN_CERTIFICATE = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
_AUTHORITIES = "SSL_CERT_FILE"
_CONNECT_SECONDS = 10
_IDLE_SECONDS = 4
"""After which a server may have closed a connection: servers wait 5 seconds and more."""
_MOST_BYTES = 128 * 1024 * 1024
"""More than a list of variables can have: 16 MiB of values, each byte written as six."""
_AGENT = f"teamvars/{__version__}"


class NoConnectionError(Exception):
    """Nothing was sent; the text says why."""


class Wire:
    """A connected socket, as `http.client` uses one. Raises TimeoutError from `until` on."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._socket = connected
        self.until = until
        """On the clock of `time.monotonic`."""

    def sendall(self, data: bytes) -> None:
        """Sends all of it."""
        whole = memoryview(data)
        for start in range(0, len(whole), _PIECE):
            self.limit()
            self._socket.sendall(whole[start : start + _PIECE])

    def makefile(self, mode: str) -> io.BufferedReader:
        """What comes; the socket is closed once this is, too."""
        return io.BufferedReader(_Incoming(self, self._socket.makefile("rb", buffering=0)))

    def limit(self) -> None:
        """Lets the next call of the socket wait for what is left of the time."""
        self._socket.settimeout(_left(self.until))

    def close(self) -> None:
        """Closes it."""
        self._socket.close()


class _Incoming(io.RawIOBase):
    def __init__(self, wire: Wire, pieces: Any) -> None:
        self._wire = wire
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._wire.limit()
        count: int | None = self._pieces.readinto(buffer)
        return count

    def close(self) -> None:
        self._pieces.close()
        super().close()


def connect(address: Address, proxy: Proxy | None, until: float, authority: str | None) -> Wire:
    """A wire to a service, with TLS where its address says so. Raises NoConnectionError."""
    host, port = (proxy.host, proxy.port) if proxy else (address.host, address.port)
    try:
        connected = _connected(host, port, until)
        try:
            if proxy is not None:
                _tunnel(connected, address, proxy, until)
            return Wire(_secured(connected, address, until, authority), until)
        except BaseException:
            connected.close()
            raise
    except ssl.SSLCertVerificationError as error:
        raise NoConnectionError(
            f"its certificate is not trusted ({error.verify_message}). {_trust()}"
        ) from None
    except OSError as error:
        raise NoConnectionError(reason(error)) from None


def _trust() -> str:
    """What to do about a certificate that is not trusted."""
    named = os.environ.get(_AUTHORITIES)
    if named and not os.access(named, os.R_OK):  # OpenSSL says nothing of it
        return f"{_AUTHORITIES} names {named}, which cannot be read"
    return (
        f"If an authority of your own has signed it, set {_AUTHORITIES} to that authority's "
        "certificate"
    )


def reason(error: Exception) -> str:
    """Why there is no connection or no answer, in words."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, _CLOSED):
        return "the connection was closed"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection was cut in the middle"
    if isinstance(error, ssl.SSLError) and error.reason:
        return _of_tls(error)
    # The last one as of a chunk of fewer bytes than none.
    if isinstance(error, http.client.HTTPException | ValueError):
        return "the answer is not HTTP"
    return getattr(error, "strerror", None) or type(error).__name__


def _of_tls(error: ssl.SSLError) -> str:
    if error.reason in _NO_TLS:
        return "it does not speak TLS. If it is on this host, give its address with http://"
    if error.reason == _OWN_CERTIFICATE:
        return "it wants a certificate of the client's own, and teamvars has none"
    return f"TLS cannot be agreed on ({error.reason.lower().replace('_', ' ')})"


def _connected(host: str, port: int, until: float) -> socket.socket:
    """A socket to the first of the host's addresses that takes it; each has a part of the time."""
    found = _addresses(host, port, until)
    while True:
        family, kind, protocol, _, where = found[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(_left(until) / len(found))
            made.connect(where)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            made.close()
            if not (found := found[1:]):
                raise
        else:
            return made


def _addresses(host: str, port: int, until: float) -> list[Any]:
    """What a resolver says. It waits as long as it likes, so another thread waits for it."""
    said: queue.SimpleQueue[list[Any] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            # As bytes, which hosts are here: text would go through IDNA, which takes 5 ms to load.
            said.put(socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM))
        except OSError as error:
            said.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = said.get(timeout=_left(until))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _tunnel(connected: socket.socket, address: Address, proxy: Proxy, until: float) -> None:
    """Has the proxy pass on what is said from here on (CONNECT, RFC 9110 §9.3.6)."""
    where = address.authority
    lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    wire = Wire(connected, until)
    wire.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        wire.limit()
        # Not a byte more: what follows is the service's.
        if not (more := connected.recv(1)) or len(head) == _LONGEST_HEAD:
            raise NoConnectionError("the proxy did not answer like a proxy")
        head += more
    if (found := _STATUS.match(head)) is None or found[1][:1] != b"2":
        said = found[1].decode() if found else "what is not HTTP"
        wants = ": it needs a user and a password in HTTPS_PROXY" if said == "407" else ""
        raise NoConnectionError(f"the proxy answered {said}{wants}")


def _secured(
    connected: socket.socket, address: Address, until: float, authority: str | None
) -> socket.socket:
    if address.scheme != "https":
        return connected
    connected.settimeout(_left(until))
    # Trusts what this host trusts, or what SSL_CERT_FILE and SSL_CERT_DIR name.
    context = ssl.create_default_context(cafile=authority)
    return context.wrap_socket(connected, server_hostname=address.host.encode())


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


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
    authority: str | None = None
    """The file of the certificate that is trusted, in the place of what this host trusts."""


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
        self._authority = travel.authority
        self._by_environment = travel.by_environment
        self._proxy = proxy_for(address, os.environ) if travel.by_environment else None
        self._open: http.client.HTTPConnection | None = None
        self._wire: Wire | None = None
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
        headers = {"Host": self._host, "User-Agent": _AGENT, **request.headers}
        try:
            # Who refuses may do so before the end of a body, and the answer is there already.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(request.method, request.path, request.body, headers)
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES + 1)
            if answer.length and len(content) <= _MOST_BYTES:
                # `http.client` minds this only where it is not told how much to read.
                raise http.client.IncompleteRead(b"")
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NoAnswerError(reason(error)) from None
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
            self._wire = connect(self.address, self._proxy, first, self._authority)
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


def without_values(path: str) -> str:
    """A path whose query has lost its values: somebody may look for one."""
    bare, mark, query = path.partition("?")
    return bare + mark + "&".join(part.partition("=")[0] for part in query.split("&"))
