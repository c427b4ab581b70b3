"""How this machine gets a token that somebody approves: in a browser here, or in one elsewhere.

All is asked of the service itself, whoever signs people in there (RFC 8252, RFC 8628).
"""

import hashlib
import hmac
import os
import queue
import re
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.errors import Fault, exit_code
from teamvars.cli.client.api.sending import answer_once, form_to, object_of
from teamvars.cli.client.api.transport import (
    Connection,
    NoAnswerError,
    NoConnectionError,
    Reply,
    Travel,
)
from teamvars.cli.exits import ERROR, FORBIDDEN, UNAUTHENTICATED, Failure
from teamvars.cli.output import note
from teamvars.domain.logins import CLIENT
from teamvars.kernel import Discreet
from teamvars.protocol import encoded

_SECONDS = 600
"""How long somebody has to approve it."""
_MORE_SECONDS = 5
"""Between two polls, once the service wants fewer (RFC 8628, 3.5)."""
_PASSING = frozenset((429, 502, 503, 504))
_ODD = re.compile(r"[^A-Za-z0-9._-]")
_MOST_OF_HOST = 64
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
_GO_BACK = b"<!doctype html><title>teamvars</title><p>Go back to your terminal."
_PAGE_POLICY = "default-src 'none'; frame-ancestors 'none'"
T = TypeVar("T")
_Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Begun(Discreet, frozen=True):
    """What a service says of a code that somebody is to type (RFC 8628, 3.2)."""

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: _Seconds
    interval: _Seconds = _MORE_SECONDS


class Issued(Discreet, frozen=True):
    """A token as it is answered."""

    access_token: str


class Service:
    """The service as it is asked by whoever has no token yet, for one of so many seconds, or of as
    many as it likes.
    """

    def __init__(self, address: Address, travel: Travel, lifetime: int | None) -> None:
        self.address = address
        self._connection = Connection(address, travel)
        wanted = {} if lifetime is None else {"expires_in": str(lifetime)}
        self.wanted = {"client_id": CLIENT, "host": _host(), **wanted}

    def ask(self, path: str, form: Mapping[str, str]) -> Reply:
        """Sends a form once. Raises NoConnectionError, NoAnswerError."""
        until = time.monotonic() + self._connection.seconds
        return self._connection.exchange(form_to(path, form), until)

    def answer(
        self, path: str, form: Mapping[str, str], kind: type[T], *, changes: bool = False
    ) -> T:
        """As `ask`, for what is no refusal. Fails on any other, and as `answer_once`."""
        reply = answer_once(self._connection, form_to(path, form), changes=changes)
        return self.accepted(reply, kind)

    def accepted(self, reply: Reply, kind: type[T]) -> T:
        """What an answer of that kind says. Fails on any other."""
        said = object_of(reply) or {}
        if reply.status == 200:
            with suppress(msgspec.ValidationError):
                return msgspec.convert(said, kind)
        told = said.get("error_description")
        if not isinstance(told, str):
            where = self.address
            raise Failure(f"{where} answered {reply.status}, and knows no 'teamvars login'.", ERROR)
        error = str(said.get("error"))
        if error == "access_denied":
            raise Failure(told, FORBIDDEN)
        raise Failure(told, exit_code(reply.status, [Fault(error)]))

    def revoke(self, token: str) -> None:
        """Ends a token. Fails where the service does not say that it has ended."""
        self.answer("/oauth/revoke", {"token": token}, dict, changes=True)

    def token(self, form: Mapping[str, str]) -> str:
        """The token for what a form shows."""
        asked = {"client_id": CLIENT, **form}
        return self.answer("/oauth/token", asked, Issued, changes=True).access_token


def has_browser() -> bool:
    """Whether whoever types here sees a browser of this machine."""
    if os.environ.get("SSH_CONNECTION"):
        return False
    if sys.platform == "linux" and not any(map(os.environ.get, _DISPLAYS)):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def by_browser(service: Service) -> str:
    """The token that somebody approves in a browser of this machine (RFC 8252)."""
    verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with _listening(state) as (redirect, answers):
        asked = {
            "response_type": "code",
            "redirect_uri": redirect,
            "state": state,
            "code_challenge": encoded(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
            **service.wanted,
        }
        page = f"{service.address}/oauth/authorize?{urlencode(asked)}"
        note("Approve this in your browser. If none opens, open this in one on this machine:")
        note(page)
        webbrowser.open(page)
        try:
            said = answers.get(timeout=_SECONDS)
        except queue.Empty:
            raise _unapproved() from None
    # Else somebody's service could have sent the browser on to another, and be told its code here.
    if said.get("iss") != str(service.address):
        raise Failure(
            f"The browser came back from {said.get('iss')}, not from {service.address}. Log in at "
            "the address by which the service calls itself.",
            ERROR,
        )
    if "code" not in said:
        raise Failure("It was refused in the browser.", FORBIDDEN)
    shown = {"code": said["code"], "redirect_uri": redirect, "code_verifier": verifier}
    return service.token({"grant_type": "authorization_code", **shown})


def by_code(service: Service) -> str:
    """The token that somebody approves in a browser anywhere, where they type a code (RFC 8628)."""
    begun = service.answer("/oauth/device_authorization", service.wanted, Begun)
    page, pause = begun.verification_uri, begun.interval
    if not page.startswith(f"{service.address}/"):
        raise Failure(
            f"{service.address} sends you to {page}. Log in at the address by which the service "
            "calls itself.",
            ERROR,
        )
    note(f"Open {page} in a browser, and type: {begun.user_code}")
    form = {
        "client_id": CLIENT,
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": begun.device_code,
    }
    until = time.monotonic() + min(begun.expires_in, _SECONDS)
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        try:
            reply = service.ask("/oauth/token", form)
        except (NoConnectionError, NoAnswerError):
            pause += _MORE_SECONDS
            continue
        error = (object_of(reply) or {}).get("error")
        if error == "slow_down" or reply.status in _PASSING:
            pause += _MORE_SECONDS
        elif error != "authorization_pending":
            return service.accepted(reply, Issued).access_token
    raise _unapproved()


def _host() -> str:
    """What this machine calls itself, as far as a service takes it."""
    return _ODD.sub("-", socket.gethostname())[:_MOST_OF_HOST] or "a-machine"


def _unapproved() -> Failure:
    return Failure("Nobody has approved it within ten minutes.", UNAUTHENTICATED)


@contextmanager
def _listening(state: str) -> Iterator[tuple[str, "queue.SimpleQueue[dict[str, str]]"]]:
    """Where the browser comes back to on this machine, and what it brings: the first that has this
    state. Whatever else knocks there is answered that nothing is there.
    """
    answers: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()

    class Returning(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            place = urlsplit(self.path)
            said = dict(parse_qsl(place.query))
            known = hmac.compare_digest(said.get("state", "").encode(), state.encode())
            is_it = place.path == "/callback" and known
            self.send_response(200 if is_it else 404)
            content = _GO_BACK if is_it else b""
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", _PAGE_POLICY)
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            if is_it:
                answers.put(said)

        def log_message(self, *_: object) -> None:
            """Says nothing: a request has the code."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Returning) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/callback", answers
        finally:
            server.shutdown()
