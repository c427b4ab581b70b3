"""The installation of a world, spoken to as HCP Terraform's clients do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from teamvars import wiring
from teamvars.web.dialects import TERRAFORM
from teamvars.web.http.app import Application
from tests.house import BASE
from tests.world import JSON_API, World


@asynccontextmanager
async def terraform(world: World, who: str = "owner") -> AsyncIterator[httpx.AsyncClient]:
    """A client with that caller's token, in the `terraform` dialect."""
    house = world.house
    routes = wiring.routes(house.services, house.keys, TERRAFORM)
    application = Application(routes, house.services.sessions, [], TERRAFORM.ignored_includes)
    transport = httpx.ASGITransport(application)
    headers = {"Authorization": f"Bearer {world.tokens[who]}", "Content-Type": JSON_API}
    async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client:
        yield client
