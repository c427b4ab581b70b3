"""A stand-in for a service that hands out values, and for issuers of jobs' tokens, over HTTP."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from teamvars.kernel.variables import Category
from teamvars.protocol import bundles, decoded, encoded, token_id
from teamvars.protocol.bundles import Delivered, Info, deliver

WORKSPACE = "ws-2TeBwD7yRZ4pQ1nC"
RUNNER = "run-2TeBwD7yRZ4pQ1nC"
ISSUED = "tvr_of-this-test"


def variable(key: str, value: str, category: str = "env", **more: Any) -> Delivered:
    """A variable as it is delivered; sensitive unless something else is said."""
    flags = {"hcl": False, "sensitive": True, **more}
    return Delivered(f"var-{key}", key, value, Category(category), **flags, version_id="1")


class Handing:
    """A service that hands one workspace to whoever asks, in a `with`; `url` is its address.

    `github` makes the token that a job asks for there, by its audience; `unready` is what it says
    to the first who ask: a status, or nothing, with the connection cut. `changes` are other than
    what was asked for, of the info that is signed. `refuses` are answers to the first exchanges.
    `heard` has each request: path, headers and body.
    """

    def __init__(self, *variables: Delivered) -> None:
        self.variables: Sequence[Delivered] = variables
        self.signer = Ed25519PrivateKey.generate()
        self.pinned = bundles.shown_keys([self.signer.public_key()])
        self.github: Callable[[str], str] = lambda _: "jwt-of-github"
        self.unready: list[int | None] = []
        self.changes: Mapping[str, Any] = {}
        self.refuses: list[tuple[int, Mapping[str, str]]] = []
        self.heard: list[tuple[str, Mapping[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.heard.append((self.path, dict(self.headers), b""))
                (audience,) = parse_qs(urlsplit(self.path).query)["audience"]
                status = outer.unready.pop(0) if outer.unready else 200
                if status is None:
                    self.close_connection = True
                else:
                    self.answer(status, {"value": outer.github(audience)} if status == 200 else {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.heard.append((self.path, dict(self.headers), body))
                self.answer(*outer.answered(self.path, body))

            def answer(self, status: int, document: object) -> None:
                content = json.dumps(document).encode()
                self.send_response(status)
                kind = "application/vnd.api+json" if "/api/" in self.path else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answered(self, path: str, body: bytes) -> tuple[int, object]:
        """What it answers to a POST."""
        if path == "/oauth/token":
            if self.refuses:
                return self.refuses.pop(0)
            found = {"access_token": ISSUED, "token_type": "Bearer", "expires_in": 60}
            return 200, {**found, "runner": RUNNER, "version": 1}
        asked = json.loads(body)["data"]["attributes"]
        key, only = decoded(asked["public-key"]), tuple(asked.get("only", ()))
        return 200, {"data": {"type": "deliveries", "attributes": self.delivery(key, only)}}

    def delivery(self, public: bytes, only: tuple[str, ...] = ()) -> Mapping[str, str]:
        """What it delivers to that key, whatever is wanted."""
        thumbprint = self.thumbprint_said()
        name = token_id(sha256(ISSUED.encode()).digest())
        ends = int(time.time()) + 60
        info = Info("org-1", WORKSPACE, RUNNER, 1, name, thumbprint, "ab" * 32, ends, only)
        made = deliver(self.variables, replace(info, **self.changes), public, self.signer)
        return {part: encoded(getattr(made, part)) for part in ("info", "bundle", "signature")}

    def thumbprint_said(self) -> str:
        """That of the key that the last exchange named: in the audience, or in its form."""
        form = self.exchanges()[-1]
        if "thumbprint" in form:
            return form["thumbprint"]
        asked = [path for path, _, _ in self.heard if "audience=" in path][-1]
        return parse_qs(urlsplit(asked).query)["audience"][0].partition("#")[2]

    def exchanges(self) -> list[dict[str, str]]:
        """The forms of all exchanges."""
        bodies = [body.decode() for path, _, body in self.heard if path == "/oauth/token"]
        return [{name: one[0] for name, one in parse_qs(body).items()} for body in bodies]
