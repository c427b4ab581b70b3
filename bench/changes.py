"""What a change, or a cached list, costs the process, beside another checkout:
`python -m bench.changes CHECKOUT`.

Both call their application in a process of their own, without the server and with a store of their
own, and take turns, so that what else the machine does touches both alike; a figure is the median
of the processor's µs for one request, all threads together. The other checkout is one in which
`python3 dev.py setup` has run. Only the ratios are good for anything.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import structlog
import uvloop

from teamvars.domain.workspaces import Quota
from tests.support.deployment import open_deployment
from tests.support.postgres import LocalPostgres
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document

ROOT = Path(__file__).parent.parent
AT_ONCE = 32

Request = tuple[str, str, object]
"""Method, path and document."""
Work = Callable[[Tenant, int, int], Awaitable[Sequence[Request]]]
"""So many requests, of which so many are under way at once."""


async def answered(tenant: Tenant, request: Request) -> bytes:
    """The body of the answer, which must be a good one, by a request without a socket."""
    method, target, document = request
    path, _, query = target.partition("?")
    body = b"" if document is None else json.dumps(document).encode()
    sent = {
        "host": "localhost",
        "authorization": f"Bearer {tenant.tokens['owner']}",
        "accept": "application/vnd.api+json",
        "content-type": "application/vnd.api+json",
        **({"content-length": str(len(body))} if body else {}),
    }
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": f"/api/v2{path}",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("192.0.2.1", 1),
    }
    told: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def tell(message: MutableMapping[str, Any]) -> None:
        told.append(message)

    client: Any = tenant.deployment.client
    # Checkouts from before `InProcess` have something of httpx between.
    application = getattr(client, "application", None) or client._transport.app
    await application(scope, receive, tell)
    assert told[0]["status"] < 300, told
    return b"".join(each.get("body", b"") for each in told)


async def send(tenant: Tenant, request: Request) -> Any:
    """The document of that answer, if there is one."""
    body = await answered(tenant, request)
    return json.loads(body) if body else None


async def creates(tenant: Tenant, number: int, _: int) -> list[Request]:
    """Each creates a variable."""
    path, mark = tenant.vars_path(), time.monotonic_ns()
    keys = [f"key_{mark}_{n}" for n in range(number)]
    return [("POST", path, variable_document(key=key)) for key in keys]


async def variables(tenant: Tenant, number: int) -> list[str]:
    """The paths of so many new ones."""
    made = [await send(tenant, request) for request in await creates(tenant, number, 1)]
    return [f"{tenant.vars_path()}/{each['data']['id']}" for each in made]


async def updates(tenant: Tenant, number: int, at_once: int) -> list[Request]:
    """Each changes the value of a variable, and those at once of different ones."""
    paths = await variables(tenant, at_once)
    requests: list[Request] = []
    for n in range(number):
        path = paths[n % at_once]
        data = {"type": "vars", "id": path.rsplit("/")[-1], "attributes": {"value": str(n)}}
        requests.append(("PATCH", path, {"data": data}))
    return requests


async def deletes(tenant: Tenant, number: int, _: int) -> list[Request]:
    """Each removes a variable."""
    return [("DELETE", path, None) for path in await variables(tenant, number)]


async def members(tenant: Tenant, number: int, _: int) -> list[Request]:
    """One is added to a team and removed again."""
    path, document = tenant.linkage_path(), linkage_document(tenant.users["plain"])
    return [("POST" if n % 2 == 0 else "DELETE", path, document) for n in range(number)]


async def lists(tenant: Tenant, number: int, _: int) -> list[Request]:
    """Each is a list of 20 variables, which is in memory by then."""
    path = tenant.vars_path("payments")
    for n in range(20):
        if not (await send(tenant, ("GET", path, None)))["data"][n:]:
            await send(tenant, ("POST", path, variable_document(key=f"key_{n}")))
    await send(tenant, ("GET", path, None))
    return [("GET", path, None)] * number


WORKS: Mapping[str, tuple[Work, int]] = {
    "create": (creates, 1),
    "update": (updates, 1),
    "delete": (deletes, 1),
    "member": (members, 1),
    "cached list": (lists, 1),
    f"{AT_ONCE} creates at once": (creates, AT_ONCE),
    f"{AT_ONCE} updates at once": (updates, AT_ONCE),
}


async def measured(tenant: Tenant, name: str, number: int) -> float:
    """The processor's µs of one request."""
    work, at_once = WORKS[name]
    requests = await work(tenant, number, at_once)
    begun = time.process_time()
    for first in range(0, number, at_once):
        some = requests[first : first + at_once]
        if at_once == 1:
            await send(tenant, some[0])
        else:
            await asyncio.gather(*(send(tenant, request) for request in some))
    return (time.process_time() - begun) / number * 1e6


async def obey(url: str) -> None:
    """Measures what it is told to, line by line."""
    async with open_deployment(url, quota=Quota(None, None)) as deployment:
        tenant = await build_tenant(deployment)
        print("ready", flush=True)
        for line in sys.stdin:
            name, number = line.rsplit(maxsplit=1)
            print(await measured(tenant, name, int(number)), flush=True)


@contextmanager
def obeying(script: Path, checkout: Path, *words: str) -> Iterator[Callable[[str], str]]:
    """Runs the script in a process of that checkout, whose code it imports: it answers each line
    that it is told by one, and says `ready` first.
    """
    python = checkout / ".venv" / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(python), str(script), *words],
        cwd=checkout,
        env=environment,
        stdin=pipe,
        stdout=pipe,
        text=True,
    ) as process:
        tell, told = process.stdin, process.stdout
        assert tell is not None
        assert told is not None
        said = told.readline()
        assert said == "ready\n", said

        def ask(line: str) -> str:
            tell.write(f"{line}\n")
            tell.flush()
            return told.readline()

        yield ask
        tell.close()


def main() -> None:
    """Prints a line for each request and engine."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    parser = argparse.ArgumentParser(prog="bench.changes", description="Compare what changes cost.")
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="to compare with")
    parser.add_argument("--only", nargs="+", choices=WORKS, default=list(WORKS), metavar="REQUEST")
    parser.add_argument("--engines", nargs="+", default=["SQLite", "PostgreSQL"], metavar="ENGINE")
    parser.add_argument("--turns", type=int, default=15, help="for each request (15)")
    parser.add_argument("--requests", type=int, default=320, help="in a turn (320)")
    parser.add_argument("--obey", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.obey:
        uvloop.run(obey(options.obey))
        return
    print(f"{'':12}{'':24}{'there':>8}{'here':>8}{'ratio':>8}")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        postgres = stack.enter_context(LocalPostgres())
        for engine in options.engines:
            sides = []
            for side, checkout in (("there", options.checkout.resolve()), ("here", ROOT)):
                url = f"sqlite:///{folder}/{side}.db"
                if engine == "PostgreSQL":
                    postgres.create_database(side)
                    url = postgres.url(side)
                process = obeying(Path(__file__), checkout, "--obey", url)
                sides.append(stack.enter_context(process))
            for name in options.only:
                asked = f"{name} {options.requests}"
                turns = [[float(side(asked)) for side in sides] for _ in range(options.turns)]
                there, here = (statistics.median(one) for one in zip(*turns, strict=True))
                ratio = statistics.median(here / there for there, here in turns)
                print(f"{engine:12}{name:24}{there:8.0f}{here:8.0f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
