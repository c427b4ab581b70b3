"""A program that asks for a token over HTTP, and people who are signed in and approve it or not."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, sign_ins
from teamvars.decisions import tokens as decisions
from teamvars.decisions.needs import UserWithId
from teamvars.domain.ids import new_id
from teamvars.domain.logins import CLIENT
from teamvars.domain.sign_ins import IDLE, Provider
from teamvars.domain.times import DAY
from teamvars.domain.tokens import Token
from teamvars.security.tokens import challenge_of, hash_token, new_session, session_token
from tests.support.deployment import operator
from tests.support.tenant import Tenant

ORIGIN = "http://teamvars.test"
REDIRECT = "http://127.0.0.1:49152/callback"
BY_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass
class Program:
    """A program beside a browser: what it asks somebody to approve, and its verifier."""

    tenant: Tenant
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def asks(self, **other: object) -> dict[str, object]:
        """What the console tells the API of it, some of it changed; None: without that."""
        said = {
            "host": "laptop",
            "redirect-uri": REDIRECT,
            "code-challenge": challenge_of(self.verifier),
            "state": self.state,
            **{name.replace("_", "-"): one for name, one in other.items()},
        }
        return {name: one for name, one in said.items() if one is not None}

    async def approved(self, by: str, **other: object) -> str:
        """The code that a browser brings, once whoever has that token has approved it."""
        found = await act(self.tenant, by, "approve", self.asks(**other))
        assert found.status_code == 200, found.text
        return code_in(found)

    def form(self, code: str) -> dict[str, str]:
        """What it shows for its token."""
        return {
            "grant_type": "authorization_code",
            "client_id": CLIENT,
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": self.verifier,
        }

    async def redeemed(self, code: str, /, **other: str | None) -> httpx.Response:
        """What it is answered for a code."""
        return await post(self.tenant, "token", {**self.form(code), **other})


def code_in(approval: httpx.Response) -> str:
    """The code in the address to which a browser is sent."""
    place = urlsplit(str(approval.json()["data"]["attributes"]["redirect-uri"]))
    (code,) = parse_qs(place.query)["code"]
    return code


async def post(tenant: Tenant, name: str, said: Mapping[str, Any]) -> httpx.Response:
    """What a form at an endpoint of OAuth is answered; None: without that parameter."""
    body = urlencode({key: one for key, one in said.items() if one is not None})
    headers = {"content-type": "application/x-www-form-urlencoded"}
    url = f"{ORIGIN}/oauth/{name}"
    return await tenant.deployment.client.post(url, content=body, headers=headers)


async def act(
    tenant: Tenant, token: str, action: str, attributes: dict[str, Any]
) -> httpx.Response:
    """What the console is told that asks with a token."""
    document = {"data": {"type": "logins", "attributes": attributes}}
    headers = {"Authorization": f"Bearer {token}"}
    return await tenant.call(None, "POST", f"/logins/actions/{action}", document, headers)


async def session_of(tenant: Tenant, who: str, longest: int = DAY) -> str:
    """The token of a session of that user, in the tenant's first organization alone."""
    provider = Provider("one", "One", "https://one.test", "us", (), (), longest)
    secret = new_session()
    token = session_token(secret)
    made = decisions.Fresh(new_id("at"), token, hash_token(token))
    fresh = sign_ins.Fresh(made, hash_token(secret), "signed in with One")

    def decide(found: Found) -> Decision[None]:
        ends_at, reach = found.now + IDLE, frozenset({organization_id})
        who_, kind = tenant.users[who], "user"
        row = Token(made.id, kind, who_, found.now, ends_at, None, reach=reach, provider="one")
        user = found.of(UserWithId(who_))
        assert user is not None
        return sign_ins._session(found, provider, user, row, fresh)

    about = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    organization_id = about.json()["data"]["attributes"]["external-id"]
    await tenant.deployment.services.changes.make(Change(operator(), None, decide))
    return token


async def status_of(tenant: Tenant, token: str, path: str | None = None) -> int:
    """What the API answers whoever has that token."""
    headers = {"Authorization": f"Bearer {token}"}
    found = await tenant.call(None, "GET", path or "/account/details", headers=headers)
    return found.status_code


async def end(tenant: Tenant, token: str) -> None:
    """Whoever has a token revokes it, as they do who sign out."""
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/authentication-tokens/{await id_of(tenant, token)}"
    found = await tenant.call(None, "DELETE", path, headers=headers)
    assert found.status_code == 204


async def id_of(tenant: Tenant, token: str) -> str:
    """The id of a token."""
    issued = await tenant.deployment.services.database.read(
        lambda tx: tx.fetch_one("SELECT id FROM tokens WHERE hash = $1", hash_token(token))
    )
    assert issued is not None
    return str(issued[0])
