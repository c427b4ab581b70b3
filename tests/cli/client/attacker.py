"""A server of somebody else: it answers as it is told and keeps what it was sent."""

import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Attacker:
    """Listens on this host; in a `with` it answers every request in the same way."""

    def __init__(
        self,
        status: int = 200,
        body: bytes = b"{}",
        headers: Mapping[str, str] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls`: how it speaks TLS, as `localhost`."""
        self.seen: list[tuple[str, str | None]] = []
        """The path and the `Authorization` of each request."""
        attacker = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                attacker.seen.append((self.path, self.headers.get("Authorization")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                media_type = {"Content-Type": "application/vnd.api+json"}
                for name, value in (media_type | dict(headers or {})).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        for method in ("POST", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.do_GET)
        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self.url = f"https://localhost:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Says nothing of clients that do not trust it."""
