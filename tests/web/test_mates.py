"""Who asks beside others of the same organization, when no other organization asks."""

import asyncio

import httpx
import pytest

from teamvars import wiring
from teamvars.web.http import fair_slots
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.http.fair_slots import PRINCIPAL_SHARE
from tests.support.deployment import BASE
from tests.support.tenant import JSON_API, Tenant, variable_document
from tests.web.test_strangers import locked_by_another

COMPANY_SECONDS = 0.2
WRITERS = ("owner", "writer")


async def test_who_reads_is_not_kept_waiting_by_mates_who_wait_to_write(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_slots, "COMPANY_SECONDS", COMPANY_SECONDS)
    deployment, path = tenant.deployment, tenant.vars_path()
    routes = wiring.routes(deployment.services, deployment.keys)
    application = Application(routes, deployment.services.sessions, ClientAddresses())
    headers = {
        who: {"Authorization": f"Bearer {tenant.tokens[who]}", "Content-Type": JSON_API}
        for who in (*WRITERS, "reader")
    }
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        for who in headers:
            assert (await client.get(path, headers=headers[who])).status_code == 200
        await asyncio.sleep(2 * COMPANY_SECONDS)  # those were strangers
        async with locked_by_another(deployment):
            writes = [
                client.post(path, headers=headers[who], json=variable_document(key=f"{who}-{n}"))
                for n in range(PRINCIPAL_SHARE + 1)
                for who in WRITERS
            ]
            waiting = [asyncio.ensure_future(write) for write in writes]
            await asyncio.wait(waiting, timeout=COMPANY_SECONDS)
            read = await client.get(path, headers=headers["reader"])
            assert read.status_code == 200
            assert not any(task.done() for task in waiting), "the control waits"
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {201}
