"""What an issuer says of a job, in a JWT (RFC 7519): read, and believed once its signature holds.

The token itself decides nothing of how it is checked: not where keys come from, not which
algorithms are good. Whatever is wrong with it, there is one exception, which says so in words for
whoever runs the service.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from teamvars.kernel import Discreet
from teamvars.protocol import MACHINE, Malformed, decoded, encoded
from teamvars.security import length_prefixed

MAX_TOKEN_BYTES = 16 * 1024
SKEW_SECONDS = 60

Key = RSAKey | ECKey | OKPKey

_TYPES: Mapping[str, type] = {"RS256": RSAKey, "ES256": ECKey, "EdDSA": OKPKey, "Ed25519": OKPKey}
"""The algorithms that are good, each with the keys it goes with."""
_ALGORITHMS = {name: JWSRegistry.algorithms[name] for name in _TYPES}
"""No registry chooses among them. `EdDSA` is outdated, as it names no curve; here, the key does."""
_SHORTEST_RSA_BITS = 2048
_LAST_SECOND = 2**40
"""In µs it is a BIGINT still."""
_SECRET_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Of a JWK (RFC 7518, section 6)."""
_REFUSED_MEMBERS = frozenset({"crit", "b64", "jku", "jwk", "x5u", "x5c", "zip", "enc"})


class Unproven(Exception):
    """The token proves nothing. `reason` is for the log, and has nothing of the token in it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Claimed(Discreet, frozen=True):
    """What a token says, while nobody has checked it."""

    token: str
    algorithm: str
    key_id: str | None
    issuer: str
    claims: Mapping[str, Any]


class Assertion(Discreet, frozen=True):
    """What an issuer says of a job, if it was the issuer who signed it.

    `once` names the token among all there are: it is good once. `expires_at` in seconds since 1970.
    """

    issuer: str
    audience: str
    claims: Mapping[str, Any]
    once: bytes
    expires_at: int

    @property
    def job(self) -> str:
        """Whom it is about: all tokens of an issuer with one `sub`."""
        return f"{self.issuer} {self.claims['sub']}"


def claimed(token: str) -> Claimed:
    """What a token says. Raises Unproven unless it has the form of one that could be believed."""
    parts = token.split(".")
    if len(token) > MAX_TOKEN_BYTES or len(parts) != 3:
        raise Unproven("not a signed JWT")
    header, claims = _object(parts[0]), _object(parts[1])
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in _TYPES:
        raise Unproven("an algorithm that is not accepted")
    if _REFUSED_MEMBERS & header.keys():
        raise Unproven("a header that says how it is to be checked")
    if key_id is not None and not isinstance(key_id, str):
        raise Unproven("a kid that is no text")
    issuer = claims.get("iss")
    if not isinstance(issuer, str):
        raise Unproven("no issuer")
    return Claimed(token, algorithm, key_id, issuer, claims)


def keys_of(document: bytes) -> Sequence[Key]:
    """The keys of a JWK set (RFC 7517) that can verify: public ones, of the types that are used.

    Raises Unproven unless it is a set.
    """
    try:
        return [_imported(one) for one in json.loads(document)["keys"] if _is_usable(one)]
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unproven("keys of the issuer that cannot be read") from None


def public_keys_of(document: bytes) -> Sequence[Key]:
    """As `keys_of`, of a set that somebody has put there for us. Raises Unproven also where it has
    what is secret, or no key that can verify.
    """
    keys = keys_of(document)
    if any(_SECRET_MEMBERS & one.keys() for one in json.loads(document)["keys"]):
        raise Unproven("it has private or secret keys; give the public ones alone")
    if not keys:
        raise Unproven("it has no key to use: RSA from 2048 bits, P-256 or Ed25519, for signatures")
    return keys


def machine_key(issuer: str) -> Key:
    """The key of a machine that signs for itself. Raises Unproven."""
    try:
        public = decoded(issuer.removeprefix(MACHINE))
        key: Key = OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": encoded(public)})
    except (Malformed, JoseError, ValueError):
        raise Unproven("a key that is none") from None
    return key


def chosen(said: Claimed, keys: Sequence[Key]) -> Key | None:
    """The key that a token means: by its id, or the only one of that kind."""
    alike = [key for key in keys if isinstance(key, _TYPES[said.algorithm])]
    if said.key_id is not None:
        alike = [key for key in alike if key.kid == said.key_id]
    return alike[0] if len(alike) == 1 else None


def asserted(said: Claimed, now: int) -> Assertion:
    """What the token says of somebody, if it is good now (seconds since 1970) and somebody has
    signed it: that costs most to find out, and `require_signed` does. Raises Unproven.
    """
    subject = said.claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise Unproven("no sub")
    return stated(said, now)


def stated(said: Claimed, now: int) -> Assertion:
    """As `asserted`, of whomever: it need not say. Raises Unproven."""
    expires_at, audience = _expiry(said.claims, now), said.claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        (audience,) = audience
    if not isinstance(audience, str):
        raise Unproven("not one audience")
    return Assertion(said.issuer, audience, said.claims, _once(said), expires_at)


def require_signed(said: Claimed, key: Key) -> None:
    """Raises Unproven unless that key has signed the token."""
    algorithm = _ALGORITHMS[said.algorithm]
    signed, _, signature = said.token.rpartition(".")
    try:
        algorithm.check_key(key)
        holds = algorithm.verify(signed.encode(), decoded(signature), key)
    except (JoseError, Malformed, ValueError, TypeError):
        holds = False
    if not holds:
        raise Unproven("a signature that does not hold")


def _expiry(claims: Mapping[str, Any], now: int) -> int:
    """When the token ends, which is good now. Raises Unproven."""
    expires_at, issued_at = _seconds(claims, "exp"), _seconds(claims, "iat")
    if expires_at is None or expires_at + SKEW_SECONDS <= now:
        raise Unproven("expired, or no exp")
    if issued_at is None:
        raise Unproven("no iat")
    if max(issued_at, _seconds(claims, "nbf") or 0) - SKEW_SECONDS > now:
        raise Unproven("a time to come")
    return expires_at


def _once(said: Claimed) -> bytes:
    """What names the token. Not its signature, of which there may be two that hold."""
    id_ = said.claims.get("jti")
    signed = said.token.rpartition(".")[0]
    name = ("jti", id_) if isinstance(id_, str) and id_ else ("signed", signed)
    return hashlib.sha256(length_prefixed(said.issuer, *name)).digest()


def _object(part: str) -> Mapping[str, Any]:
    """The JSON object of a part, in which no name stands twice. Raises Unproven."""
    try:
        content = base64.b64decode(part + "=" * (-len(part) % 4), b"-_", validate=True)
        text = content.decode()
        found = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
        if "\\u" in text:  # or nothing is half a surrogate pair, which is no text
            json.dumps(found, ensure_ascii=False).encode()
    except (binascii.Error, ValueError, RecursionError):
        raise Unproven("a part that cannot be read") from None
    if not isinstance(found, dict):
        raise Unproven("a part that is no object")
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> NoReturn:
    raise ValueError


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    """A time (RFC 7519, NumericDate). Raises Unproven where it is anything else."""
    said = claims.get(name)
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said < _LAST_SECOND:
        raise Unproven(f"{name} is no time")
    return int(said)


def _is_usable(key: Mapping[str, Any]) -> bool:
    """Whether it is a key for signatures that are accepted, and strong enough."""
    if key.get("use", "sig") != "sig":
        return False
    match key.get("kty"), key.get("crv"):
        case "RSA", _:
            modulus = base64.urlsafe_b64decode(key["n"] + "==")
            return int.from_bytes(modulus, "big").bit_length() >= _SHORTEST_RSA_BITS
        case ("EC", "P-256") | ("OKP", "Ed25519"):
            return True
    return False


def _imported(key: Mapping[str, Any]) -> Key:
    """The key, without its private part if it has one: a set is no place for secrets."""
    names = ("kty", "kid", "n", "e", "crv", "x", "y")
    public = {name: key[name] for name in names if name in key}
    types: Mapping[str, type[Key]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
    return types[key["kty"]].import_key(public)
