"""An installation for tests: real services on a real store, and HTTP without a socket."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import apsw
import httpx
import pytest

from teamvars import settings, wiring
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.ids import new_id
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.services.invitations import Issued
from teamvars.settings import Settings
from teamvars.storage.database import Database, Row, Transaction
from teamvars.storage.engines import database_for
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application, ASGIApp
from tests.support.in_process import InProcess
from tests.support.jobs import ISSUERS, SERVICE


@dataclass(frozen=True)
class Deployment:
    """A running installation. `client` speaks HTTP to its application in this process."""

    config: Settings
    keys: Keyring
    services: wiring.Services
    client: httpx.AsyncClient

    async def audit_holds(self) -> bool:
        """Whether every stream of the installation verifies."""
        _, breaks = await self.services.audit.verify()
        return not breaks

    async def execute(self, statement: str, *args: object) -> None:
        """Runs a statement on the store behind the service's back."""
        await self.services.database.write(lambda tx: tx.execute(statement, *args))

    async def alter(self, statement: str) -> Sequence[Row]:
        """The same, whatever refers to what it changes; its rows."""
        if self.config.url.startswith("sqlite"):
            connection = apsw.Connection(self.config.url.removeprefix("sqlite:///"))
            rows = connection.execute(statement.format(bytes="BLOB")).fetchall()
            connection.close()
            return rows

        async def body(tx: Transaction) -> Sequence[Row]:
            await tx.execute("SET LOCAL session_replication_role = replica")
            return await tx.fetch(statement)

        return await self.services.database.write(body)


MANY_INVITATIONS = wiring.Setup(
    invitations_a_day=100_000, issuers=ISSUERS, service=SERVICE, approving=SERVICE
)


@asynccontextmanager
async def open_deployment(
    url: str,
    *,
    quota: Quota | None = None,
    keys: Keyring | None = None,
    setup: wiring.Setup = MANY_INVITATIONS,
    watch: Callable[[Database], None] | None = None,
) -> AsyncIterator[Deployment]:
    """Migrates and initialises the store and serves it, with a new keyring unless one is given.

    `watch` is given the store before anything else is.
    """
    config = settings.load(database_url=url, trusted_proxies="192.0.2.0/24")
    keys = keys or keyring.generate()
    async with database_for(url, create=True) as database:
        if watch is not None:
            watch(database)
        services = wiring.services(database, keys, quota or config.quota, setup=setup)
        await services.installation.migrate()
        await services.installation.initialise(keys, operator())
        yield Deployment(config, keys, services, in_process(services, config))
        await services.code.close()


def in_process(services: wiring.Services, config: Settings) -> InProcess:
    """Who asks these services over HTTP, without a socket."""
    addresses = ClientAddresses(config.trusted_proxies)
    return InProcess(Application(wiring.routes(services), services.sessions, addresses))


@asynccontextmanager
async def started(application: ASGIApp) -> AsyncIterator[None]:
    """What a worker runs, begun and ended as its server does that."""
    messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def send(_: object) -> None:
        return

    with pytest.MonkeyPatch.context() as patched:
        for name in ("freeze", "set_threshold"):  # this process goes on to other tests
            patched.setattr(gc, name, lambda *_: None)
        lives = asyncio.ensure_future(application({"type": "lifespan"}, messages.get, send))
        messages.put_nowait({"type": "lifespan.startup"})
        yield
        messages.put_nowait({"type": "lifespan.shutdown"})
        await lives


def operator() -> Caller:
    """Whoever prepares a test."""
    return Caller(b"", new_id("req"), Actor.operator("tester"))


def secret_of(issued: Issued) -> str:
    """The secret of a link that an operator was shown."""
    assert issued.link is not None
    return issued.link.partition("#")[2]
