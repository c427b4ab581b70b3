"""What is attacked: a server as `serve` comes, and an organization worth attacking."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.security.tokens import new_token
from teamvars.services.directory_files.files import Options
from teamvars.services.tokens import OwnerName
from tests.faults.hostile.bystander import Bystander, Pulse, bystander
from tests.support.commands import Host
from tests.support.deployment import operator
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import ACTIVE, JSON_API, Tenant, build_tenant, variable_document

LISTED = 20
"""Variables in the list that the bystander reads."""

CROWD = 64

_TO_SETTLE_SECONDS = 0.5
_QUIET_SECONDS = 2.0
_HEAVY_VALUES = 60
_HEAVY_VALUE = "\u0001" * 262_000


@dataclass(frozen=True)
class Crowd:
    """Many workspaces, and who may write in all of them."""

    workspaces: Sequence[str]
    token: str


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
async def target(host: Host, engine: str) -> AsyncIterator[Target]:
    """Makes the installation of the host, serves it and fills it."""
    async with serve_deployment(host.having(log_format="json")) as served:
        tenant = await build_tenant(served)
        made = [await tenant.make_variable(f"key_{n:02}") for n in range(LISTED)]
        await _fill(tenant, "payments")
        crowd = await _crowd(served)
        listed, heavy = (f"/api/v2{tenant.vars_path(name)}" for name in ("network", "payments"))
        variable = f"{listed}/{made[0]['id']}"
        with bystander(served.server.port, tenant.tokens["owner"], listed, variable) as beside:
            await asyncio.sleep(_TO_SETTLE_SECONDS)
            beside.pulse()
            await asyncio.sleep(_QUIET_SECONDS)
            quiet = beside.pulse()
            yield Target(engine, served, tenant, beside, quiet, variable, heavy, crowd)


async def _fill(tenant: Tenant, workspace: str) -> None:
    """As many bytes of values as a workspace may hold, and of those that are longest in JSON."""
    for n in range(_HEAVY_VALUES):
        document = variable_document(key=f"key_{n:02}", value=_HEAVY_VALUE)
        answer = await tenant.call("owner", "POST", tenant.vars_path(workspace), document)
        assert answer.status_code == 201, answer.text


async def _crowd(served: ServedDeployment) -> Crowd:
    mark = secrets.token_hex(6)
    name, username = f"crowd-{mark}", f"foreman-{mark}"
    organization = OrganizationEntry(
        name,
        {username: ACTIVE},
        tuple(f"site-{n:02}" for n in range(CROWD)),
        (TeamEntry("owners", members=(username,)),),
    )
    directory = Directory((UserEntry(username, f"{username}@example.com"),), (organization,))
    applied = await served.services.directory.apply(operator(), directory, Options())
    token = await served.services.tokens.create(operator(), OwnerName(user=username), None)
    return Crowd(list(applied.organizations[name].workspaces.values()), token.secret)


def document(**attributes: object) -> bytes:
    """The bytes of a document that creates a variable."""
    return json.dumps(variable_document(**attributes)).encode()
