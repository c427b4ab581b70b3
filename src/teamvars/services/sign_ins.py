"""People sign in with a provider (OpenID Connect Core 1.0, the code flow with PKCE, RFC 9700)."""

import asyncio
import base64
import json
import re
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote_plus, urlencode

import structlog

from teamvars.changes.waves import Change
from teamvars.decisions import sign_ins as decisions
from teamvars.decisions import tokens
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import BUSY, NO_VALID_TOKEN, Code, Fault, Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.sign_ins import OpenSession, Person, Provider, SignOut, is_entra
from teamvars.domain.times import SECOND
from teamvars.domain.tokens import SIGNED_IN
from teamvars.kernel import Discreet
from teamvars.security.answers import Answer
from teamvars.security.assertions import Unproven, claimed, require_signed
from teamvars.security.sign_ins import Attempt, person, sign_out
from teamvars.security.tokens import challenge_of, hash_token, new_session, session_token
from teamvars.services import https
from teamvars.services.deliveries import Check
from teamvars.services.house import House, UseCases, looks, makes
from teamvars.services.issuers import TIMEOUT_SECONDS, Issuer, IssuerKeys
from teamvars.storage import sign_ins

MOST_AT_ONCE = 64
"""So many people wait for what providers say of them; whoever asks needs no token."""
MOST_OF_ADDRESS = 16
"""So many of them at one address, which keeps out nobody elsewhere by what it sends."""
_WORD = re.compile(r"[a-z_]{1,40}")
_PLACE = re.compile(r"[\x21-\x7e]+")

Post = Callable[[str, Mapping[str, str], Mapping[str, str]], Awaitable[Answer]]
"""Sends a form to a URL, with headers. Raises `https.FAILURES`."""

log = structlog.get_logger("teamvars.sign_ins")


class Client(Discreet, frozen=True):
    """A provider, the secret by which it knows us, if it gave us one, and where it sends people
    back to.
    """

    provider: Provider
    secret: str | None
    redirect: str


class Answered(Discreet, frozen=True):
    """What a provider has sent a browser back with, the cookie that the browser had, what it is,
    and the address that it counts to.
    """

    parameters: Mapping[str, str]
    cookie: str | None
    device: str
    address: str


class Redeemed(Discreet, frozen=True):
    """The ID token that a provider gives for a code; None: it does not, and this is its `error`."""

    id_token: str | None
    error: str


class Opened(Discreet, frozen=True):
    """An open session, and its token."""

    session: OpenSession
    token: str


class SignIns(UseCases):
    """People sign in with one of some providers, and take up what they are signed in to."""

    end_all = makes(decisions.end_all)
    _arrival = looks(decisions.arrival, at_a_glance=True)
    _meant = looks(decisions.meant)
    _join = makes(decisions.join)
    _give_way = makes(decisions.give_way)
    _foreseen = looks(decisions.sign_out)
    _end = makes(decisions.sign_out)
    _linkable = looks(decisions.linkable)
    calling = looks(decisions.calling, at_a_glance=True)

    def __init__(
        self, house: House, clients: Sequence[Client], tls: ssl.SSLContext | None = None
    ) -> None:
        """`tls`: who vouches for the servers of providers; None: whom this machine trusts."""
        super().__init__(house)
        self._clients = {client.provider.name: client for client in clients}
        self._keys = {
            name: IssuerKeys(Issuer(client.provider.issuer), tls)
            for name, client in self._clients.items()
        }
        self._lines = {name: https.Lines(tls) for name in self._clients}
        self._under_way: Counter[str] = Counter()

    @property
    def providers(self) -> Sequence[Provider]:
        """All of them."""
        return [client.provider for client in self._clients.values()]

    async def departure(self, name: str, attempt: Attempt) -> str:
        """Where a browser goes to sign in there. Raises Unproven: the provider is away."""
        return departure(self._clients[name], await self._keys[name].about(), attempt)

    def attempt(self, name: str, *, links: bool) -> Attempt:
        """One that begins now."""
        return Attempt.new(name, self._clock() // SECOND, links=links)

    def links(self, name: str, answered: Answered) -> bool:
        """Whether this ends an attempt to link an account."""
        now = self._clock() // SECOND
        try:
            attempt = Attempt.kept(name, answered.cookie, now, links=True)
            attempt.require_state(answered.parameters.get("state", ""))
        except Unproven:
            return False
        return True

    async def link(self, caller: Caller, name: str, answered: Answered) -> None:
        """From now on the provider means the caller by what it calls whoever was there.

        Raises Unproven, and refuses as busy and as `decisions.sign_ins.link_own`.
        """
        if name not in self._clients:
            raise Unproven("a provider that is not there any more")
        provider = self._clients[name].provider
        await self._linkable(caller, provider)
        with self._place_of(answered.address):
            whom = await self._person(name, answered, links=True)
        await self._make(caller, decisions.link_own, provider, whom, new_id("id"))

    async def arrive(self, caller: Caller, name: str, answered: Answered) -> str:
        """Begins a session of whom the provider means; returns its secret, which is shown once.

        The caller becomes that user. Raises Unproven, and refuses as busy and as
        `decisions.sign_ins.sign_in`.
        """
        provider = self._clients[name].provider
        with self._place_of(answered.address):
            whom = await self._person(name, answered)
        there = await self._arrival(caller, provider, whom)
        user = await self._meant(caller, provider, whom) if there is None else there.user
        caller.actor = Actor("user", user.id)
        if there is None:
            await self._join(caller, provider, whom, new_id("id"))
        secret = new_session()
        token = session_token(secret)
        where = "" if caller.address is None else f" from {caller.address}"
        fresh = decisions.Fresh(
            tokens.Fresh(new_id("at"), token, hash_token(token)),
            hash_token(secret),
            f"{SIGNED_IN}{provider.title}{where}, {answered.device}",
        )
        change = Change(
            caller,
            user.id,
            lambda found: decisions.sign_in(found, provider, whom, fresh),
            foreseen=(decisions.arriving(provider, whom),),
            is_admitted=True,
            is_brief=True,
        )
        while await self._house.changes.make(change) is None:
            await self._give_way(caller, user.id)
        return secret

    async def take_up(self, secret: str) -> Opened:
        """The session whose cookie has that secret. Refuses: unauthenticated."""
        now = self._clock()
        found = await self._database.query(
            lambda tx: sign_ins.find_open(tx, hash_token(secret), now)
        )
        if found is None or found.provider not in self._clients:
            raise Refusal(NO_VALID_TOKEN)
        return Opened(found, session_token(secret))

    async def proven(self, name: str, logout_token: str, check: Check) -> SignOut:
        """Whom a provider has signed out, after its signature was found to hold in a `check`, and
        whatever takes less before that.

        Refuses: what it has not said, or to somebody else (invalid_request).
        """
        provider = self._clients[name].provider
        try:
            said = claimed(logout_token)
            if said.issuer != provider.issuer:
                raise Unproven("a logout token of another issuer")
            meant = sign_out(said, provider.client_id, self._clock() // SECOND)
            key = await self._keys[name].key_for(said)
            await check(said.issuer, lambda: require_signed(said, key))
        except Unproven as unproven:
            fault = Fault(Code.INVALID_REQUEST, "The logout token is not accepted.")
            raise Refusal(fault, why={"reason": unproven.reason}) from None
        return meant

    async def sign_out(self, caller: Caller, name: str, said: SignOut) -> None:
        """Ends what somebody has signed in for. Refuses: what was said before."""
        provider = self._clients[name].provider
        caller.actor = Actor.service("logout")
        await self._foreseen(caller, provider, said)  # what was said before waits for no writer
        await self._end(caller, provider, said)

    async def forget_ended(self) -> None:
        """Removes the sessions that have ended, some at a time."""
        now = self._clock()
        while await self._database.read(lambda tx: sign_ins.has_ended(tx, now)):
            await self._database.write(lambda tx: sign_ins.forget_ended(tx, now))

    def close(self) -> None:
        """Keeps no connection to a provider."""
        for lines in self._lines.values():
            lines.close()

    @contextmanager
    def _place_of(self, address: str) -> Iterator[None]:
        """A place among those who wait for providers. Refuses: busy."""
        waiting = self._under_way
        if waiting.total() >= MOST_AT_ONCE or waiting[address] >= MOST_OF_ADDRESS:
            raise Refusal(BUSY)
        waiting[address] += 1
        try:
            yield
        finally:
            waiting -= Counter([address])

    async def _person(self, name: str, answered: Answered, *, links: bool = False) -> Person:
        """Whom the provider means. Raises Unproven."""
        client, asked = self._clients[name], answered.parameters
        now = self._clock() // SECOND
        attempt = Attempt.kept(name, answered.cookie, now, links=links)
        attempt.require_state(asked.get("state", ""))
        about = await self._keys[name].about()
        _require_issuer(about, client.provider.issuer, asked.get("iss"))
        if "code" not in asked:
            raise Unproven(f"no code: {word(asked.get('error'))}")
        said = await redeemed(
            client, about, asked["code"], attempt.verifier, self._lines[name].post
        )
        if said.id_token is None:
            raise Unproven(f"a code that is refused: {said.error}")
        id_token = claimed(said.id_token)
        if id_token.issuer != client.provider.issuer:
            raise Unproven("an ID token of another issuer")
        meant = person(id_token, client.provider.client_id, attempt.nonce, now)
        require_signed(id_token, await self._keys[name].key_for(id_token))
        return meant


def tell(request_id: str, provider: str, reason: str) -> None:
    """Tells whoever runs the service why somebody could not sign in."""
    log.warning("nobody was signed in", provider=provider, reason=reason, request_id=request_id)


def departure(client: Client, about: Mapping[str, Any], attempt: Attempt, **more: str) -> str:
    """Where a browser goes to sign in at a provider that says so about itself. Raises Unproven: it
    does not say.
    """
    scope = "openid profile email" if is_entra(client.provider.issuer) else "openid email"
    asked = {
        "response_type": "code",
        "response_mode": "query",
        "scope": scope,
        "client_id": client.provider.client_id,
        "redirect_uri": client.redirect,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": challenge_of(attempt.verifier),
        "code_challenge_method": "S256",
        **more,
    }
    place = _place(client, about, "authorization_endpoint")
    return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"


async def redeemed(
    client: Client,
    about: Mapping[str, Any],
    code: str,
    verifier: str,
    post: Post,
) -> Redeemed:
    """What a provider that says so about itself gives for a code. Raises Unproven: it could not be
    asked.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": client.redirect,
        "code_verifier": verifier,
    }
    headers, more = _credentials(client, about)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            found = await post(_place(client, about, "token_endpoint"), form | more, headers)
        said = json.loads(found.content)
    except (*https.FAILURES, RecursionError) as error:
        raise Unproven(f"a code that nobody redeems: {type(error).__name__}") from None
    if not isinstance(said, dict):
        raise Unproven("a code that nobody redeems")
    id_token = said.get("id_token")
    is_given = found.status == 200 and isinstance(id_token, str)
    return Redeemed(id_token if is_given else None, word(said.get("error")))


def _require_issuer(about: Mapping[str, Any], issuer: str, said: str | None) -> None:
    """Raises Unproven unless it was this provider that answered, where it says so (RFC 9207)."""
    says_so = about.get("authorization_response_iss_parameter_supported") is True
    if said != issuer and (says_so or said is not None):
        raise Unproven("an answer of another provider")


def _credentials(client: Client, about: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """By what the provider knows us: headers, and more for the form (RFC 6749, 2.3.1)."""
    id_ = client.provider.client_id
    if client.secret is None:
        return {}, {"client_id": id_}
    methods = about.get("token_endpoint_auth_methods_supported")
    if isinstance(methods, list) and "client_secret_basic" not in methods:
        return {}, {"client_id": id_, "client_secret": client.secret}
    pair = f"{quote_plus(id_)}:{quote_plus(client.secret)}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}


def _place(client: Client, about: Mapping[str, Any], name: str) -> str:
    """A place that a provider names, as `https.may_name`. Raises Unproven."""
    found, issuer = about.get(name), client.provider.issuer
    if isinstance(found, str) and _PLACE.fullmatch(found) and https.may_name(issuer, found):
        return found
    raise Unproven(f"a provider without {name}")


def word(said: object) -> str:
    """An error's name, if it may be one: whatever else is said stays out of logs and terminals."""
    return said if isinstance(said, str) and _WORD.fullmatch(said) else "it does not say why"
