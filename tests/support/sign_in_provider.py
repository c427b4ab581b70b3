"""A provider that people sign in with, behind TLS on this machine, which says what a test wants.

It keeps to OpenID Connect Core 1.0 and RFC 7636: a code is good once, for whoever has the verifier.
"""

import hashlib
import json
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey

from tests.support.issuer_servers import IssuerServer, document, issuer_server, raw


class SignInProvider(IssuerServer):
    """`says` of `claims` are in each ID token; `about` in what it publishes. Whoever wants no page
    is sent back with `error` to one of `redirects`, at one of `times`, which are headers. Without
    the `secret`, where it has one, nobody redeems anything.
    """

    def begin(self) -> None:
        """With a key, and nothing asked of it yet."""
        self.keys = [ECKey.generate_key("P-256", {"kid": "sign-in"})]
        self.claims: dict[str, Any] = {"sub": "alice"}
        self.about: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.redeemed: list[dict[str, str]] = []
        self.redirects = ["https://vars.test/app/sign-in/one/callback"]
        self.error = "error=login_required"
        self.times: dict[str, str] = {}
        self.secret: str | None = None

    def answer(self, location: str, **changed: str | None) -> dict[str, str]:
        """What it sends a browser back with that was sent there, some of it changed."""
        place = urlsplit(location)
        assert location.startswith(f"{self.url}/authorize?")
        asked = {name: one for name, (one,) in parse_qs(place.query).items()}
        assert asked["response_type"] == "code"
        assert asked["response_mode"] == "query"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self.codes[code] = asked
        found = {"code": code, "state": asked["state"], **changed}
        return {name: one for name, one in found.items() if one is not None}

    def said(self, path: str, body: str, fields: Mapping[str, str]) -> Any:
        """As the standard has it."""
        shown = _secret(fields)
        if path == "/token":
            form = {name: one for name, (one,) in parse_qs(body).items()}
            self.redeemed.append(form)
            if self.secret not in (None, shown):
                return document({"error": "invalid_client"}, "401 Unauthorized")
            return self._redeem(form)
        if path.startswith("/authorize?"):
            asked = {name: one for name, (one,) in parse_qs(urlsplit(path).query).items()}
            assert asked["prompt"] == "none"
            return self._not_signed_in(asked["redirect_uri"])
        if path == "/keys":
            return document({"keys": [key.as_dict(private=False) for key in self.keys]})
        return document(
            {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                **self.about,
            }
        )

    def _not_signed_in(self, redirect: str) -> Any:
        if redirect not in self.redirects:
            return document({"error": "invalid_redirect_uri"}, "400 Bad Request", **self.times)
        told = {"Location": f"{redirect}?{self.error}&state=x", **self.times}
        return raw(b"", "302 Found", told)

    def _redeem(self, form: dict[str, str]) -> Any:
        asked = self.codes.pop(form["code"], None)
        challenge = _encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
        if asked is None or asked["code_challenge"] != challenge:
            return document({"error": "invalid_grant"}, "400 Bad Request")
        if asked["redirect_uri"] != form["redirect_uri"]:
            return document({"error": "invalid_grant"}, "400 Bad Request")
        return document({"id_token": self.id_token(asked), "token_type": "Bearer"})

    def id_token(self, asked: dict[str, str]) -> str:
        """What it says of somebody to whoever asked so."""
        own = {"aud": asked["client_id"], "nonce": asked["nonce"]}
        return self.signed({**own, **self.claims})

    def logout_token(self, **claims: Any) -> str:
        """What it says when somebody has signed out; `sub` or `sid` is among the claims."""
        event = "http://schemas.openid.net/event/backchannel-logout"
        own = {"aud": "us", "jti": secrets.token_urlsafe(), "events": {event: dict[str, str]()}}
        return self.signed({**own, **claims}, typ="logout+jwt")

    def signed(self, claims: Mapping[str, Any], **fields: str) -> str:
        """A token with these claims, those that are None left out, and fields in its header."""
        now = int(time.time())
        said = {"iss": self.url, "iat": now, "exp": now + 300, **claims}
        head = {"alg": "ES256", "kid": self.keys[0].kid, **fields}
        parts = [
            json.dumps({k: v for k, v in one.items() if v is not None}) for one in (head, said)
        ]
        signing = ".".join(_encoded(part.encode()) for part in parts)
        signature = jws.default_registry.algorithms["ES256"].sign(signing.encode(), self.keys[0])
        return f"{signing}.{_encoded(signature)}"


def _secret(fields: Mapping[str, str]) -> str | None:
    """What a client shows in its header."""
    _, _, shown = fields.get("authorization", "").partition(" ")
    return unquote_plus(b64decode(shown).decode().partition(":")[2]) if shown else None


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


@asynccontextmanager
async def sign_in_provider(folder: Path) -> AsyncIterator[SignInProvider]:
    """A running provider, which only its own authority vouches for."""
    async with issuer_server(folder, SignInProvider) as provider:
        assert isinstance(provider, SignInProvider)
        provider.begin()
        yield provider
