"""The accounts that `dev` has for its sample data: a provider of OpenID Connect on this machine,
which asks for no password. Only `dev` imports this, and so nothing else has it.
"""

import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

from teamvars.security.tokens import challenge_of

CLIENT = "teamvars"
_SECONDS = 300
_MOST_BYTES = 8 * 1024
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sample accounts</title>
<style>body{{font:1em/1.5 system-ui,sans-serif;max-width:24em;margin:4em auto;padding:0 1em}}
button{{font:inherit;display:block;width:100%;margin:.5em 0;padding:.6em}}
:root{{color-scheme:light dark}}</style></head>
<body><main><h1>Sample accounts</h1>
<p>These are of <code>teamvars dev</code>: nobody is asked for a password.</p>
<form method="post">{buttons}</form></main></body></html>
"""


class Accounts(ThreadingHTTPServer):
    """A provider for one service, which signs in whoever of `names` is chosen."""

    daemon_threads = True

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.names, self.redirect = names, ""
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = ECKey.generate_key("P-256", {"kid": "dev"})
        self.codes: dict[str, Mapping[str, str]] = {}

    def start(self, redirect: str) -> None:
        """Answers from now on, while this process is there; `redirect` is where people are sent
        back to.
        """
        self.redirect = redirect
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def id_token(self, said: Mapping[str, str]) -> str:
        """What is said of somebody who was chosen."""
        now = int(time.time())
        own = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + _SECONDS}
        claims = {**own, "sub": said["account"], "nonce": said["nonce"]}
        return jwt.encode({"alg": "ES256", "kid": "dev"}, claims, self.key)


class _Answering(BaseHTTPRequestHandler):
    server: Accounts

    def do_GET(self) -> None:
        """The documents, and the page."""
        accounts, path = self.server, urlsplit(self.path).path
        if path == "/.well-known/openid-configuration":
            self._say(200, _about(accounts.url))
        elif path == "/keys":
            self._say(200, {"keys": [accounts.key.as_dict(private=False)]})
        elif path == "/authorize" and self._asked() is not None:
            self._show()
        else:
            self._say(404, {})

    def do_POST(self) -> None:
        """Who was chosen, and what their code stands for."""
        path = urlsplit(self.path).path
        length = min(int(self.headers.get("Content-Length") or 0), _MOST_BYTES)
        form = _single(self.rfile.read(length).decode("ascii", "replace"))
        asked = self._asked() if path == "/authorize" else None
        if asked is not None and form.get("account") in self.server.names:
            self._send_back(asked | {"account": form["account"]})
        elif path == "/token":
            self._redeem(form)
        else:
            self._say(400, {"error": "invalid_request"})

    def log_message(self, *_: object) -> None:
        """Says nothing: the terminal has the service's lines."""

    def _asked(self) -> dict[str, str] | None:
        """What the service asks for; None: it is not that service, or not that."""
        asked = _single(urlsplit(self.path).query)
        is_ours = asked.get("client_id") == CLIENT
        is_ours = is_ours and asked.get("redirect_uri") == self.server.redirect
        is_whole = {"state", "nonce", "code_challenge"} <= asked.keys()
        return asked if is_ours and is_whole else None

    def _send_back(self, said: Mapping[str, str]) -> None:
        code = secrets.token_urlsafe()
        self.server.codes[code] = said
        query = urlencode({"code": code, "state": said["state"], "iss": self.server.url})
        self.send_response(303)
        self.send_header("Location", f"{self.server.redirect}?{query}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _redeem(self, form: Mapping[str, str]) -> None:
        said = self.server.codes.pop(form.get("code", ""), None)
        challenge = challenge_of(form.get("code_verifier", ""))
        if said is None or said["code_challenge"] != challenge:
            self._say(400, {"error": "invalid_grant"})
        else:
            self._say(200, {"id_token": self.server.id_token(said), "token_type": "Bearer"})

    def _show(self) -> None:
        buttons = "".join(
            f'<button name="account" value="{escape(name)}">Sign in as {escape(name)}</button>'
            for name in self.server.names
        )
        self._write(200, "text/html; charset=utf-8", _PAGE.format(buttons=buttons).encode())

    def _say(self, status: int, document: Mapping[str, object]) -> None:
        self._write(status, "application/json", json.dumps(document).encode())

    def _write(self, status: int, media_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(content)


def _about(url: str) -> Mapping[str, object]:
    return {
        "issuer": url,
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
        "jwks_uri": f"{url}/keys",
        "authorization_response_iss_parameter_supported": True,
    }


def _single(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
