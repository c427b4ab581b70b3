"""Tokens as known issuers document them lead to values, where a runner means that very job."""

from collections.abc import AsyncIterator

import pytest

from teamvars import wiring
from teamvars.domain.access import Caller
from teamvars.domain.deliveries import ReceiptSearch
from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page
from teamvars.security.tokens import hash_token
from tests.services.documented_tokens import EVERY, ISSUERS, KUBERNETES, Documented
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import Deployment, open_deployment
from tests.support.jobs import SERVICE
from tests.support.tenant import Tenant, build_tenant


@pytest.fixture(scope="module")
async def deployment(modules_url: str) -> AsyncIterator[Deployment]:
    """An installation whose operator accepts all of these issuers."""
    setup = wiring.Setup(issuers=ISSUERS, service=SERVICE)
    async with open_deployment(modules_url, setup=setup) as deployment:
        yield deployment


@pytest.fixture
async def tenant(deployment: Deployment) -> Tenant:
    """An organization of this test's own, with a variable."""
    made = await build_tenant(deployment)
    await made.make_variable("region", value="eu")
    return made


async def approved(tenant: Tenant, one: Documented, **more: object) -> None:
    """A runner of the issuer's job."""
    await approve(
        tenant,
        await propose(tenant, issuer=one.issuer, conditions=dict(one.conditions), **more),
    )


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.issuer)
async def test_a_token_as_it_is_documented_is_good_for_the_job_that_it_names(
    tenant: Tenant, one: Documented
) -> None:
    await approved(tenant, one)
    job = Job.new(tenant)
    audience = f"{SERVICE}#{job.key.thumbprint}"
    with pytest.raises(Refusal):
        await job.exchange(one.token(audience, **one.another))
    # A list of one audience is one, as clusters say it.
    said = [audience] if one is KUBERNETES else audience
    _, values = await job.deliver(await job.exchange(one.token(said)))
    assert [value.key for value in values] == ["region"]
    owner = Caller(hash_token(tenant.tokens["owner"]), new_id("req"))
    deliveries = tenant.deployment.services.deliveries
    found = await deliveries.receipts(owner, tenant.organization, ReceiptSearch(), Page())
    assert [each.receipt.delivery.run_link for each in found.items] == [one.link]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.issuer)
async def test_a_token_whose_audience_is_the_service_is_good_where_a_runner_takes_it_unbound(
    tenant: Tenant, one: Documented
) -> None:
    await approved(tenant, one)
    job = Job.new(tenant)
    with pytest.raises(Refusal):
        await job.exchange(one.token(SERVICE), thumbprint=job.key.thumbprint)
    await approved(tenant, one, name="unbound", allow_unbound=True)
    issued = await job.exchange(one.token(SERVICE), thumbprint=job.key.thumbprint)
    _, values = await job.deliver(issued)
    assert [value.key for value in values] == ["region"]
