"""What lists, creates and searches cost through PgBouncer: `.venv/bin/python -m bench.poolers`.

Directly, and in each mode, in turns and with 16 requests under way at once, without the server: for
each the medians of the requests a second and of the processor's µs of this process for one.
`TEAMVARS_TEST_PGBOUNCER` names another program than Debian's.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import structlog
import uvloop

from bench.changes import Request, answered, creates, lists
from teamvars import wiring
from teamvars.domain.diagnosis import Pooler
from teamvars.storage.engines import database_for
from tests.support.deployment import Deployment, in_process, open_deployment
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.tenant import Tenant, build_tenant

AT_ONCE = 16


async def searches(tenant: Tenant, number: int, _: int) -> list[Request]:
    """Each is for a key that every workspace may have."""
    name = tenant.organization
    return [("GET", f"/organizations/{name}/vars?filter%5Bkey%5D=key_*", None)] * number


WORKS = {"list": lists, "search": searches, "create": creates}


@asynccontextmanager
async def serving(url: str, tenant: Tenant) -> AsyncIterator[Tenant]:
    """The tenant of a node that reaches its store so."""
    made = tenant.deployment
    async with database_for(url, statement_seconds=60.0) as database:
        services = wiring.services(database, made.keys, made.config.quota)
        node = Deployment(made.config, made.keys, services, in_process(services, made.config))
        yield replace(tenant, deployment=node)
        await services.code.close()


async def timed(tenant: Tenant, requests: Sequence[Request]) -> tuple[float, float]:
    """Requests a second, and the processor's µs for one."""
    waiting = iter(requests)

    async def send() -> None:
        for request in waiting:
            await answered(tenant, request)

    wall, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*(send() for _ in range(AT_ONCE)))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return len(requests) / wall, processor / len(requests) * 1e6


async def measure(server: Postgres, rounds: int, number: int) -> None:
    """Prints a line for each kind of request and way to the server."""
    server.create_database("poolers")
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    async with AsyncExitStack() as stack:
        deployment = await stack.enter_async_context(open_deployment(server.url("poolers")))
        tenant = await build_tenant(deployment)
        urls = {Pooler.NONE: server.url("poolers")}
        for mode in (Pooler.SESSION, Pooler.TRANSACTION):
            urls[mode] = stack.enter_context(PgBouncer(server, mode)).url("poolers")
        async with database_for(urls[Pooler.TRANSACTION]) as database:
            await database.settle_account()
        ways = {
            mode: await stack.enter_async_context(serving(url, tenant))
            for mode, url in urls.items()
        }
        for name, work in WORKS.items():
            for _ in range(rounds):
                for mode, there in ways.items():
                    requests = await work(there, number, AT_ONCE)
                    taken.setdefault((name, mode), []).append(await timed(there, requests))
    for (name, way), figures in taken.items():
        rate, processor = map(statistics.median, zip(*figures, strict=True))
        print(f"{name:8} {way:12} {rate:8,.0f} requests a second  {processor:7,.0f} µs")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=400)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with LocalPostgres() as server, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure(server, options.rounds, options.requests))


if __name__ == "__main__":
    main()
