"""Attempts to sign in, and what is believed of what a provider says of somebody."""

from collections.abc import Mapping
from typing import Any

import pytest

from teamvars.domain.sign_ins import Person, SignOut
from teamvars.security.assertions import SKEW_SECONDS, Claimed, Unproven
from teamvars.security.sign_ins import ATTEMPT_SECONDS, Attempt, person, sign_out

NOW = 1_800_000_000
ISSUER, ENTRA = "https://id.example.com", "https://login.microsoftonline.com/tenant/v2.0"
CLAIMS = {"aud": "us", "sub": "ann", "nonce": "n", "iat": NOW, "exp": NOW + 60}
VERIFIED = {"email": "ann@example.com", "email_verified": True}


@pytest.mark.parametrize(
    "cookie",
    [
        None,
        "",
        "secret",
        ".secret",
        f"{NOW}",
        f"{NOW}.",
        f"-{NOW}.secret",
        "1800000000\u00b2.secret",
        "\u0661\u0668" + "\u0660" * 8 + ".secret",
        "1" * 5000 + ".secret",
        f"{NOW - ATTEMPT_SECONDS}.secret",
        f"{NOW + SKEW_SECONDS + 1}.secret",
    ],
)
def test_a_cookie_that_is_none_or_too_old_keeps_no_attempt(cookie: str | None) -> None:
    with pytest.raises(Unproven):
        Attempt.kept("one", cookie, NOW)


@pytest.mark.parametrize("ago", [0, ATTEMPT_SECONDS - 1, -SKEW_SECONDS])
def test_a_cookie_keeps_an_attempt_for_ten_minutes(ago: int) -> None:
    begun = Attempt.new("one", NOW - ago)
    kept = Attempt.kept("one", begun.cookie, NOW)
    assert kept == begun
    kept.require_state(begun.state)
    assert "secret" not in repr(Attempt("one", NOW, "secret"))


def test_a_time_of_twelve_digits_is_read() -> None:
    late = 10**11
    assert Attempt.kept("one", f"{late}.secret", late).begun_at == late


def test_nothing_of_an_attempt_is_that_of_another() -> None:
    one = Attempt("one", NOW, "secret")
    others = (
        Attempt("two", NOW, "secret"),
        Attempt("one", NOW + 1, "secret"),
        Attempt("one", NOW, "s"),
        Attempt("one", NOW, "secret", links=True),
    )
    for other in others:
        assert not {one.state, one.nonce, one.verifier} & {other.state, other.nonce, other.verifier}
        with pytest.raises(Unproven):
            one.require_state(other.state)
    assert len({one.state, one.nonce, one.verifier}) == 3
    for wrong in ("", "é", one.nonce):
        with pytest.raises(Unproven):
            one.require_state(wrong)


def said(issuer: str = ISSUER, **claims: Any) -> Claimed:
    """An ID token with these claims, of which None leaves one out."""
    whole = {"iss": issuer, **CLAIMS, **claims}
    there = {name: one for name, one in whole.items() if one is not None}
    return Claimed("a.b.c", "RS256", None, issuer, there)


@pytest.mark.parametrize(
    ("claims", "email"),
    [
        ({}, None),
        (VERIFIED, "ann@example.com"),
        ({**VERIFIED, "email_verified": False}, None),
        ({**VERIFIED, "email_verified": "true"}, None),
        ({**VERIFIED, "email_verified": 1}, None),
        ({**VERIFIED, "email_verified": None}, None),
        ({**VERIFIED, "email": "ann"}, None),
        ({**VERIFIED, "email": ["ann@example.com"]}, None),
        ({"azp": "us"}, None),
        ({"aud": ["us"]}, None),
    ],
)
def test_somebody_has_the_name_and_the_address_that_are_proven(
    claims: Mapping[str, Any], email: str | None
) -> None:
    assert person(said(**claims), "us", "n", NOW) == Person(ISSUER, "ann", email)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "them"},
        {"aud": ["us", "them"]},
        {"azp": "them"},
        {"nonce": "other"},
        {"nonce": None},
        {"nonce": 7},
        {"exp": NOW - SKEW_SECONDS},
        {"sub": ""},
        {"sub": "\u0430"},
        {"sub": "a" * 256},
    ],
)
def test_nobody_is_meant_by_what_is_for_others_or_names_nobody(claims: Mapping[str, Any]) -> None:
    with pytest.raises(Unproven):
        person(said(**claims), "us", "n", NOW)


def test_entra_names_somebody_by_oid_and_others_by_sub() -> None:
    assert person(said(ENTRA, oid="o"), "us", "n", NOW).subject == "o"
    assert person(said(oid="o"), "us", "n", NOW).subject == "ann"
    for oid in (None, 7, ""):
        with pytest.raises(Unproven):
            person(said(ENTRA, oid=oid), "us", "n", NOW)


EVENT = "http://schemas.openid.net/event/backchannel-logout"


def signed_out(**claims: Any) -> SignOut:
    """Whom a logout token with these claims is about."""
    whole = {"nonce": None, "events": {EVENT: {}}, "jti": "j", **claims}
    return sign_out(said(**whole), "us", NOW)


@pytest.mark.parametrize(
    ("claims", "whom"),
    [
        ({}, ("ann", None)),
        ({"sid": "s"}, ("ann", "s")),
        ({"sub": None, "sid": "s"}, (None, "s")),
    ],
)
def test_a_logout_token_names_somebody_or_a_session(
    claims: Mapping[str, Any], whom: tuple[str | None, str | None]
) -> None:
    found = signed_out(**claims)
    assert (found.subject, found.sid) == whom


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "them"},
        {"events": None},
        {"events": [EVENT]},
        {"events": {EVENT: True}},
        {"events": {"other": {}}},
        {"nonce": "n"},
        {"jti": None},
        {"jti": 7},
        {"jti": ""},
        {"sub": None},
        {"sub": "", "sid": ""},
    ],
)
def test_nobody_is_signed_out_by_what_is_no_logout_token_or_names_nobody(
    claims: Mapping[str, Any],
) -> None:
    with pytest.raises(Unproven):
        signed_out(**claims)
