"""What Keycloak, Okta, Entra, Google and Auth0 say of somebody, as they document it, and whom we
take that for.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from teamvars.domain.sign_ins import Person
from teamvars.protocol import encoded
from teamvars.security.assertions import Claimed, Unproven, claimed
from teamvars.security.sign_ins import person, sign_out

NOW = 1_800_000_000
TIMES = {"iat": NOW, "exp": NOW + 300}
KEYCLOAK = "https://sso.example.com/realms/acme"
OKTA = "https://example.okta.com"
ENTRA = "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0"
GOOGLE = "https://accounts.google.com"
AUTH0 = "https://example.eu.auth0.com/"
EVENTS: Mapping[str, object] = {"http://schemas.openid.net/event/backchannel-logout": {}}


class Documented(NamedTuple):
    """An ID token for a client, and whom it means."""

    client: str
    claims: Mapping[str, Any]
    whom: Person


ID_TOKENS = {
    "Keycloak": Documented(
        "teamvars",
        {
            "iss": KEYCLOAK,
            "aud": "teamvars",
            "azp": "teamvars",
            "typ": "ID",
            "jti": "5b1b8b1e-7c2a-4a32-8d2e-0f2f6c9a1d11",
            "sub": "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55",
            "auth_time": NOW,
            "sid": "c1f9f2d4-6b0e-4a0e-8a3c-2a4b6d8e0f12",
            "at_hash": "n5tqMZbB1Zc0mQ0zP7l3Xg",
            "acr": "1",
            "email_verified": True,
            "name": "Alice Doe",
            "preferred_username": "alice",
            "given_name": "Alice",
            "family_name": "Doe",
            "email": "alice@example.com",
        },
        Person(
            KEYCLOAK,
            "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55",
            "alice@example.com",
            "c1f9f2d4-6b0e-4a0e-8a3c-2a4b6d8e0f12",
        ),
    ),
    "Keycloak, of somebody who has confirmed no address": Documented(
        "teamvars",
        {
            "iss": KEYCLOAK,
            "aud": "teamvars",
            "sub": "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55",
            "email_verified": False,
            "email": "ceo@example.com",
        },
        Person(KEYCLOAK, "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55"),
    ),
    "Okta": Documented(
        "0oa1b2c3d4E5f6G7h8i9",
        {
            "ver": 1,
            "iss": OKTA,
            "aud": "0oa1b2c3d4E5f6G7h8i9",
            "sub": "00u1a2b3c4D5e6F7g8h9",
            "jti": "ID.Y2xhc3NpYyBzYW1wbGU",
            "amr": ["pwd", "mfa"],
            "idp": "00o1a2b3c4D5e6F7g8h9",
            "auth_time": NOW,
            "at_hash": "preview_at_hash",
            "name": "Alice Doe",
            "email": "alice@example.com",
            "email_verified": True,
            "preferred_username": "alice@example.com",
            "zoneinfo": "America/Los_Angeles",
            "updated_at": NOW,
        },
        Person(OKTA, "00u1a2b3c4D5e6F7g8h9", "alice@example.com"),
    ),
    "Entra, whose sub is another for each client": Documented(
        "6cb04018-a3f5-46a7-b995-940c78f5aef3",
        {
            "ver": "2.0",
            "iss": ENTRA,
            "aud": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
            "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
            "oid": "00000000-0000-0000-66f3-3332eca7ea81",
            "tid": "9122040d-6c67-4c5b-b112-36a304b66dad",
            "nbf": NOW,
            "aio": "Df2UVXL1ix!lMCWMSOJBcFatzcGfvFGhjKv8q5g0x732dR5MB5BisvGQO7YWByjd8i",
            "name": "Alice Doe",
            "preferred_username": "alice@example.com",
            "email": "ceo@example.com",  # which their owner may set to anything
        },
        Person(ENTRA, "00000000-0000-0000-66f3-3332eca7ea81"),
    ),
    "Google": Documented(
        "1234987819200.apps.googleusercontent.com",
        {
            "iss": GOOGLE,
            "azp": "1234987819200.apps.googleusercontent.com",
            "aud": "1234987819200.apps.googleusercontent.com",
            "sub": "10769150350006150715113082367",
            "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
            "hd": "example.com",
            "email": "alice@example.com",
            "email_verified": True,
        },
        Person(GOOGLE, "10769150350006150715113082367", "alice@example.com"),
    ),
    "Google, as its page of examples has it": Documented(
        "1234987819200.apps.googleusercontent.com",
        {
            "iss": GOOGLE,
            "azp": "1234987819200.apps.googleusercontent.com",
            "aud": "1234987819200.apps.googleusercontent.com",
            "sub": "10769150350006150715113082367",
            "email": "alice@example.com",
            "email_verified": "true",
        },
        Person(GOOGLE, "10769150350006150715113082367"),
    ),
    "Auth0": Documented(
        "EkrAh3VJ5A2B",
        {
            "iss": AUTH0,
            "aud": "EkrAh3VJ5A2B",
            "sub": "auth0|602e93db90d8600069f38d14",
            "sid": "375UstzqRpAkSdrg5Ct8rPBqN57HSYcC",
            "email": "alice@example.com",
            "email_verified": True,
        },
        Person(
            AUTH0,
            "auth0|602e93db90d8600069f38d14",
            "alice@example.com",
            "375UstzqRpAkSdrg5Ct8rPBqN57HSYcC",
        ),
    ),
}

LOGOUT_TOKENS = {
    "Keycloak": (
        {
            "iss": KEYCLOAK,
            "aud": "teamvars",
            "jti": "a0d6f4b8-0f1c-4ac1-9f69-4b7f3a7a6b0e",
            "sub": "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55",
            "typ": "Logout",
            "sid": "c1f9f2d4-6b0e-4a0e-8a3c-2a4b6d8e0f12",
            "events": EVENTS,
        },
        ("8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55", "c1f9f2d4-6b0e-4a0e-8a3c-2a4b6d8e0f12"),
    ),
    "Keycloak, with offline tokens": (
        {
            "iss": KEYCLOAK,
            "aud": "teamvars",
            "jti": "a0d6f4b8-0f1c-4ac1-9f69-4b7f3a7a6b0e",
            "sub": "8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55",
            "typ": "Logout",
            "events": {**EVENTS, "revoke_offline_access": True},
        },
        ("8d5a4d9b-1f0e-4a3a-9b1c-4c2f7a0f3e55", None),
    ),
    "Auth0": (
        {
            "iss": AUTH0,
            "aud": "teamvars",
            "jti": "80c8d9d6-5b6a-4d5c-9f43-0b7c4d5e6f70",
            "sub": "auth0|602e93db90d8600069f38d14",
            "sid": "375UstzqRpAkSdrg5Ct8rPBqN57HSYcC",
            "trace_id": "6e9a2c9a4d5e6f70",
            "events": EVENTS,
        },
        ("auth0|602e93db90d8600069f38d14", "375UstzqRpAkSdrg5Ct8rPBqN57HSYcC"),
    ),
}


def said(claims: Mapping[str, Any], **more: Any) -> Claimed:
    """It in a token; whether a signature holds is not looked at here."""
    parts = {"alg": "RS256", "kid": "1", "typ": "JWT"}, {**TIMES, **claims, **more}
    return claimed(".".join([*(encoded(json.dumps(one).encode()) for one in parts), "c2ln"]))


@pytest.mark.parametrize("name", ID_TOKENS)
def test_an_id_token_means_somebody_by_what_never_changes_hands(name: str) -> None:
    documented = ID_TOKENS[name]
    found = said(documented.claims, nonce="n")
    assert person(found, documented.client, "n", NOW) == documented.whom
    for client, nonce in (("another", "n"), (documented.client, "another")):
        with pytest.raises(Unproven):
            person(found, client, nonce, NOW)


@pytest.mark.parametrize("name", ID_TOKENS)
def test_an_id_token_is_no_logout_token(name: str) -> None:
    documented = ID_TOKENS[name]
    for more in ({"nonce": "n"}, {"nonce": "n", "events": EVENTS, "jti": "1"}):
        with pytest.raises(Unproven):
            sign_out(said(documented.claims, **more), documented.client, NOW)


@pytest.mark.parametrize("name", LOGOUT_TOKENS)
def test_a_logout_token_means_somebody_or_a_session_of_theirs(name: str) -> None:
    claims, whom = LOGOUT_TOKENS[name]
    found = said(claims)
    meant = sign_out(found, "teamvars", NOW)
    assert (meant.subject, meant.sid) == whom
    assert meant.expires_at == (NOW + 360) * 1_000_000
    with pytest.raises(Unproven, match="nonce"):  # which it has, and be it null
        sign_out(said(claims, nonce=None), "teamvars", NOW)
    with pytest.raises(Unproven, match="another attempt"):
        person(found, "teamvars", "n", NOW)
