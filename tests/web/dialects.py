"""The installation of a tenant, spoken to as HCP Terraform's clients do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from teamvars import wiring
from teamvars.web.dialects import TERRAFORM
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.deployment import MANY_INVITATIONS
from tests.support.in_process import InProcess
from tests.support.tenant import JSON_API, Tenant


@asynccontextmanager
async def terraform(tenant: Tenant, who: str = "owner") -> AsyncIterator[httpx.AsyncClient]:
    """A client with that caller's token, in the `terraform` dialect."""
    its, keys = tenant.deployment.services, tenant.deployment.keys
    quota = tenant.deployment.config.quota
    services = wiring.services(its.database, keys, quota, TERRAFORM, MANY_INVITATIONS)
    routes = wiring.routes(services, TERRAFORM)
    application = Application(
        routes, services.sessions, ClientAddresses(), TERRAFORM.ignored_includes
    )
    headers = {"Authorization": f"Bearer {tenant.tokens[who]}", "Content-Type": JSON_API}
    async with InProcess(application, headers=headers) as client:
        yield client
    await services.code.close()
