"""Jobs of an issuer that tests have the key of: what they say, and what they are handed."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from joserfc import jws
from joserfc.jwk import ECKey

from teamvars.services.issuers import Issuer

SERVICE = "https://vars.example.org"
ISSUER = "https://ci.example.org"
_KEY = ECKey.generate_key("P-256", {"kid": "ci"})
ISSUERS = (Issuer(ISSUER, json.dumps({"keys": [_KEY.as_dict(private=False)]}).encode()),)


def runner_document(*workspace_ids: str, **attributes: object) -> dict[str, Any]:
    """A runner of the issuer's jobs in those workspaces, for a day; None: without that attribute.

    The names of attributes are those on the wire, with `_` for `-`.
    """
    ends = datetime.now(UTC) + timedelta(days=1)
    said = {
        "name": uuid4().hex,
        "issuer": ISSUER,
        "conditions": {"sub": "job"},
        "expired_at": ends.isoformat(),
        **attributes,
    }
    wire = {name.replace("_", "-"): value for name, value in said.items() if value is not None}
    data: dict[str, Any] = {"type": "runners", "attributes": wire}
    if workspace_ids:
        named = [{"type": "workspaces", "id": id_} for id_ in workspace_ids]
        data["relationships"] = {"workspaces": {"data": named}}
    return {"data": data}


def job_token(
    thumbprint: str | None, *, key: ECKey = _KEY, issuer: str = ISSUER, **claims: object
) -> str:
    """What the issuer says of a job, for the key with that thumbprint; None: for none."""
    now = int(time.time())
    said: Mapping[str, object] = {
        "iss": issuer,
        "aud": SERVICE if thumbprint is None else f"{SERVICE}#{thumbprint}",
        "sub": "job",
        "iat": now,
        "exp": now + 300,
        "jti": str(uuid4()),
        **claims,
    }
    head = {"alg": "ES256", "kid": key.kid}
    signing = f"{_part(head)}.{_part({k: v for k, v in said.items() if v is not None})}"
    signature = jws.default_registry.algorithms["ES256"].sign(signing.encode(), key)
    return f"{signing}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _part(said: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=").decode()
