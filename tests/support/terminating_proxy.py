"""A proxy that terminates TLS, as some companies have one: it hears everything, and may lie."""

import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.own_tls import own_tls

_OF_A_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class Asked:
    """A request, as somebody between client and service sees it."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Answered:
    """An answer."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class TerminatingProxy:
    """Before the service at `target`, in a `with`; clients trust `authority`, the path of a file.

    `there` makes what is sent on of what it is asked, or answers itself; `back` makes what is
    answered, or None: then it hangs up. `heard` is all that both sides have said.
    """

    def __init__(self, folder: Path) -> None:
        context, self.authority = own_tls(folder)
        self.target = ""
        self.heard: list[bytes] = []
        self.passes_on()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.context = context
        self.url = f"https://localhost:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def passes_on(self) -> None:
        """Alters nothing from here on."""
        self.there: Callable[[Asked], Asked | Answered] = lambda asked: asked
        self.back: Callable[[Asked, Answered], Answered | None] = lambda _, answered: answered

    def ask(self, asked: Asked) -> Answered:
        """What the service itself answers."""
        connection = HTTPConnection(urlsplit(self.target).netloc)
        try:
            connection.request(asked.method, asked.path, asked.body, dict(asked.headers))
            answer = connection.getresponse()
            return Answered(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def answer(self, asked: Asked) -> Answered | None:
        """What the client is answered."""
        self._hear(asked.method, asked.path, asked.headers, asked.body)
        sent = self.there(asked)
        if isinstance(sent, Answered):
            return sent
        answered = self.ask(sent)
        self._hear(answered.status, "", answered.headers, answered.body)
        return self.back(sent, answered)

    def _hear(self, what: object, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.heard.append(f"{what} {path} {dict(headers)!r}\n".encode() + body)


class _Server(ThreadingHTTPServer):
    context: ssl.SSLContext

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shakes hands in the thread of the connection; who hangs up is nobody's fault."""
        with suppress(OSError), self.context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)


def _handler(proxy: TerminatingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = _body(self)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _OF_A_CONNECTION}
            answered = proxy.answer(Asked(self.command, self.path, headers, body))
            if answered is None:
                self.close_connection = True
                return
            self.send_response_only(answered.status)
            for name, value in answered.headers.items():
                if name.lower() not in _OF_A_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answered.body)))
            self.end_headers()
            self.wfile.write(answered.body)

        # As the library has it.
        do_GET = do_PATCH = do_PUT = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return Handler


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    """The body of a request, in chunks or in one piece."""
    if handler.headers.get("Transfer-Encoding") != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    body = b""
    while size := int(handler.rfile.readline(), 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()  # no trailers
    return body
