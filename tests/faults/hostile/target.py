"""What is attacked: a server as `serve` comes, and an organization worth attacking."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from teamvars.security.tokens import new_token
from tests.faults.hostile.bystander import READERS, Bystander, Pulse, bystander
from tests.faults.hostile.crowd import Crowd, crowd
from tests.support.commands import Host
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import JSON_API, Tenant, build_tenant, variable_document

LISTED = 20
"""Variables in the list that the bystander reads."""

_TO_SETTLE_SECONDS = 0.5
_QUIET_SECONDS = 2.0
_HEAVY_VALUES = 60
_HEAVY_VALUE = "\u0001" * 262_000


@dataclass(frozen=True)
class Target:
    """A server under attack. `quiet` is how a bystander fares while nothing else is asked.

    `heavy` is the path of a list of 94 MB, whose values keep the quota.
    """

    engine: str
    served: ServedDeployment
    tenant: Tenant
    bystander: Bystander
    quiet: Pulse
    variable: str
    heavy: str
    crowd: Crowd

    @property
    def port(self) -> int:
        """Where the server listens."""
        return self.served.server.port

    @property
    def vars(self) -> str:
        """The list that the bystander reads."""
        return f"/api/v2{self.tenant.vars_path()}"

    @property
    def owner(self) -> str:
        """A token that may do everything here."""
        return self.tenant.tokens["owner"]

    @property
    def mate(self) -> str:
        """A token that may do as much, of another principal."""
        return self.tenant.tokens["organization-token"]

    @property
    def foreigner(self) -> str:
        """A token of another organization."""
        return self.tenant.tokens["other-organization-token"]

    def request(
        self, method: str, path: str, token: str | None, body: bytes = b"", announced: int = 0
    ) -> bytes:
        """A request; `announced` is the length it says its body has, when that is another."""
        length = announced or len(body)
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: x",
            *([] if token is None else [f"Authorization: Bearer {token}"]),
            *([f"Content-Type: {JSON_API}", f"Content-Length: {length}"] if length else []),
        ]
        return "".join(f"{line}\r\n" for line in [*head, ""]).encode() + body


def forged() -> str:
    """A token of the right form that nobody has."""
    return new_token("user")


@asynccontextmanager
async def target(host: Host, engine: str, readers: int = READERS) -> AsyncIterator[Target]:
    """Makes the installation of the host, serves it and fills it. So many readers stand by."""
    async with serve_deployment(host.having(log_format="json")) as served:
        tenant = await build_tenant(served)
        made = [await tenant.make_variable(f"key_{n:02}") for n in range(LISTED)]
        await _fill(tenant, "payments")
        made_crowd = await crowd(served)
        listed, heavy = (f"/api/v2{tenant.vars_path(name)}" for name in ("network", "payments"))
        variable = f"{listed}/{made[0]['id']}"
        port, token = served.server.port, tenant.tokens["owner"]
        with bystander(port, token, listed, variable, readers) as beside:
            await asyncio.sleep(_TO_SETTLE_SECONDS)
            beside.pulse()
            await asyncio.sleep(_QUIET_SECONDS)
            quiet = beside.pulse()
            yield Target(engine, served, tenant, beside, quiet, variable, heavy, made_crowd)


async def _fill(tenant: Tenant, workspace: str) -> None:
    """As many bytes of values as a workspace may hold, and of those that are longest in JSON."""
    for n in range(_HEAVY_VALUES):
        document = variable_document(key=f"key_{n:02}", value=_HEAVY_VALUE)
        answer = await tenant.call("owner", "POST", tenant.vars_path(workspace), document)
        assert answer.status_code == 201, answer.text


def document(**attributes: object) -> bytes:
    """The bytes of a document that creates a variable."""
    return json.dumps(variable_document(**attributes)).encode()
