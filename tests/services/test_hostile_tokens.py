"""Whatever a stranger sends as a token, the answer says that it is bad, and is no fault of ours."""

import hmac
import json
import time
from typing import Any

import pytest
from joserfc.jwk import ECKey, OKPKey

from teamvars.protocol import MACHINE, decoded, encoded
from tests.services.calls import refusal_of
from tests.services.jobs import Job, approve, propose
from tests.support.engines import ON_SQLITE
from tests.support.jobs import ISSUER, ISSUERS, SERVICE, job_token
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


def saying(good: str, **claims: object) -> str:
    """The token with other claims under its signature."""
    head, part, signature = good.split(".")
    said = {**json.loads(decoded(part)), **claims}
    return f"{head}.{encoded(json.dumps(said).encode())}.{signature}"


def of_machine(thumbprint: str, **claims: object) -> str:
    """What a machine that nobody knows says of itself, with a signature that holds."""
    public, now = MACHINE_KEY.as_dict(private=False)["x"], int(time.time())
    audience = f"{SERVICE}#{thumbprint}"
    said: dict[str, object] = {"iss": f"{MACHINE}{public}", "aud": audience, "sub": "m"}
    said |= {"iat": now, "exp": now + 300, "jti": "once", **claims}
    parts = ({"alg": "EdDSA"}, said)
    signing = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    assert MACHINE_KEY.private_key is not None
    return f"{signing}.{encoded(MACHINE_KEY.private_key.sign(signing.encode()))}"  # type: ignore[union-attr]


def hostile(thumbprint: str) -> dict[str, str]:
    """Tokens like the good one for that key, each of which proves nothing for one reason alone."""
    good = job_token(thumbprint)
    return {
        "nothing": ".",
        "a megabyte": good + "A" * 2**20,
        "no algorithm": altered(good, {"alg": "none"}, b""),
        "a public key as a secret": by_public_key(good),
        "keys from elsewhere": altered(good, {"alg": "ES256", "jku": "https://evil.example"}),
        "a certificate": altered(good, {"alg": "ES256", "x5u": "https://evil.example"}),
        "a path": altered(good, {"alg": "ES256", "kid": "../../etc/passwd"}),
        "no text": altered(good, {"alg": "ES256", "kid": ["ci"]}),
        "another key": job_token(thumbprint, key=STRANGER),
        "other claims": saying(good, jti="another"),
        "another issuer": job_token(thumbprint, issuer="https://evil.example"),
        "a look-alike": job_token(thumbprint, issuer=ISSUER.replace("c", "с")),  # noqa: RUF001 - Cyrillic
        "another audience": job_token(thumbprint, aud=f"https://evil.example#{thumbprint}"),
        "no key to deliver to": job_token(None),
        "half a key to deliver to": job_token(thumbprint[:22]),
        "no thumbprint": job_token(f"?{thumbprint}"),
        "another machine": saying(of_machine(thumbprint), sub="another"),
        "half a pair": of_machine(thumbprint, jti="\ud800"),
        "half a pair as the audience": of_machine(thumbprint, aud=f"{SERVICE}#\udfff"),
        "an end beyond all days": of_machine(thumbprint, exp=2**52),
        "an end that is none": of_machine(thumbprint, exp="tomorrow"),
        "two audiences": of_machine(thumbprint, aud=[f"{SERVICE}#{thumbprint}", "y"]),
    }


@ON_SQLITE
@pytest.mark.parametrize("kind", hostile("x"))
async def test_a_token_that_proves_nothing_is_bad_and_no_more(tenant: Tenant, kind: str) -> None:
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    token = hostile(job.key.thumbprint)[kind]
    assert await refusal_of(job.exchange(token)) == "invalid_request"
    await job.exchange()


async def test_a_token_for_one_key_is_good_for_no_other_that_the_form_names(
    tenant: Tenant,
) -> None:
    await approve(tenant, await propose(tenant))
    job, other = Job.new(tenant), Job.new(tenant)
    named = other.key.thumbprint
    assert await refusal_of(job.exchange(thumbprint=named)) == "invalid_request"
    await job.exchange(thumbprint=job.key.thumbprint)


async def test_a_token_that_names_no_key_is_for_the_forms_where_the_runner_allows_that(
    tenant: Tenant,
) -> None:
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    named = job.key.thumbprint
    assert await refusal_of(job.exchange(job_token(None), thumbprint=named)) == "invalid_target"
    runner_id = await propose(tenant, name="anybody", allow_unbound=True)
    await approve(tenant, runner_id)
    issued = await job.exchange(job_token(None), thumbprint=named)
    assert issued.runner_id == runner_id
    await job.deliver(issued)


@ON_SQLITE
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"audience": SERVICE}, "invalid_target"),
        ({"resource": "https://evil.example/api/v2/workspaces/{id}"}, "invalid_target"),
        ({"resource": "/api/v2/workspaces/{id}"}, "invalid_target"),
        ({"resource": f"{SERVICE}/api/v2/workspaces/"}, "invalid_target"),
        ({"resource": f"{SERVICE}/api/v2/teams/team-1"}, "invalid_target"),
        ({"resource": ""}, "invalid_request"),
        ({"scope": "all"}, "invalid_scope"),
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"subject_token_type": "saml"}, "invalid_request"),
        ({"requested_token_type": "id"}, "invalid_request"),
        ({"actor_token": "x"}, "invalid_request"),
    ],
)
async def test_a_form_asks_for_a_token_for_a_workspace_of_this_service_and_for_nothing_else(
    tenant: Tenant, more: dict[str, str], code: str
) -> None:
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    said = {name: text.replace("{id}", tenant.workspaces["network"]) for name, text in more.items()}
    assert await refusal_of(job.exchange(**said)) == code
    await job.exchange()


async def test_a_machine_is_known_by_its_key_alone(tenant: Tenant) -> None:
    job = Job.new(tenant)
    assert await refusal_of(job.exchange(of_machine(job.key.thumbprint))) == "invalid_target"
    key = MACHINE_KEY.as_dict(private=False)["x"]
    runner_id = await propose(tenant, issuer=None, conditions={}, public_key=key)
    await approve(tenant, runner_id)
    issued = await job.exchange(of_machine(job.key.thumbprint, jti="another"))
    assert issued.runner_id == runner_id
