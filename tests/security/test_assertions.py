"""Tokens about jobs: believed if an issuer's key signed them, and for nothing they say of that."""

import base64
import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from teamvars.protocol import MACHINE, encoded
from teamvars.security.assertions import (
    MAX_TOKEN_BYTES,
    SKEW_SECONDS,
    Unproven,
    asserted,
    chosen,
    claimed,
    keys_of,
    machine_key,
    public_keys_of,
    require_signed,
)

NOW = 1_800_000_000
ISSUER = "https://ci.example.org"
RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
EC = ECKey.generate_key("P-256", {"kid": "ec"})
ED = OKPKey.generate_key("Ed25519", {"kid": "ed"})
PUBLIC = [key.as_dict(private=False) for key in (RSA, EC, ED)]
WEAK = {"kty": "RSA", "kid": "weak", "e": "AQAB", "n": encoded(b"\xff" * 255)}
ELSEWHERE = ECKey.generate_key("P-384", {"kid": "else"}).as_dict(private=False)
DOCUMENT = json.dumps({"keys": [*PUBLIC, WEAK, ELSEWHERE]}).encode()
KEYS = keys_of(DOCUMENT)
CLAIMS = {
    "iss": ISSUER,
    "aud": "https://vars.example.org",
    "sub": "job-1",
    "iat": NOW - 5,
    "nbf": NOW - 5,
    "exp": NOW + 300,
    "jti": "1",
}
SIGNERS: dict[str, Any] = {"RS256": RSA, "ES256": EC, "EdDSA": ED, "Ed25519": ED}


def signed(algorithm: str = "RS256", header: dict[str, Any] | None = None, **claims: object) -> str:
    """A token with this header and these claims, of which None leaves one out."""
    key = SIGNERS[algorithm]
    whole = {"alg": algorithm, "kid": key.kid, **(header or {})}, {**CLAIMS, **claims}
    head, said = ({name: one for name, one in all_.items() if one is not None} for all_ in whole)
    signing = f"{part(json.dumps(head))}.{part(json.dumps(said))}"
    signature = jws.default_registry.algorithms[algorithm].sign(signing.encode(), key)
    return f"{signing}.{encoded(signature)}"


def part(text: str) -> str:
    """Text as a part of a token."""
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def believed(token: str, now: int = NOW) -> Any:
    """What is believed of a token, whose key is the issuer's."""
    said = claimed(token)
    key = chosen(said, KEYS)
    if key is None:
        raise Unproven("no such key")
    assertion = asserted(said, now)
    require_signed(said, key)
    return assertion


@pytest.mark.parametrize("algorithm", SIGNERS)
def test_what_the_issuer_signed_is_believed(algorithm: str) -> None:
    found = believed(signed(algorithm))
    assert (found.issuer, found.audience) == (ISSUER, CLAIMS["aud"])
    assert (found.claims, found.expires_at) == (CLAIMS, CLAIMS["exp"])
    assert "job-1" not in repr(found) + repr(claimed(signed(algorithm)))


def test_keys_that_are_too_weak_are_none() -> None:
    assert {key.kid for key in KEYS} == {"rsa", "ec", "ed"}


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": NOW - SKEW_SECONDS},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 1e300},
        {"exp": -1},
        {"iat": None},
        {"iat": True},
        {"iat": NOW + SKEW_SECONDS + 1},
        {"nbf": NOW + SKEW_SECONDS + 1},
        {"nbf": [NOW]},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"aud": None},
        {"aud": ["a", "b"]},
        {"aud": []},
        {"aud": [7]},
        {"aud": {"a": 1}},
        {"iss": None},
        {"iss": 7},
    ],
    ids=str,
)
def test_a_token_that_lacks_something_proves_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(Unproven):
        believed(signed(**claims))


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - SKEW_SECONDS + 1}, {"iat": NOW + SKEW_SECONDS}, {"nbf": None}], ids=str
)
def test_clocks_may_differ_a_little(claims: dict[str, Any]) -> None:
    assert believed(signed(**claims)).claims["sub"] == "job-1"


@pytest.mark.parametrize(
    "header",
    [
        {"jku": "https://evil.example"},
        {"x5u": "https://evil.example"},
        {"jwk": ED.as_dict(private=False)},
        {"x5c": ["AA=="]},
        {"crit": ["exp"], "exp": 1},
        {"kid": "../../etc/passwd"},
        {"kid": "https://evil.example/keys"},
        {"kid": "ec"},
        {"kid": 7},
    ],
    ids=["jku", "x5u", "jwk", "x5c", "crit", "path", "url", "another", "number"],
)
def test_a_token_does_not_say_how_it_is_checked(header: dict[str, Any]) -> None:
    head = {"alg": "RS256", "kid": "rsa", **header}
    signing = f"{part(json.dumps(head))}.{part(json.dumps(CLAIMS))}"
    signature = jws.default_registry.algorithms["RS256"].sign(signing.encode(), RSA)
    with pytest.raises(Unproven):
        believed(f"{signing}.{encoded(signature)}")


def _unsigned() -> str:
    return f"{part(json.dumps({'alg': 'none'}))}.{part(json.dumps(CLAIMS))}."


def _by_public_key() -> str:
    signing = f"{part(json.dumps({'alg': 'HS256', 'kid': 'rsa'}))}.{part(json.dumps(CLAIMS))}"
    signature = hmac.digest(RSA.as_pem(private=False), signing.encode(), "sha256")
    return f"{signing}.{encoded(signature)}"


def _with_two_subjects() -> str:
    text = json.dumps(CLAIMS)[:-1] + ', "sub": "job-2"}'
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, text, RSA)


def _with_endless_time() -> str:
    text = json.dumps(CLAIMS)[:-1] + ', "more": NaN}'
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, text, RSA)


def _nested() -> str:
    text = json.dumps(CLAIMS)[:-1] + ', "more": ' + "[" * 5000 + "]" * 5000 + "}"
    return jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, text, RSA)


HOSTILE: dict[str, Callable[[], str]] = {
    "unsigned": _unsigned,
    "signed with the public key": _by_public_key,
    "two subjects": _with_two_subjects,
    "no number": _with_endless_time,
    "half a pair": lambda: signed(sub="\ud800"),
    "a byte more": lambda: signed() + "A",
    "long": lambda: signed(header={"typ": "x" * MAX_TOKEN_BYTES}),
    "four parts": lambda: signed().replace(".", "..", 1),
    "a mebibyte": lambda: "A" * 1024 * 1024,
    "empty": lambda: "..",
    "lists": lambda: f"{part('[]')}.{part('[]')}.",
    "half an object": lambda: f"{part('7')}.{part('{')}.\xe9",
    "another key's algorithm": lambda: signed("ES256", header={"kid": "rsa"}),
    "a shared secret": lambda: jws.serialize_compact(
        {"alg": "HS256", "kid": "rsa"}, json.dumps(CLAIMS), OctKey.import_key("x" * 32)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_deceive_proves_nothing(name: str) -> None:
    token = HOSTILE[name]()
    with pytest.raises(Unproven):
        believed(token)


def test_a_token_that_is_nested_deep_proves_nothing_more_than_it_says() -> None:
    with suppress(Unproven):  # as deep as some versions of Python do not read
        assert believed(_nested()).claims["sub"] == CLAIMS["sub"]


@pytest.mark.parametrize(
    "header", [{"alg": ["RS256"]}, {"alg": {}}, {"alg": "RS256", "kid": 7}], ids=str
)
def test_a_header_that_is_none_ends_before_any_key_is_looked_for(header: dict[str, Any]) -> None:
    with pytest.raises(Unproven):
        claimed(f"{part(json.dumps(header))}.{part(json.dumps(CLAIMS))}.")


def test_a_token_has_three_parts_and_so_many_bytes() -> None:
    head, _, _ = TOKEN.rpartition(".")
    longest = f"{head}.".ljust(MAX_TOKEN_BYTES, "A")
    assert claimed(longest).issuer == ISSUER
    for wrong in (head, f"{longest}A", f"{head}..A"):
        with pytest.raises(Unproven):
            claimed(wrong)


def test_a_token_that_names_no_key_means_the_only_one_of_its_kind() -> None:
    assert believed(signed("ES256", header={"kid": None})).claims["sub"] == "job-1"


def test_one_audience_may_stand_in_a_list() -> None:
    assert believed(signed(aud=["https://vars.example.org"])).audience == CLAIMS["aud"]


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_no_byte_of_a_token_can_be_another(at: int, other: int) -> None:
    token = TOKEN.encode()
    at %= len(token)
    changed = token[:at] + bytes([token[at] ^ other]) + token[at + 1 :]
    try:
        found = believed(changed.decode(errors="replace"))
    except Unproven:
        return
    assert found.claims == CLAIMS  # the last letter has bits that say nothing


TOKEN = signed()


def test_a_token_has_one_name_however_it_is_signed() -> None:
    again, other = signed("ES256"), signed("ES256")
    assert again != other
    assert believed(again).once == believed(other).once
    nameless = signed("ES256", jti=None)
    head, _, _ = nameless.rpartition(".")
    signature = jws.default_registry.algorithms["ES256"].sign(head.encode(), EC)
    assert believed(nameless).once == believed(f"{head}.{encoded(signature)}").once
    assert believed(nameless).once != believed(again).once
    assert believed(signed(jti="2")).once != believed(again).once
    assert believed(signed(iat=NOW - 6)).once == believed(again).once
    for no_name in ("", 7):
        one, later = signed(jti=no_name), signed(jti=no_name, iat=NOW - 6)
        assert believed(one).once != believed(later).once


def test_a_machine_signs_for_itself() -> None:
    public = ED.public_key.public_bytes_raw()
    issuer = MACHINE + encoded(public)
    said = claimed(signed("EdDSA", iss=issuer))
    require_signed(said, machine_key(issuer))
    with pytest.raises(Unproven):
        require_signed(said, machine_key(MACHINE + encoded(bytes(32))))
    for algorithm in ("ES256", "RS256"):
        with pytest.raises(Unproven):
            require_signed(claimed(signed(algorithm, iss=issuer)), machine_key(issuer))
    for wrong in ("", encoded(public[:-1]), encoded(public) + "=", "é"):
        with pytest.raises(Unproven):
            machine_key(MACHINE + wrong)


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": [7]}', b"\xff"])
def test_keys_that_cannot_be_read_are_none(document: bytes) -> None:
    with pytest.raises(Unproven):
        keys_of(document)


def test_a_set_of_keys_may_have_some_that_are_of_no_use() -> None:
    others = [{"kty": "oct", "k": "AA"}, RSA.as_dict(private=False) | {"use": "enc", "kid": "e"}]
    private = json.dumps({"keys": [*others, ED.as_dict(private=True)]}).encode()
    (key,) = keys_of(private)
    assert key.kid == "ed"
    assert not key.is_private


def test_a_set_that_somebody_puts_there_has_keys_to_use_and_nothing_secret() -> None:
    assert len(public_keys_of(DOCUMENT)) == len(PUBLIC)
    private, symmetric = EC.as_dict(private=True), OctKey.generate_key(256).as_dict(private=True)
    for keys, why in (
        ([*PUBLIC, private], "private or secret"),
        ([*PUBLIC, symmetric], "private or secret"),
        ([WEAK, ELSEWHERE], "no key to use"),
    ):
        with pytest.raises(Unproven, match=why):
            public_keys_of(json.dumps({"keys": keys}).encode())
