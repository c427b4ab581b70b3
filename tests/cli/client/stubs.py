"""A service that is none: it answers as a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

Answer = tuple[int, object]
"""A status, and a document of JSON:API."""


@contextmanager
def answering(tell: Callable[[str, bytes], Answer]) -> Iterator[str]:
    """Its address, as long as it serves: each path, with the body that was sent, is answered so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, document = tell(self.path, sent)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.api+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
