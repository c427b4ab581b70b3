"""What `doctor` asks of providers that people sign in with: what they publish, what becomes of a
browser in which nobody is signed in, and of a code that nobody was given.
"""

import asyncio
import secrets
import ssl
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from urllib.parse import parse_qs

from msgspec.structs import replace

from teamvars.domain.diagnosis import Finding
from teamvars.domain.findings import ProviderTrial, provider_findings
from teamvars.domain.times import SECOND, Clock
from teamvars.security.answers import Answer
from teamvars.security.assertions import Unproven
from teamvars.security.sign_ins import Attempt
from teamvars.services import https
from teamvars.services.issuers import published
from teamvars.services.sign_ins import Client, departure, redeemed, word

SECONDS = 10.0
"""For each provider; all are asked at once."""


async def tried(
    clients: Sequence[Client], clock: Clock, tls: ssl.SSLContext | None = None
) -> list[Finding]:
    """What is to be said of each. `clock` is this host's; `tls`: who vouches for their servers;
    None: whom this machine trusts.
    """
    found = await asyncio.gather(*(_tried(client, clock, tls) for client in clients))
    return [finding for one in found for finding in provider_findings(one)]


async def _tried(client: Client, clock: Clock, tls: ssl.SSLContext | None) -> ProviderTrial:
    provider = client.provider
    trial = ProviderTrial(provider.name, provider.issuer, provider.client_id, client.redirect)
    try:
        async with asyncio.timeout(SECONDS):
            has = await published(provider.issuer, tls)
            attempt = Attempt.new(provider.name, clock() // SECOND)
            # Nobody is signed in, so it has to send this back at once, to an address that it knows
            # (OpenID Connect Core 1.0, 3.1.2.6).
            asked = departure(client, has.about or {}, attempt, prompt="none")
            told = await https.ask(asked, tls)
            # Whose the client is, it finds out before it looks at the code (RFC 6749, 3.2.1).
            code, verifier = secrets.token_urlsafe(), secrets.token_urlsafe()
            post = partial(https.post, tls=tls)
            refused = await redeemed(client, has.about or {}, code, verifier, post)
    except (*https.FAILURES, Unproven) as error:
        reason = error.reason if isinstance(error, Unproven) else type(error).__name__
        return replace(trial, reason=reason)
    return replace(
        trial,
        keys=len(has.keys),
        seconds_apart=_seconds_apart(told, clock()),
        error=_sent_back_with(told, client.redirect),
        refusal=refused.error,
    )


def _seconds_apart(told: Answer, now: int) -> int:
    """How far a server's clock is from `now`, in µs UTC; 0: it does not say."""
    try:
        return abs(int(parsedate_to_datetime(told.headers["date"]).timestamp()) - now // SECOND)
    except (KeyError, ValueError, OverflowError):
        return 0


def _sent_back_with(told: Answer, redirect: str) -> str | None:
    """The error with which a browser is sent back, as `sign_ins.word`, and empty without one; None:
    it is not sent back.
    """
    place, _, query = told.headers.get("location", "").partition("?")
    if told.status not in (302, 303) or place != redirect:
        return None
    errors = parse_qs(query).get("error")
    return word(errors[0]) if errors else ""
