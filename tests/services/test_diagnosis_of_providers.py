"""What `doctor` says of providers that people sign in with."""

import asyncio
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate
from pathlib import Path

import pytest

from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import DAY
from teamvars.security import answers
from teamvars.services import diagnosis, issuers
from teamvars.services.diagnosis import tried
from teamvars.services.sign_ins import Client
from teamvars.storage.engines.sqlite import host_time
from tests.support.issuer_servers import Answer, document, raw
from tests.support.patience import HANGS
from tests.support.server import free_port
from tests.support.sign_in_provider import SignInProvider, sign_in_provider

SECRET = "the client's own secret"
REDIRECT = "https://vars.test/app/sign-in/one/callback"
OK, ADVICE, PROBLEM = Severity.OK, Severity.ADVICE, Severity.PROBLEM


@pytest.fixture
async def provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SignInProvider]:
    """A provider that may be late on a busy host."""
    for module, name in ((issuers, "TIMEOUT_SECONDS"), (diagnosis, "TRIAL_SECONDS")):
        monkeypatch.setattr(module, name, HANGS)
    async with sign_in_provider(tmp_path) as running:
        yield running


def client_of(url: str, name: str = "one") -> Client:
    """What the provider there knows us as."""
    provider = Provider(name, "One", url, "us", ("acme",), (), DAY)
    return Client(provider, SECRET, REDIRECT)


async def said(provider: SignInProvider) -> Finding:
    """What is said of it, and of its client where that is all right."""
    way, *client = await tried([client_of(provider.url)], host_time, provider.client)
    assert [one.severity for one in client] == [OK] * len(client)
    assert {one.subject for one in (way, *client)} == {"provider one"}
    assert SECRET not in way.text
    return way


async def test_a_provider_that_signs_people_in_is_told_with_the_address(
    provider: SignInProvider,
) -> None:
    found = await said(provider)
    assert found.severity is OK
    assert found.text == f"{provider.url} answers; keys: 1; it sends browsers back to {REDIRECT}"


CASES: dict[str, tuple[Callable[[SignInProvider], object], Severity, str]] = {
    "no keys": (lambda one: one.keys.clear(), PROBLEM, "has no key to use"),
    "another name": (
        lambda one: one.about.update(issuer="https://evil.test"),
        PROBLEM,
        "cannot be asked: an issuer that calls itself otherwise",
    ),
    "no place to sign in": (
        lambda one: one.about.update(authorization_endpoint="http://plain.test"),
        PROBLEM,
        "cannot be asked: a provider without authorization_endpoint",
    ),
    "no documents": (
        lambda one: one.says(raw(b"", "404 Not Found")),
        PROBLEM,
        "cannot be asked: NoDocument",
    ),
    "a list": (lambda one: one.says(document([])), PROBLEM, "cannot be asked: TypeError"),
    "no keys to be had": (
        lambda one: one.says(raw(b"{", "200 OK"), "/keys"),
        PROBLEM,
        "cannot be asked: keys of the issuer that cannot be read",
    ),
    "an address it does not know": (
        lambda one: one.redirects.clear(),
        ADVICE,
        f"did not send a browser back to {REDIRECT}. See that this address is registered",
    ),
    "a client it does not like": (
        lambda one: setattr(one, "error", "error=unauthorized_client"),
        PROBLEM,
        "signs nobody in: unauthorized_client. Check the client us there",
    ),
    "an error that is none": (
        lambda one: setattr(one, "error", "error=%1b[2J"),
        PROBLEM,
        "signs nobody in: it does not say why",
    ),
    "consent": (
        lambda one: setattr(one, "error", "error=consent_required"),
        OK,
        "sends browsers back",
    ),
    "a code": (lambda one: setattr(one, "error", "code=1"), OK, "sends browsers back"),
    "another time": (
        lambda one: one.times.update(Date=formatdate(0, usegmt=True)),
        PROBLEM,
        "s apart, so that nobody can sign in",
    ),
    "no time": (lambda one: one.times.update(Date="soon"), OK, "sends browsers back"),
    "our time": (
        lambda one: one.times.update(Date=formatdate(usegmt=True)),
        OK,
        "sends browsers back",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_keeps_people_from_signing_in_is_told(
    provider: SignInProvider, case: str
) -> None:
    change, severity, text = CASES[case]
    change(provider)
    found = await said(provider)
    assert (found.severity, text in found.text) == (severity, True), found.text


REFUSALS: dict[str, tuple[Callable[[SignInProvider], object], Severity, str]] = {
    "knows it": (
        lambda one: setattr(one, "secret", SECRET),
        OK,
        "takes the client us, and refuses a code that it never gave",
    ),
    "another secret": (
        lambda one: setattr(one, "secret", "another"),
        PROBLEM,
        "refuses the client us: invalid_client. Check client_id and client_secret_file.",
    ),
    "as Keycloak does": (
        lambda one: one.says(refusal("unauthorized_client"), "/token"),
        PROBLEM,
        "refuses the client us: unauthorized_client",
    ),
    "something else": (
        lambda one: one.says(refusal("invalid_request"), "/token"),
        ADVICE,
        "answers a code that it never gave with: invalid_request. A provider that knows",
    ),
    "what is no word": (
        lambda one: one.says(refusal("\x1b[2J"), "/token"),
        ADVICE,
        "with: it does not say why",
    ),
    "a token": (
        lambda one: one.says(document({"id_token": "x"}), "/token"),
        ADVICE,
        "with: it does not say why",
    ),
}


def refusal(error: str) -> Answer:
    """What a provider answers that says no."""
    return document({"error": error}, "400 Bad Request")


@pytest.mark.parametrize("case", REFUSALS)
async def test_whether_a_provider_takes_the_clients_secret_is_told(
    provider: SignInProvider, case: str
) -> None:
    change, severity, text = REFUSALS[case]
    change(provider)
    _, found = await tried([client_of(provider.url)], host_time, provider.client)
    assert (found.severity, text in found.text) == (severity, True), found.text
    assert SECRET not in found.text


async def test_each_time_another_code_is_made_up(provider: SignInProvider) -> None:
    for _ in range(2):
        await said(provider)
    first, second = provider.redeemed
    assert first["code"] != second["code"]
    assert first["redirect_uri"] == REDIRECT


async def test_a_place_for_codes_that_does_not_answer_is_told(provider: SignInProvider) -> None:
    provider.says(raw(b"{", "200 OK"), "/token")
    found = await said(provider)
    assert (found.severity, found.text.partition(" ")[2].partition(". ")[0]) == (
        PROBLEM,
        "cannot be asked: a code that nobody redeems: JSONDecodeError",
    )


async def test_a_provider_that_is_away_keeps_no_other_from_being_told(
    provider: SignInProvider,
) -> None:
    away = f"https://127.0.0.1:{free_port()}"
    clients = [client_of(away, "away"), client_of(provider.url)]
    gone, there, _ = await tried(clients, host_time, provider.client)
    assert (gone.severity, gone.subject) == (PROBLEM, "provider away")
    assert "cannot be asked: ConnectionRefusedError" in gone.text
    assert there.severity is OK


async def test_a_provider_that_hangs_is_given_up(
    provider: SignInProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = asyncio.Event()

    async def hang(_: asyncio.StreamWriter) -> None:
        await gone.wait()

    provider.says(hang)
    for module, name in ((issuers, "TIMEOUT_SECONDS"), (diagnosis, "TRIAL_SECONDS")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 0.05)
            found = await said(provider)
        assert (found.severity, "TimeoutError" in found.text) == (PROBLEM, True), found.text
    gone.set()


@pytest.mark.parametrize(
    ("status", "place", "error"),
    [
        (302, f"{REDIRECT}?error=login_required", "login_required"),
        (303, f"{REDIRECT}?state=s", ""),
        (302, REDIRECT, ""),
        (200, f"{REDIRECT}?error=login_required", None),
        (302, "https://evil.test/?error=login_required", None),
        (302, None, None),
    ],
)
def test_a_browser_is_sent_back_by_a_redirect_to_the_very_address(
    status: int, place: str | None, error: str | None
) -> None:
    headers = {} if place is None else {"location": place}
    told = answers.Answer(status, b"", headers)
    assert diagnosis._sent_back_with(told, REDIRECT) == error
