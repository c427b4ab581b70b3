"""The console of a server where people sign in with a provider of others."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.console.visitors import Site
from tests.support.commands import Host
from tests.support.deployment import operator
from tests.support.openid_provider import Provider, provider
from tests.support.served_deployment import prepare_deployment
from tests.support.tenant import Tenant, build_tenant

LINKED = ("writer", "reader", "outsider")
"""Users who are linked with the accounts of these names."""


@dataclass(frozen=True)
class Provided:
    """The console, and the tenant whose organization the provider, `Example`, speaks for."""

    site: Site
    tenant: Tenant


@asynccontextmanager
async def provided(folder: Path, **more: object) -> AsyncIterator[Provided]:
    """One on SQLite, with `more` settings, while this lasts."""
    with provider(folder) as running, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(running.authority))
        host = Host(folder).having(log_format="json")
        async with prepare_deployment(host) as served:
            tenant = await build_tenant(served)
            for who in LINKED:
                await served.services.accounts.link(operator(), tenant.users[who], running.url, who)
            (folder / "secret").write_text("any that the provider takes\n")
            company = _said(running, tenant) | {"client_secret_file": str(folder / "secret")}
            providers = json.dumps({"company": company})
            served.server.host = host.having(
                **{"public_url": served.server.url, "providers": providers, **more}
            )
            with served.server:
                yield Provided(Site(served, "tool"), tenant)


def _said(running: Provider, tenant: Tenant) -> dict[str, object]:
    """What the operator says of the provider."""
    return {
        "title": "Example",
        "issuer": running.url,
        "client_id": "teamvars",
        "organizations": [tenant.organization],
    }
