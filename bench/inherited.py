"""What it costs the process to list what a workspace gets, beside a list of variables of its own:
`.venv/bin/python -m bench.inherited [PostgreSQL]`.

The application is called without a server, and the requests take turns. A figure is the processor's
µs of the thread that serves, of which a quarter of the turns took less. `not kept`: no list is, as
of a workspace that was changed since it was last listed; but of its sets the rows are in memory,
since other workspaces have the same.
"""

import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import uvloop

from bench.changes import answered, send
from teamvars import wiring
from tests.support.deployment import open_deployment
from tests.support.postgres import LocalPostgres
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document

TURNS = 300
RATIOS = (
    ("all-vars of 20 own and three sets of the same 20", "all-vars, 20 count", "vars of 20"),
    ("all-vars of 20 own and three sets of 20 others", "all-vars, 80 count", "vars of 20"),
    ("the same beside a list of all 80", "all-vars, 80 count", "vars of 80"),
    ("effective-vars of 200 keys", "effective-vars of 200", "vars of 200"),
)


async def _made(tenant: Tenant, kind: str, said: object) -> str:
    answer = await send(tenant, ("POST", f"/organizations/{tenant.organization}/{kind}", said))
    return str(answer["data"]["id"])


async def _workspace(tenant: Tenant, name: str, keys: range) -> str:
    said = {"data": {"type": "workspaces", "attributes": {"name": name}}}
    id_ = await _made(tenant, "workspaces", said)
    await _fill(tenant, f"/workspaces/{id_}/vars", keys)
    return id_


async def _set(tenant: Tenant, name: str, workspace_id: str, keys: range) -> None:
    attached = {"workspaces": linkage_document(workspace_id, type_="workspaces")}
    data = {"type": "varsets", "attributes": {"name": name}, "relationships": attached}
    id_ = await _made(tenant, "varsets", {"data": data})
    await _fill(tenant, f"/varsets/{id_}/relationships/vars", keys)


async def _fill(tenant: Tenant, path: str, keys: range) -> None:
    for n in keys:
        await send(tenant, ("POST", path, variable_document(key=f"key_{n:04}", value="v" * 20)))


async def _paths(tenant: Tenant) -> dict[str, str]:
    """What is asked for, by its name in `RATIOS`."""
    asked = {}
    for size in (20, 80, 200):
        id_ = await _workspace(tenant, f"alone-{size}", range(size))
        asked[f"vars of {size}"] = f"/workspaces/{id_}/vars"
    same, others, many = [await _workspace(tenant, name, range(20)) for name in ("a", "b", "c")]
    for n in range(3):
        await _set(tenant, f"same-{n}", same, range(20))
        await _set(tenant, f"other-{n}", others, range(20 * n + 20, 20 * n + 40))
        await _set(tenant, f"many-{n}", many, range(60 * n + 20, 60 * n + 80))
    asked["all-vars, 20 count"] = f"/workspaces/{same}/all-vars"
    asked["all-vars, 80 count"] = f"/workspaces/{others}/all-vars"
    asked["effective-vars of 200"] = f"/workspaces/{many}/effective-vars"
    return asked


async def measured(url: str, cache_mib: int) -> dict[str, float]:
    """The processor's µs of each request, with so much room for lists."""
    setup = wiring.Setup(invitations_a_day=100_000, cache_mib=cache_mib)
    async with open_deployment(url, setup=setup) as deployment:
        tenant = await build_tenant(deployment)
        asked = await _paths(tenant)
        told: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(TURNS):
            for name, path in asked.items():
                begun = time.thread_time()
                await answered(tenant, ("GET", path, None))
                told[name].append((time.thread_time() - begun) * 1e6)
        return {name: statistics.quantiles(each, n=4)[0] for name, each in told.items()}


def main() -> None:
    """Prints a line for each ratio."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(LocalPostgres()) if sys.argv[1:] else None
        for kept, cache_mib in (("kept", 64), ("not kept", 0)):
            if postgres is None:
                url = f"sqlite:///{folder}/{cache_mib}.db"
            else:
                postgres.create_database(f"of_{cache_mib}")
                url = postgres.url(f"of_{cache_mib}")
            found = uvloop.run(measured(url, cache_mib))
            for said, one, other in RATIOS:
                ratio = found[one] / found[other]
                print(f"{kept:10}{said:52}{found[one]:8.0f}{found[other]:8.0f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
