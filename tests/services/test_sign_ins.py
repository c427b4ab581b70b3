"""What is believed of a provider's answers, and by what it knows us."""

import base64
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from msgspec.structs import replace

from teamvars.domain.access import Caller
from teamvars.domain.errors import Refusal
from teamvars.domain.sign_ins import Person, Provider
from teamvars.protocol import encoded
from teamvars.security.answers import Answer
from teamvars.security.assertions import Unproven, claimed
from teamvars.security.sign_ins import Attempt
from teamvars.services import https, sign_ins
from teamvars.services.sign_ins import Answered, Client, SignIns, departure, word
from tests.services.calls import Calls
from tests.support.engines import ON_SQLITE

ISSUER = "https://id.example.com"
ONE = Provider("one", "One", ISSUER, "us :", ("acme",), (), 0)
CLIENT = Client(ONE, "s3cret +", "https://vars.example.com/app/signed-in/one")
SAYS_SO = {"authorization_response_iss_parameter_supported": True}


@pytest.mark.parametrize(
    ("about", "said", "is_its"),
    [
        ({}, None, True),
        ({}, ISSUER, True),
        ({}, "https://evil.test", False),
        (SAYS_SO, None, False),
        (SAYS_SO, ISSUER, True),
        ({"authorization_response_iss_parameter_supported": "true"}, None, True),
    ],
)
def test_an_answer_is_of_the_provider_that_it_names(
    about: dict[str, Any], said: str | None, is_its: bool
) -> None:
    if is_its:
        sign_ins._require_issuer(about, ISSUER, said)
    else:
        with pytest.raises(Unproven):
            sign_ins._require_issuer(about, ISSUER, said)


BASIC = {"Authorization": f"Basic {base64.b64encode(b'us+%3A:s3cret+%2B').decode()}"}
POSTED = {"client_id": "us :", "client_secret": "s3cret +"}
METHODS = "token_endpoint_auth_methods_supported"


@pytest.mark.parametrize(
    ("secret", "about", "known_by"),
    [
        (None, {}, ({}, {"client_id": "us :"})),
        ("s3cret +", {}, (BASIC, {})),
        ("s3cret +", {METHODS: ["client_secret_post"]}, ({}, POSTED)),
        ("s3cret +", {METHODS: ["client_secret_post", "client_secret_basic"]}, (BASIC, {})),
        ("s3cret +", {METHODS: "client_secret_post"}, (BASIC, {})),
    ],
)
def test_a_provider_knows_us_in_a_way_that_it_takes(
    secret: str | None, about: dict[str, Any], known_by: object
) -> None:
    assert sign_ins._credentials(replace(CLIENT, secret=secret), about) == known_by


@pytest.mark.parametrize(
    "place",
    [None, 7, "", "http://id.example.com/a", "https://a b", "https://a\r\nX: y"],
)
def test_nobody_is_sent_to_what_is_no_place(place: object) -> None:
    attempt = Attempt("one", 1, "secret")
    with pytest.raises(Unproven):
        departure(CLIENT, {"authorization_endpoint": place}, attempt)


@pytest.mark.parametrize(
    ("issuer", "place", "scope"),
    [
        (ISSUER, f"{ISSUER}/a", "openid email"),
        (ISSUER, f"{ISSUER}/a?p=x", "openid email"),
        ("https://login.microsoftonline.com/t/v2.0", f"{ISSUER}/a", "openid profile email"),
    ],
)
def test_a_browser_is_sent_there_with_what_the_attempt_is_known_by(
    issuer: str, place: str, scope: str
) -> None:
    client = replace(CLIENT, provider=replace(ONE, issuer=issuer))
    attempt = Attempt("one", 1, "secret")
    found = urlsplit(departure(client, {"authorization_endpoint": place}, attempt))
    said = parse_qs(found.query, strict_parsing=True)
    assert f"{found.scheme}://{found.netloc}{found.path}" == f"{ISSUER}/a"
    assert said.pop("p", ["x"]) == ["x"]
    assert (said["scope"], said["state"], said["nonce"]) == (
        [scope],
        [attempt.state],
        [attempt.nonce],
    )
    assert attempt.verifier not in found.query


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("access_denied", "access_denied"),
        ("a b", "it does not say why"),
        ("x" * 41, "it does not say why"),
        (7, "it does not say why"),
        (None, "it does not say why"),
    ],
)
def test_of_what_a_provider_says_of_a_failure_only_a_word_is_told(said: object, told: str) -> None:
    assert word(said) == told


NOW = 1_800_000_000
ABOUT = {"token_endpoint": f"{ISSUER}/token"}


@pytest.fixture
def service(calls: Calls) -> SignIns:
    """With that provider, whose keys and addresses are known."""

    class Keys:
        async def about(self) -> dict[str, str]:
            return ABOUT

        async def key_for(self, _: object) -> str:
            return "its key"

    made = SignIns(calls.services.sign_ins._house, [CLIENT])
    keys: Any = {"one": Keys()}
    made._keys, made._clock = keys, lambda: NOW * 1_000_000
    return made


def came_back(**said: str) -> Answered:
    """A browser that has begun an attempt, and what it was sent back with."""
    attempt = Attempt.new("one", NOW)
    return Answered({"state": attempt.state, **said}, attempt.cookie, "a browser", "a")


def has_answered(monkeypatch: pytest.MonkeyPatch, status: int, content: bytes) -> None:
    """That is what the provider says to whatever it is asked."""

    async def post(*_: object) -> Answer:
        return Answer(status, content, {})

    monkeypatch.setattr(https.Lines, "post", post)


@ON_SQLITE
def test_so_many_wait_for_providers_and_so_many_of_them_at_one_address(
    service: SignIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_ins, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(sign_ins, "MOST_OF_ADDRESS", 2)
    with ExitStack() as places:
        for address in "aab":
            if address == "b":
                with pytest.raises(Refusal, match="busy"):
                    places.enter_context(service._place_of("a"))
            places.enter_context(service._place_of(address))
        with pytest.raises(Refusal, match="busy"):
            places.enter_context(service._place_of("c"))
    assert not service._under_way


@pytest.mark.parametrize(
    ("status", "content", "given"),
    [
        (200, b'{"id_token": "t"}', "t"),
        (400, b'{"id_token": "t", "error": "invalid_grant"}', None),
        (200, b'{"id_token": 7, "error": "invalid_grant"}', None),
        (200, b'{"error": "invalid_grant"}', None),
    ],
)
async def test_a_code_stands_for_what_comes_with_a_good_answer_alone(
    monkeypatch: pytest.MonkeyPatch, status: int, content: bytes, given: str | None
) -> None:
    has_answered(monkeypatch, status, content)
    found = await sign_ins.redeemed(CLIENT, ABOUT, "code", "verifier", https.Lines(None).post)
    told = "it does not say why" if given else "invalid_grant"
    assert (found.id_token, found.error) == (given, told)


@pytest.mark.parametrize("content", [b"[]", b"{", b""])
async def test_what_is_no_answer_redeems_no_code(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    has_answered(monkeypatch, 200, content)
    with pytest.raises(Unproven, match="nobody redeems"):
        await sign_ins.redeemed(CLIENT, ABOUT, "code", "verifier", https.Lines(None).post)


def token(**claims: object) -> str:
    """An ID token that nobody has signed."""
    whole = {"iss": ISSUER, "aud": "us :", "sub": "ann", "iat": NOW, "exp": NOW + 60, **claims}
    parts = b'{"alg": "RS256"}', msgspec.json.encode(whole), b""
    return ".".join(map(encoded, parts))


@ON_SQLITE
@pytest.mark.parametrize(
    ("said", "claims", "reason"),
    [
        ({}, {}, None),
        ({"state": "other"}, {}, "a state of another attempt"),
        ({"iss": "https://evil.test"}, {}, "an answer of another provider"),
        ({}, None, "a code that is refused: invalid_grant"),
        ({}, {"iss": "https://evil.test"}, "an ID token of another issuer"),
        ({}, {"nonce": "other"}, "an ID token of another attempt"),
    ],
)
async def test_whom_an_answer_means_is_who_was_sent_there(
    service: SignIns,
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, str],
    claims: dict[str, str] | None,
    reason: str | None,
) -> None:
    attempt, checked = Attempt.new("one", NOW), list[object]()
    given = "" if claims is None else token(**{"nonce": attempt.nonce, **claims})
    answer = {"error": "invalid_grant"} if claims is None else {"id_token": given}
    has_answered(monkeypatch, 200, msgspec.json.encode(answer))
    monkeypatch.setattr(sign_ins, "require_signed", lambda one, key: checked.append((one, key)))
    parameters = {"state": attempt.state, "code": "code", **said}
    asking = service._person("one", Answered(parameters, attempt.cookie, "a browser", "a"))
    if reason is None:
        assert await asking == Person(ISSUER, "ann")
        assert checked == [(claimed(given), "its key")]
        return
    with pytest.raises(Unproven, match=reason):
        await asking


@ON_SQLITE
async def test_nobody_is_meant_by_an_answer_without_a_code(service: SignIns) -> None:
    with pytest.raises(Unproven, match="no code: access_denied"):
        await service._person("one", came_back(error="access_denied"))


@ON_SQLITE
async def test_nobody_is_linked_to_a_provider_that_is_gone(service: SignIns) -> None:
    with pytest.raises(Unproven, match="not there any more"):
        await service.link(Caller(b"", "req-1"), "gone", came_back(code="code"))
