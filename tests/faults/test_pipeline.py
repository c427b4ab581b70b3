"""The pipeline of docs/api.md ends in the right state, whenever the server is killed under it."""

import asyncio
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.server_under_load import on_postgres
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import Tenant, build_tenant
from tests.test_documents import ROOT
from tests.test_first_start import blocks

VARIABLES = 400
LATEST_KILL_SECONDS = 0.4
"""After the pipeline began: by then it has ended, on a machine that does nothing else."""


@pytest.fixture(params=["sqlite", "postgres"])
async def killed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ServedDeployment]:
    """A server that may be killed."""
    host = Host(tmp_path)
    if request.param == "postgres":
        host = on_postgres(request.getfixturevalue("durable"), tmp_path)
    async with serve_deployment(host) as served:
        yield served


def pipeline(tenant: Tenant, url: str, folder: Path, run: str) -> subprocess.Popen[str]:
    """The block of the document, begun."""
    (shell,) = blocks(ROOT / "docs/api.md", "pipeline")
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "API": f"{url}/api/v2",
        "TOKEN": tenant.tokens["writer"],
        "WORKSPACE": tenant.workspaces["network"],
        "RUN": run,
    }
    return subprocess.Popen(
        ["/usr/bin/env", "bash", "-c", shell],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def run_and_kill(served: ServedDeployment, rounds: int, folder: Path) -> int:
    """Runs it with another file each time; returns in how many rounds the server was killed before
    it had ended.
    """
    chance, tenant, cut = random.Random(rounds), await build_tenant(served), 0
    for number in range(rounds):
        wanted = {f"key_{n}": f"value {n} of run {number}" for n in range(VARIABLES)}
        lines = [f'{key} = "{value}"\n' for key, value in wanted.items()]
        (folder / "prod.tfvars").write_text("".join(lines))
        begun = pipeline(tenant, served.server.url, folder, f"run-{number}")
        await asyncio.sleep(chance.uniform(0.05, LATEST_KILL_SECONDS))
        cut += begun.poll() is None
        served.server.kill()
        served.server.start()
        out, err = begun.communicate(timeout=HANGS)
        assert begun.returncode == 0, out + err
        found = await tenant.variables()
        assert {v["attributes"]["key"]: v["attributes"]["value"] for v in found} == wanted
        trail = await served.services.audit.newest(10 * VARIABLES * (number + 1))
        about = [entry for entry in trail if entry.stream_id == tenant.workspaces["network"]]
        changes = [entry for entry in about if entry.action.startswith("variable.")]
        assert len(changes) == VARIABLES * (number + 1), "each run has changed each variable once"
    assert (await served.services.audit.verify())[1] == []
    return cut


async def test_the_pipeline_of_the_documents_survives_the_server(
    killed: ServedDeployment, tmp_path: Path
) -> None:
    await run_and_kill(killed, 2, tmp_path)


@pytest.mark.long
async def test_it_does_so_whenever_the_server_is_killed(
    killed: ServedDeployment, tmp_path: Path
) -> None:
    assert await run_and_kill(killed, 25, tmp_path) >= 5
