"""What a workspace holds at most: contract §4, `workspace_full`, on both engines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx

from teamvars import settings, wiring
from teamvars.domain.variable_sets import SetLimits
from teamvars.domain.workspaces import Quota
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.deployment import Deployment
from tests.support.in_process import InProcess
from tests.support.tenant import Tenant, faults, variable_document

FULL = ("422", "workspace_full", "/data")


@asynccontextmanager
async def limited(
    tenant: Tenant,
    variables: int | None,
    value_bytes: int | None,
    limits: SetLimits = SetLimits.of(),  # noqa: B008 - frozen
) -> AsyncIterator[Tenant]:
    """The same tenant, served with that quota, and those limits of sets."""
    deployment = tenant.deployment
    quota, setup = Quota(variables, value_bytes), wiring.Setup(limits=limits)
    services = wiring.services(deployment.services.database, deployment.keys, quota, setup=setup)
    application = Application(wiring.routes(services), services.sessions, ClientAddresses())
    async with InProcess(application) as client:
        yield replace(
            tenant, deployment=Deployment(deployment.config, deployment.keys, services, client)
        )


async def create(tenant: Tenant, key: str, value: str = "") -> httpx.Response:
    document = variable_document(key=key, value=value)
    return await tenant.call("writer", "POST", tenant.vars_path(), document)


async def update(tenant: Tenant, id_: str, **attributes: Any) -> httpx.Response:
    document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
    return await tenant.call("writer", "PATCH", f"{tenant.vars_path()}/{id_}", document)


async def test_a_workspace_holds_so_many_variables_and_no_more(tenant: Tenant) -> None:
    async with limited(tenant, 2, None) as tenant:
        first = (await create(tenant, "a")).json()["data"]
        assert (await create(tenant, "b")).status_code == 201
        refused = await create(tenant, "c")
        assert refused.status_code == 422
        assert faults(refused) == [FULL]
        path = f"{tenant.vars_path()}/{first['id']}"
        assert (await tenant.call("writer", "DELETE", path)).status_code == 204
        assert (await create(tenant, "c")).status_code == 201


async def test_a_full_workspace_can_still_be_changed(tenant: Tenant) -> None:
    async with limited(tenant, 1, 10) as tenant:
        made = (await create(tenant, "a", "0123456789")).json()["data"]
        assert (await update(tenant, made["id"], value="9876543210")).status_code == 200
        assert (await update(tenant, made["id"], key="b")).status_code == 200


async def test_each_workspace_counts_for_itself(tenant: Tenant) -> None:
    async with limited(tenant, 1, None) as tenant:
        assert (await create(tenant, "a")).status_code == 201
        path = tenant.vars_path("payments")
        answer = await tenant.call("owner", "POST", path, variable_document())
        assert answer.status_code == 201


async def test_a_workspace_holds_so_many_bytes_of_values_and_no_more(tenant: Tenant) -> None:
    async with limited(tenant, None, 10) as tenant:
        made = (await create(tenant, "a", "é" * 4)).json()["data"]
        assert faults(await create(tenant, "b", "123")) == [FULL]
        assert (await create(tenant, "b", "12")).status_code == 201
        assert faults(await update(tenant, made["id"], value="é" * 4 + "x")) == [FULL]
        assert (await update(tenant, made["id"], value="x" * 7)).status_code == 200
        assert (await create(tenant, "c", "z")).status_code == 201
        assert faults(await create(tenant, "d", "z")) == [FULL]
        assert (await create(tenant, "d", "")).status_code == 201


async def test_sensitive_values_count_alike(tenant: Tenant) -> None:
    async with limited(tenant, None, 10) as tenant:
        made = (await create(tenant, "a", "12345")).json()["data"]
        assert (await update(tenant, made["id"], sensitive=True)).status_code == 200
        assert faults(await create(tenant, "b", "123456")) == [FULL]
        assert (await update(tenant, made["id"], value="1234")).status_code == 200
        assert (await create(tenant, "b", "123456")).status_code == 201


async def test_what_is_deleted_counts_no_more(tenant: Tenant) -> None:
    async with limited(tenant, None, 5) as tenant:
        made = (await create(tenant, "a", "12345")).json()["data"]
        await tenant.call("writer", "DELETE", f"{tenant.vars_path()}/{made['id']}")
        assert (await create(tenant, "b", "12345")).status_code == 201


async def test_both_limits_and_other_faults_come_together(tenant: Tenant) -> None:
    async with limited(tenant, 0, 2) as tenant:
        refused = await create(tenant, "a b", "123")
        expected = ("422", "invalid_value", "/data/attributes/key")
        assert faults(refused) == [FULL, FULL, expected]


async def test_a_workspace_that_is_too_full_by_a_new_limit_may_still_shrink(tenant: Tenant) -> None:
    async with limited(tenant, None, None) as generous:
        made = (await create(generous, "a", "123456789")).json()["data"]
        assert (await create(generous, "b", "123456789")).status_code == 201
    async with limited(tenant, 1, 5) as tenant:
        assert (await update(tenant, made["id"], value="12345678")).status_code == 200
        assert faults(await update(tenant, made["id"], value="123456789")) == [FULL]
        path = f"{tenant.vars_path()}/{made['id']}"
        assert (await tenant.call("writer", "DELETE", path)).status_code == 204


def test_zero_lifts_both_limits() -> None:
    assert settings.load(max_variables=0).quota == Quota(None, None)
    assert settings.load().quota == Quota(5000, 16 * 1024 * 1024)
    assert settings.load(max_variables=7).quota == Quota(7, 16 * 1024 * 1024)


async def test_without_limits_more_fits_than_with_them(tenant: Tenant) -> None:
    async with limited(tenant, 1, 1) as narrow:
        assert faults(await create(narrow, "a", "12")) == [FULL]
    async with limited(tenant, None, None) as wide:
        assert (await create(wide, "a", "12")).status_code == 201
        assert (await create(wide, "b", "12")).status_code == 201
