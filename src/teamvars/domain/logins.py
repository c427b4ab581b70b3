"""How a program of somebody's gets a token: they approve it where they are signed in.

A program beside a browser is answered through that, on this machine (RFC 8252, with PKCE). Any
other shows a code, which somebody types (RFC 8628).
"""

import re

from teamvars.domain.errors import Code, Fault
from teamvars.domain.ids import derived_id
from teamvars.domain.times import DAY, LATEST, SECOND
from teamvars.kernel import Discreet

CLIENT = "teamvars-cli"
"""The only program that is known: `teamvars login`."""
CODE = 60 * SECOND
"""How long what a browser brings is good, in µs."""
DEVICE = 600 * SECOND
"""How long a program waits whose code somebody types, in µs."""
LIFETIME = 90 * DAY
"""How long a token lives unless somebody wants another time, in µs."""
PREFIX = "lgn"

HOST = re.compile(r"[A-Za-z0-9._-]{1,64}")
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
STATE = re.compile(r"[A-Za-z0-9_-]{22,128}")
LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]):([1-9][0-9]{0,4})/callback")
LONGEST = LATEST // SECOND
"""In seconds: as long as there are calendars."""
_PORTS = 65_535


class Login(Discreet, frozen=True):
    """A program that waits for somebody to approve it, on a `host` as it says itself. Times in µs.

    It shows `code_hash` of what it has for the token, which is to live for `lifetime`. One beside a
    browser has a `challenge`, and its answer goes to `redirect`. Any other has a `user_code`, and
    asked from an `address`, where these are kept; `network` tells networks apart and says no more.

    `token_id` is the token with which somebody approved, `ends_at` when the new one is to end, and
    `issued_id` is that one.
    """

    id: str
    code_hash: bytes
    host: str
    lifetime: int | None
    created_at: int
    expires_at: int
    challenge: str | None = None
    redirect: str | None = None
    user_code: str | None = None
    address: str | None = None
    network: str = ""
    polled_at: int | None = None
    denied: bool = False
    token_id: str | None = None
    ends_at: int | None = None
    issued_id: str | None = None

    def is_open(self, now: int, by: str | None = None) -> bool:
        """Whether it still waits for somebody, or was approved with the token `by`."""
        return now < self.expires_at and self.token_id in (None, by) and not self.denied


class Consent(Discreet, frozen=True):
    """What somebody approves, when the token would end, and where the browser goes: with a refusal
    until it is approved.
    """

    login: Login
    ends_at: int
    answer: str | None = None


class Presented(Discreet, frozen=True):
    """What a program shows for its token: the hash of a code, the challenge that its verifier makes
    and where the code was sent.
    """

    code_hash: bytes
    challenge: str | None = None
    redirect: str | None = None


class LoginDraft(Discreet, frozen=True):
    """What somebody is asked to approve: the code of a program that waits, or all that one beside
    their browser asks for.
    """

    user_code: str | None = None
    host: str | None = None
    redirect_uri: str | None = None
    code_challenge: str | None = None
    state: str | None = None
    expires_in: int | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def lifetime(self) -> int | None:
        """How long the token is to live, in µs."""
        return None if self.expires_in is None else self.expires_in * SECOND

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule that it breaks."""
        if self.user_code is not None:
            return list(self.faults)
        rules = (
            ("host", self.host, is_host(self.host), _HOST_RULE),
            ("redirect-uri", self.redirect_uri, is_loopback(self.redirect_uri), _REDIRECT_RULE),
            ("code-challenge", self.code_challenge, is_challenge(self.code_challenge), _S256),
            ("state", self.state, _fits(STATE, self.state), "It is 22 to 128 of A-Z a-z 0-9 _ -."),
            ("expires-in", self.expires_in, is_lifetime(self.expires_in), _LIFETIME_RULE),
        )
        found = list(self.faults)
        said = {fault.pointer for fault in found}
        for name, value, fits, rule in rules:
            pointer = f"/data/attributes/{name}"
            if not fits and pointer not in said:
                code = Code.MISSING_MEMBER if value is None else Code.INVALID_VALUE
                found.append(Fault(code, rule, pointer=pointer))
        return found

    def login(self, now: int) -> Login:
        """The program beside a browser, once there are no faults. Of a challenge there is one."""
        assert self.host and self.redirect_uri and self.code_challenge
        return Login(
            derived_id(PREFIX, self.code_challenge),
            b"",
            self.host,
            self.lifetime,
            now,
            now + CODE,
            challenge=self.code_challenge,
            redirect=self.redirect_uri,
        )


_HOST_RULE = "A host is 1 to 64 of A-Z, a-z, 0-9 and '.', '_', '-'."
_REDIRECT_RULE = "It is http://127.0.0.1:PORT/callback or http://[::1]:PORT/callback."
_S256 = "It is 43 characters: a SHA-256 in base64url (RFC 7636)."
_LIFETIME_RULE = f"It is a number of seconds above zero, at most {LONGEST}."


def is_host(text: str | None) -> bool:
    """Whether a host may be called so: with nothing that looks like something else."""
    return _fits(HOST, text)


def is_challenge(text: str | None) -> bool:
    """Whether it may be what S256 makes of a verifier."""
    return _fits(CHALLENGE, text)


def is_loopback(text: str | None) -> bool:
    """Whether it leads to a program on the browser's machine, and nowhere else (RFC 8252, 7.3).

    By its address: what a resolver says of `localhost` may be elsewhere.
    """
    found = LOOPBACK.fullmatch(text or "")
    return found is not None and int(found[1]) <= _PORTS


def is_lifetime(seconds: int | None) -> bool:
    """Whether a token may live so long, as far as there are calendars; None: nobody says."""
    return seconds is None or 0 < seconds <= LONGEST


def plain_user_code(text: str) -> str:
    """A code as it is kept, however somebody has typed it."""
    return "".join(char for char in text.upper() if char.isalnum())


def _fits(pattern: re.Pattern[str], text: str | None) -> bool:
    return text is not None and pattern.fullmatch(text) is not None
