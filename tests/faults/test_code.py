"""A server whose callers send code that takes long, and the process it has for that."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support.commands import Host
from tests.support.processes import (
    children,
    command,
    environment,
    parent_of,
    processor_ticks,
    wait_until_gone,
)
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.server import Server
from tests.support.tenant import Tenant, build_tenant

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

LONG = "[" + "1," * 40_000 + "]"
LONGEST = "[" + "1," * 131_000 + "]"
WRITERS = ("owner", "writer", "owners-token", "writers-token", "organization-token")


async def check_value(tenant: Tenant, value: str, who: str = "writer") -> httpx.Response:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/check-value"
    attributes: dict[str, Any] = {"value": value, "hcl": True}
    document = {"data": {"type": "value-checks", "attributes": attributes}}
    return await tenant.call(who, "POST", path, document)


def process_of(server: Server) -> int:
    """The process that the server's one worker has for code."""
    (found,) = [
        pid
        for worker in children(server.pid, "")
        for pid in children(worker, "services.code.child")
    ]
    return found


async def test_a_worker_leaves_the_work_to_its_process(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    await check_value(served_tenant, "[for a in [1] : a]")
    process = process_of(served.server)
    worker = parent_of(process)
    before = processor_ticks(worker), processor_ticks(process)
    for _ in range(3):
        assert (await check_value(served_tenant, LONG)).status_code == 200
    spent = processor_ticks(worker) - before[0]
    assert processor_ticks(process_of(served.server)) - before[1] > 4 * spent


async def test_readers_go_on_beside_sixteen_who_send_the_longest_code(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    await check_value(served_tenant, "[for a in [1] : a]")
    answered: list[str] = []

    async def send(number: int) -> None:
        answer = await check_value(served_tenant, LONGEST, WRITERS[number % len(WRITERS)])
        if answer.status_code != 429:
            answered.append("code")

    senders = [asyncio.ensure_future(send(number)) for number in range(16)]
    for _ in range(10):
        found = await served_tenant.call("reader", "GET", served_tenant.vars_path())
        assert found.status_code == 200
        answered.append("list")
    assert "code" not in answered
    os.kill(process_of(served.server), signal.SIGKILL)  # so that the test need not wait for all
    await asyncio.gather(*senders)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_the_process_never_outlives_its_worker_and_nothing_of_the_code_is_anywhere(
    tmp_path: Path, end: signal.Signals
) -> None:
    secret = f"secret-{uuid4().hex}"
    async with serve_deployment(Host(tmp_path).having(log_format="json")) as deployment:
        tenant = await build_tenant(deployment)
        code = f'[for a in ["{secret}"] : a]'
        assert secret in (await check_value(tenant, code)).text
        await check_value(tenant, f'"{secret}" ]' + " " * 5_000)
        process = process_of(deployment.server)
        assert secret not in command(process) + environment(process)
        assert "TEAMVARS" not in environment(process)
        os.kill(parent_of(process), end)
        wait_until_gone(process)
        assert secret not in deployment.server.log
