"""A store that has organizations in it: a copy takes less than to make them in each."""

from collections.abc import Sequence
from dataclasses import dataclass

from teamvars.security.keyring import Keyring
from tests.support.deployment import open_deployment
from tests.support.tenant import Tenant, build_tenant

_TENANTS = 12
"""As many as most modules need; others make more."""


@dataclass(frozen=True)
class Furnished:
    """What is in such a store: tenants, one for a test each, and the keys of its installation."""

    keys: Keyring
    tenants: Sequence[Tenant]


async def furnish(url: str) -> Furnished:
    """Makes an installation in a store, and tenants."""
    async with open_deployment(url) as deployment:
        tenants = [await build_tenant(deployment) for _ in range(_TENANTS)]
        return Furnished(deployment.keys, tenants)
