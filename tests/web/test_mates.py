"""Who asks beside others of the same organization, when no other organization asks."""

import asyncio

import pytest

from teamvars import fair_slots, wiring
from teamvars.fair_slots import PRINCIPAL_SHARE, FairSlots, Party
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.in_process import InProcess
from tests.support.patience import HANGS
from tests.support.tenant import JSON_API, Tenant, variable_document
from tests.web.test_strangers import locked_by_another

WRITERS = ("owner", "writer")


async def test_who_reads_is_not_kept_waiting_by_mates_who_wait_to_write(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment, path = tenant.deployment, tenant.vars_path()
    routes = wiring.routes(deployment.services)
    application = Application(routes, deployment.services.sessions, ClientAddresses())
    headers = {
        who: {"Authorization": f"Bearer {tenant.tokens[who]}", "Content-Type": JSON_API}
        for who in (*WRITERS, "reader")
    }
    async with InProcess(application) as client:
        monkeypatch.setattr(fair_slots, "COMPANY_SECONDS", 0)
        for who in (*headers, *headers):  # at first they are strangers, and then mates
            assert (await client.get(path, headers=headers[who])).status_code == 200
        # From now on nobody is alone, except for all of them together.
        monkeypatch.setattr(fair_slots, "COMPANY_SECONDS", HANGS)
        queueing = noted_queueing(monkeypatch)
        async with locked_by_another(deployment), asyncio.timeout(HANGS):
            writes = [
                client.post(path, headers=headers[who], json=variable_document(key=f"{who}-{n}"))
                for n in range(PRINCIPAL_SHARE + 1)
                for who in WRITERS
            ]
            waiting = [asyncio.ensure_future(write) for write in writes]
            for _ in WRITERS:  # all the others have a slot, and wait for the lock
                await queueing.acquire()
            read = await client.get(path, headers=headers["reader"])
            assert read.status_code == 200
            assert not any(task.done() for task in waiting), "the control waits"
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {201}


def noted_queueing(monkeypatch: pytest.MonkeyPatch) -> asyncio.Semaphore:
    """Released by each request that has to wait for a slot."""
    queueing, wait = asyncio.Semaphore(0), FairSlots.wait

    async def noted(slots: FairSlots, party: Party) -> None:
        queueing.release()
        await wait(slots, party)

    monkeypatch.setattr(FairSlots, "wait", noted)
    return queueing
