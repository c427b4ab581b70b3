"""A deployment that is served for real: its HTTP goes through a socket to `teamvars serve`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

import httpx

from teamvars import settings, wiring
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from tests.support.commands import Host
from tests.support.deployment import Deployment, in_process
from tests.support.patience import HANGS
from tests.support.server import Server


@dataclass(frozen=True)
class ServedDeployment(Deployment):
    """`services` work on the server's own store, from this process; `client` speaks to `server`."""

    host: Host
    server: Server

    @cached_property
    def near(self) -> Deployment:
        """The same store, asked without a socket: for what a test only prepares."""
        client = in_process(self.services, self.config)
        return Deployment(self.config, self.keys, self.services, client)


@asynccontextmanager
async def serve_deployment(
    host: Host, *options: object, is_public: bool = False
) -> AsyncIterator[ServedDeployment]:
    """Makes an installation on the host and serves it, with the options of `serve`; `is_public`:
    where it knows its public address.
    """
    async with prepare_deployment(host, *options) as prepared:
        if is_public:
            prepared.server.host = host.having(public_url=prepared.server.url)
        with prepared.server:
            yield prepared


@asynccontextmanager
async def prepare_deployment(host: Host, *options: object) -> AsyncIterator[ServedDeployment]:
    """The same before it is served: for what is prepared in the store, or set of the server."""
    host.succeed("init")
    keys = keyring.load(host.data / "keyring.json")
    config = settings.load(
        data_dir=host.data,
        database_url=host.settings.get("DATABASE_URL"),
    )
    async with database_for(config.url) as database:
        server = Server(host, *options)
        async with httpx.AsyncClient(
            base_url=f"{server.url}/api/v2", timeout=HANGS, verify=server.trust
        ) as client:
            services = wiring.services(database, keys, config.quota)
            yield ServedDeployment(config, keys, services, client, host, server)
            await services.code.close()
