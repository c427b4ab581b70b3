"""People sign in with a provider that people run, and that looks at what we send it."""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from msgspec.structs import replace

from teamvars import wiring
from teamvars.domain.diagnosis import Severity
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import DAY
from teamvars.security.sign_ins import Attempt
from teamvars.services import https, issuers
from teamvars.services import sign_ins as service
from teamvars.services.diagnosis import tried
from teamvars.services.sign_ins import Client, SignIns
from teamvars.web.sign_ins import callback
from tests.support.canaille_server import CLIENT, SECRET, WHO
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.support.openid_provider import canaille
from tests.support.patience import HANGS
from tests.support.signing_in import OWN, SESSION_COOKIE, Browser, served
from tests.support.tenant import Tenant


@dataclass
class Place:
    """The service, and Canaille, which `trust` vouches for."""

    http: httpx.AsyncClient
    known: Client
    trust: ssl.SSLContext

    async def answer(self, browser: Browser) -> dict[str, str]:
        """What Canaille sends a browser back with that begins to sign in."""
        location = await browser.depart()
        async with httpx.AsyncClient(verify=self.trust, timeout=HANGS) as there:
            sent = (await there.get(location)).headers["location"]
        assert sent.startswith(f"{self.known.redirect}?")
        return dict(parse_qsl(urlsplit(sent).query))


@pytest.fixture
async def place(
    tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    """Where the tenant's writer is alice there."""
    for module in (issuers, service):
        monkeypatch.setattr(module, "TIMEOUT_SECONDS", HANGS)
    redirect = OWN + callback("one")
    with canaille(tmp_path, redirect) as running:
        trust = ssl.create_default_context(cafile=str(running.authority))
        monkeypatch.setattr(https, "tls_of_machine", lambda: trust)
        provider = Provider("one", "One", running.url, CLIENT, (tenant.organization,), (), DAY)
        known = Client(provider, SECRET, redirect)
        services = tenant.deployment.services
        await services.accounts.link(operator(), tenant.users["writer"], running.url, WHO)
        async with served(services, SignIns(services.sign_ins._house, [known])) as http:
            yield Place(http, known, trust)


async def test_alice_signs_in(place: Place) -> None:
    browser = Browser(place.http)
    said = await place.answer(browser)
    assert said["iss"] == place.known.provider.issuer
    assert (await browser.arrive(said)).status_code == 303
    assert (await browser.take_up()).json()["token"].startswith("tvs_")
    assert (await browser.arrive(said)).status_code == 403  # the code is spent


@ON_SQLITE
@pytest.mark.parametrize(
    ("forgotten", "is_in"),
    [((), False), (("verifier",), False), (("nonce",), False), (("verifier", "nonce"), True)],
    ids=str,
)
async def test_a_stolen_code_is_good_for_nobody_else_by_two_defences(
    place: Place, monkeypatch: pytest.MonkeyPatch, forgotten: tuple[str, ...], is_in: bool
) -> None:
    for name in forgotten:  # as if it were the same for everybody
        monkeypatch.setattr(Attempt, name, name * 8)
    attacker, victim = Browser(place.http), Browser(place.http)
    stolen, own = await place.answer(victim), await injected(place, attacker)
    found = await attacker.arrive(own | {"code": stolen["code"]})
    assert found.status_code == (303 if is_in else 403)
    assert (SESSION_COOKIE in attacker.cookies) is is_in


async def injected(place: Place, attacker: Browser) -> dict[str, str]:
    """What the attacker comes back with, but for the code: of an attempt of their own."""
    asked = dict(parse_qsl(urlsplit(await attacker.depart()).query))
    return {"state": asked["state"], "iss": place.known.provider.issuer}


@ON_SQLITE
async def test_doctor_tries_it(place: Place) -> None:
    for changed, severities in (
        ({}, [Severity.OK, Severity.OK]),
        ({"redirect": f"{OWN}/elsewhere"}, [Severity.ADVICE, Severity.OK]),
        ({"secret": "another"}, [Severity.OK, Severity.PROBLEM]),
    ):
        found = await tried([replace(place.known, **changed)], wiring.clock)
        assert [one.severity for one in found] == severities, found
