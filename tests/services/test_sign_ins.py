"""What is believed of a provider's answers, and by what it knows us."""

import base64
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from teamvars.domain.sign_ins import Provider
from teamvars.security.assertions import Unproven
from teamvars.security.sign_ins import Attempt
from teamvars.services import sign_ins
from teamvars.services.sign_ins import Client, departure, word

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
