"""What bytes go over: a socket that is waited for no longer than was agreed.

`http.client` alone waits so long for each piece, and for ever for a host that nobody finds.
"""

import io
import queue
import re
import socket
import ssl
import threading
import time
from typing import Any

from teamvars.cli.client.api.addresses import Address, Proxy

_PIECE = 64 * 1024
_LONGEST_HEAD = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""What OpenSSL makes of an answer in plain HTTP."""


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


def connect(address: Address, proxy: Proxy | None, until: float) -> Wire:
    """A wire to a service, with TLS where its address says so. Raises NoConnectionError."""
    host, port = (proxy.host, proxy.port) if proxy else (address.host, address.port)
    try:
        connected = _connected(host, port, until)
        try:
            if proxy is not None:
                _tunnel(connected, address, proxy, until)
            return Wire(_secured(connected, address, until), until)
        except BaseException:
            connected.close()
            raise
    except ssl.SSLCertVerificationError as error:
        raise NoConnectionError(
            f"its certificate is not trusted ({error.verify_message}). If an authority of your "
            "own has signed it, set SSL_CERT_FILE to that authority's certificate"
        ) from None
    except OSError as error:
        raise NoConnectionError(reason(error)) from None


def reason(error: Exception) -> str:
    """Why there is no answer, in words."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it does not speak TLS. If it is on this host, give its address with http://"
    return getattr(error, "strerror", None) or type(error).__name__


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
            said.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
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


def _secured(connected: socket.socket, address: Address, until: float) -> socket.socket:
    if address.scheme != "https":
        return connected
    connected.settimeout(_left(until))
    # Trusts what this host trusts, or what SSL_CERT_FILE and SSL_CERT_DIR name.
    return ssl.create_default_context().wrap_socket(connected, server_hostname=address.host)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
