"""Whatever a stranger sends as a token, the answer says that it is bad, and is no fault of ours."""

import hmac
import json
from typing import Any

import pytest
from joserfc.jwk import ECKey, OKPKey

from teamvars.protocol import MACHINE, encoded
from tests.services.calls import refusal_of
from tests.services.jobs import Job, approve, propose
from tests.support.jobs import ISSUER, ISSUERS, job_token
from tests.support.tenant import Tenant

MACHINE_KEY = OKPKey.generate_key("Ed25519")
STRANGER = ECKey.generate_key("P-256", {"kid": "ci"})


def altered(token: str, head: dict[str, Any], signature: bytes | None = None) -> str:
    """The token under another head."""
    _, claims, last = token.split(".")
    first = encoded(json.dumps(head).encode())
    return f"{first}.{claims}.{last if signature is None else encoded(signature)}"


def by_public_key(token: str) -> str:
    """The token, signed with the issuer's published keys as if they were a secret."""
    unsigned = altered(token, {"alg": "HS256", "kid": "ci"}, b"").rpartition(".")[0]
    signature = hmac.digest(ISSUERS[0].keys or b"", unsigned.encode(), "sha256")
    return f"{unsigned}.{encoded(signature)}"


def of_machine(**claims: object) -> str:
    """What a machine that nobody knows says of itself, with a signature that holds."""
    public = MACHINE_KEY.as_dict(private=False)["x"]
    said = {"iss": f"{MACHINE}{public}", "aud": "x", "sub": "m", "iat": 0, "exp": 2**39, **claims}
    parts = ({"alg": "EdDSA"}, said)
    signing = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    assert MACHINE_KEY.private_key is not None
    return f"{signing}.{encoded(MACHINE_KEY.private_key.sign(signing.encode()))}"  # type: ignore[union-attr]


def hostile(good: str) -> dict[str, str]:
    """Tokens like the good one that prove nothing."""
    return {
        "nothing": ".",
        "a megabyte": good + "A" * 2**20,
        "no algorithm": altered(good, {"alg": "none"}, b""),
        "a public key as a secret": by_public_key(good),
        "keys from elsewhere": altered(good, {"alg": "ES256", "jku": "https://evil.example"}),
        "a certificate": altered(good, {"alg": "ES256", "x5u": "https://evil.example"}),
        "a path": altered(good, {"alg": "ES256", "kid": "../../etc/passwd"}),
        "no text": altered(good, {"alg": "ES256", "kid": ["ci"]}),
        "another key": job_token("x", key=STRANGER),
        "another issuer": job_token("x", issuer="https://evil.example"),
        "a look-alike": job_token("x", issuer=ISSUER.replace("c", "с")),  # noqa: RUF001 - Cyrillic
        "half a pair": of_machine(jti="\ud800"),
        "half a pair as the audience": of_machine(aud="\udfff"),
        "an end beyond all days": of_machine(exp=2**52),
        "an end that is none": of_machine(exp="tomorrow"),
        "two audiences": of_machine(aud=["x", "y"]),
    }


@pytest.mark.parametrize("kind", hostile(job_token("x")))
async def test_a_token_that_proves_nothing_is_bad_and_no_more(tenant: Tenant, kind: str) -> None:
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    good = job_token(job.key.thumbprint)
    assert await refusal_of(job.exchange(hostile(good)[kind])) == "invalid_request"
    await job.exchange(good)
