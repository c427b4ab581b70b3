"""An attempt to sign in with a provider, and what the provider says of somebody in the end.

All that belongs to an attempt is made of one secret, which only the browser has, in a cookie: no
node keeps anything of it, and any node ends it.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from teamvars.domain.names import is_email
from teamvars.domain.sign_ins import Person, SignOut, is_entra, is_subject
from teamvars.domain.times import SECOND
from teamvars.kernel import Discreet
from teamvars.protocol import encoded
from teamvars.security import length_prefixed
from teamvars.security.assertions import SKEW_SECONDS, Claimed, Unproven, asserted, stated

ATTEMPT_SECONDS = 600
"""How long somebody has to sign in with the provider."""
_SECRET_BYTES = 32
_SIGNED_OUT = "http://schemas.openid.net/event/backchannel-logout"


class Attempt(Discreet, frozen=True):
    """What one browser has begun with one provider, `begun_at` in seconds since 1970.

    One that `links` has somebody who is signed in say by what name the provider means them, and
    signs nobody in: nothing that comes of one fits to another.
    """

    provider: str
    begun_at: int
    secret: str
    links: bool = False

    @classmethod
    def new(cls, provider: str, now: int, *, links: bool = False) -> "Attempt":
        """One that begins."""
        return cls(provider, now, secrets.token_urlsafe(_SECRET_BYTES), links)

    @classmethod
    def kept(cls, provider: str, cookie: str | None, now: int, *, links: bool = False) -> "Attempt":
        """The one that a cookie has kept. Raises Unproven: there is none, or it took too long."""
        begun_at, _, secret = (cookie or "").partition(".")
        if not begun_at.isascii() or not begun_at.isdigit() or len(begun_at) > 12 or not secret:
            raise Unproven("a browser that has begun nothing, or too long ago")
        # Nodes' clocks differ, and a browser may be back within the same second.
        if not -SKEW_SECONDS <= now - int(begun_at) < ATTEMPT_SECONDS:
            raise Unproven("a browser that has begun nothing, or too long ago")
        return cls(provider, int(begun_at), secret, links)

    @property
    def cookie(self) -> str:
        """What the browser keeps."""
        return f"{self.begun_at}.{self.secret}"

    @property
    def state(self) -> str:
        """What comes back with the browser."""
        return self._made("state")

    @property
    def nonce(self) -> str:
        """What comes back in the ID token."""
        return self._made("nonce")

    @property
    def verifier(self) -> str:
        """What redeems the code (RFC 7636)."""
        return self._made("verifier")

    def require_state(self, said: str) -> None:
        """Raises Unproven unless that came of this attempt, with this provider."""
        if not hmac.compare_digest(said.encode(), self.state.encode()):
            raise Unproven("a state of another attempt")

    def _made(self, what: str) -> str:
        purpose = "link" if self.links else "sign in"
        said = length_prefixed(what, purpose, self.provider, str(self.begun_at))
        return encoded(hmac.digest(self.secret.encode(), said, "sha256"))


def person(said: Claimed, client_id: str, nonce: str, now: int) -> Person:
    """Whom an ID token is about, if its signature holds, which is not looked at here. `now` is in
    seconds since 1970.

    Raises Unproven unless it is good now, for that client and that attempt (OpenID Connect Core
    1.0, 3.1.3.7).
    """
    found = asserted(said, now)
    if found.audience != client_id or said.claims.get("azp", client_id) != client_id:
        raise Unproven("an ID token for somebody else")
    answered = said.claims.get("nonce")
    if not isinstance(answered, str) or not hmac.compare_digest(answered.encode(), nonce.encode()):
        raise Unproven("an ID token of another attempt")
    subject = _subject(said)
    if subject is None:
        raise Unproven("no name for somebody")
    return Person(found.issuer, subject, _verified_email(said.claims), _name(said, "sid"))


def sign_out(said: Claimed, client_id: str, now: int) -> SignOut:
    """Whom a logout token is about, if its signature holds, which is not looked at here. `now` is
    in seconds since 1970.

    Raises Unproven unless it is one, good now, for that client (OpenID Connect Back-Channel Logout
    1.0, 2.6): no ID token is.
    """
    found = stated(said, now)
    if found.audience != client_id:
        raise Unproven("a logout token for somebody else")
    events, once = said.claims.get("events"), said.claims.get("jti")
    if not isinstance(events, dict) or not isinstance(events.get(_SIGNED_OUT), dict):
        raise Unproven("a token that signs nobody out")
    if "nonce" in said.claims:
        raise Unproven("a logout token with a nonce")
    if not isinstance(once, str) or not once:
        raise Unproven("no jti")
    subject, sid = _subject(said), _name(said, "sid")
    if subject is None and sid is None:
        raise Unproven("a logout token that names nobody")
    return SignOut(subject, sid, found.once, (found.expires_at + SKEW_SECONDS) * SECOND)


def _subject(said: Claimed) -> str | None:
    """What names somebody for good."""
    return _name(said, "oid" if is_entra(said.issuer) else "sub")


def _name(said: Claimed, claim: str) -> str | None:
    """What a provider calls somebody, or a session of theirs; None: it is no such name."""
    name = said.claims.get(claim)
    return name if isinstance(name, str) and is_subject(name) else None


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    """The address, if the provider says that it has verified it: the JSON value true, no word."""
    email = claims.get("email")
    is_one = isinstance(email, str) and is_email(email)
    return email if is_one and claims.get("email_verified") is True else None
