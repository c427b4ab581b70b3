"""What jobs are handed comes to light nowhere: not on its way, and not on any disk or host.

Only the environment of a command that `run` has become may hold a value.
"""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile

import httpx
import pytest

from teamvars.protocol.bundles import JobKey
from tests.faults.aviary import Aviary, processes
from tests.faults.canaries import canary, finds
from tests.faults.jobs import JobService, open_job_service
from tests.support.commands import SCRIPT, InstalledHost
from tests.support.patience import HANGS, wait_until
from tests.support.postgres import LocalPostgres
from tests.support.processes import children
from tests.support.server import end_group
from tests.support.tenant import variable_document

LONG = pytest.param(10_000, id="10000 deliveries", marks=pytest.mark.long)
JOBS = 4
FLOCKS = 2
"""How often the values are changed meanwhile."""


@dataclass
class Place:
    """A place where canaries are searched for."""

    kind: str
    name: str
    content: bytes = field(repr=False)


@dataclass
class Search:
    """A service and its jobs, and all that they could leave somewhere since they began."""

    service: JobService
    aviary: Aviary
    since: float
    secrets: list[str] = field(default_factory=list)

    async def change(self) -> dict[str, str]:
        """Gives `network` other values, which it returns by key; one is for terraform."""
        values = {key: canary() for key in ("KEY_1", "KEY_2", "tool")}
        self.secrets += values.values()
        await self.service.put(values)
        return values

    def places(self, may_have: Sequence[int] = ()) -> Iterator[Place]:
        """All of them but for the environment of those processes."""
        for path, content in self.aviary.files(self.since):
            yield Place("file", str(path), content)
        for path, content in self.aviary.shared_files(self.since):
            yield Place("shared file", str(path), content)
        yield Place("proxy", "all it has heard", b"\n".join(self.service.proxy.heard))
        yield Place("log", "of the server", self.service.served.server.log.encode())
        yield Place("dump", "all rows", self.aviary.dump())
        yield Place("trail", "list and export", self.aviary.trail())
        for pid, name, content in processes():
            if not (pid in may_have and name == "environ"):
                yield Place(name, str(pid), content)

    def found(self, may_have: Sequence[int] = ()) -> list[Place]:
        """Those with a secret in them."""
        return [one for one in self.places(may_have) if finds(one.content, *self.secrets)]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def search(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Search]:
    host = InstalledHost(tmp_path_factory.mktemp("jobs")).having(log_format="json")
    (temporary := host.folder / "tmp").mkdir()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        folders = [host.folder]
        if request.param == "postgres":
            server = stack.enter_context(LocalPostgres(durable=True))
            server.create_database("teamvars")
            host = host.having(database_url=server.url("teamvars"))
            folders += [server.folder / "data", server.folder / "log"]
        patch.setenv("TMPDIR", str(temporary))
        patch.setenv("PYTHONFAULTHANDLER", "1")
        since = time.time()
        async with open_job_service(host) as service:
            patch.setenv("SSL_CERT_FILE", str(service.proxy.authority))
            yield Search(service, Aviary(service.served, service.tenant, folders), since)


async def deliver(search: Search, values: dict[str, str], count: int) -> None:
    """Hands the values to that many jobs, through the proxy, each with a key of its own."""
    service, left = search.service, iter(range(count))
    trust = ssl.create_default_context(cafile=str(service.proxy.authority))

    async def some(client: httpx.AsyncClient) -> None:
        for _ in left:
            key = JobKey.generate()
            token = await service.token(client, key)
            path, headers, body = service.delivering(token, key)
            answer = await client.post(path, content=body, headers=headers)
            _, handed = service.opened(answer.content, key)
            assert {one.key: one.value for one in handed} == values

    async with (
        httpx.AsyncClient(base_url=service.proxy.url, verify=trust, timeout=HANGS) as client,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(JOBS):
            group.create_task(some(client))


@contextmanager
def held(search: Search) -> Iterator[list[int]]:
    """Some commands that `run` has become, and that hold the values; their process ids."""
    desk = search.service.desk
    line = [SCRIPT, "run", "--", "sh", "-c", "echo holds; read line"]
    started = [
        subprocess.Popen(
            line,
            cwd=desk.folder,
            env=desk.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "holds\n"
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.communicate("\n", timeout=HANGS)


def crash_worker(search: Search) -> None:
    """Has a worker end by a fault, and tell what it did then; the server is started again."""
    server = search.service.served.server
    worker, *_ = children(server.pid, "")
    os.kill(worker, signal.SIGSEGV)
    wait_until(lambda: "Fatal Python error" in server.log, lambda: server.log)
    server.kill()
    server.start()


@pytest.mark.parametrize("count", [100, LONG])
async def test_no_value_of_any_delivery_is_found_anywhere(search: Search, count: int) -> None:
    values = {}
    for _ in range(FLOCKS):
        values = await search.change()
        await deliver(search, values, count // FLOCKS)
    with held(search) as holders:
        assert search.found(holders) == []
        holding = {one.name for one in search.found() if one.kind == "environ"}
        assert holding == {str(pid) for pid in holders}  # the control: they do hold it
        assert not any(finds(content, values["tool"]) for _, _, content in processes())
    crash_worker(search)
    assert search.found() == []
    assert sum(b'"bundle"' in said for said in search.service.proxy.heard) >= count


KINDS = ("file", "shared file", "proxy", "log", "dump", "trail", "environ", "cmdline")


@contextmanager
def planted(search: Search, secrets: Mapping[str, str]) -> Iterator[None]:
    """Leaves one in each place that a test can write to without the service."""
    service = search.service
    (service.served.host.folder / "tmp" / "left-behind").write_text(secrets["file"])
    with service.served.server.log_path.open("a") as log:
        log.write(f"{json.dumps(secrets['log'])}\n")
    trust = ssl.create_default_context(cafile=str(service.proxy.authority))
    httpx.post(f"{service.proxy.url}/oauth/token", content=secrets["proxy"], verify=trust)
    with ExitStack() as stack:
        shared = stack.enter_context(NamedTemporaryFile(dir="/dev/shm"))
        shared.write(secrets["shared file"].encode())
        shared.flush()
        for line, more in (
            (["sleep", "1000"], {"PLANTED": secrets["environ"]}),
            (["sh", "-c", "sleep 1000; true", secrets["cmdline"]], {}),
        ):
            environment = {**os.environ, **more}
            process = subprocess.Popen(line, env=environment, text=True, start_new_session=True)
            stack.callback(end_group, process)
        yield


async def test_the_search_finds_what_is_planted_in_each_place(search: Search) -> None:
    secrets = {kind: canary() for kind in KINDS}
    tenant = search.service.tenant
    key = f"k{secrets['trail'].encode().hex()}"
    document = variable_document(key=key, value="", description=secrets["dump"].replace("\n", ""))
    answer = await tenant.call("owner", "POST", tenant.vars_path(), document)
    assert answer.status_code == 201, answer.text
    secrets["dump"] = secrets["dump"].replace("\n", "")
    with planted(search, secrets):
        found = {one.kind for one in search.places() if finds(one.content, secrets[one.kind])}
    assert found == set(KINDS)
