"""Runners that were handed something, and what stands of it in the store."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.domain.deliveries import LastDelivery
from teamvars.protocol import encoded
from teamvars.storage import runners
from teamvars.storage.database import Transaction
from tests.console.visitors import Site
from tests.support.tenant import Tenant

DAY = 24 * 3600 * 1_000_000
RUN = "https://github.com/acme/network/actions/runs/7"


def machine_key() -> str:
    """The public key of a new machine."""
    return encoded(Ed25519PrivateKey.generate().public_key().public_bytes_raw())


async def propose(tenant: Tenant, name: str) -> str:
    """A runner of that name for `network`, which nobody has approved; returns its id."""
    ends = datetime.now(UTC) + timedelta(days=30)
    attributes = {
        "name": name,
        "public-key": machine_key(),
        "workspace-patterns": ["net*"],
        "expired-at": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
    }
    path = f"/organizations/{tenant.organization}/runners"
    document = {"data": {"type": "runners", "attributes": attributes}}
    answer = await tenant.call("owner", "POST", path, document)
    assert answer.is_success, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


async def hand_out(
    site: Site, tenant: Tenant, runner_id: str, days_ago: int, versions: Mapping[str, str]
) -> None:
    """`network` was handed to the runner so long ago."""
    at = time.time_ns() // 1000 - days_ago * DAY
    answer = await tenant.call("owner", "GET", f"/organizations/{tenant.organization}")
    owner_id = answer.json()["data"]["attributes"]["external-id"]
    place = runner_id, tenant.workspaces["network"], owner_id
    handed = runners.delivering(LastDelivery(*place, at, versions, RUN))

    async def body(tx: Transaction) -> None:
        await tx.execute(handed.sql, *handed.args)

    await site.served.services.database.write(body)
