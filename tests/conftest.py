"""What every test may ask for."""

import gc
import os
import shutil
import signal
import ssl
import sys
import tempfile
from asyncio import AbstractEventLoop
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpcore
import httpx
import pytest
import uvloop
from httpcore._backends.anyio import AnyIOStream
from hypothesis import HealthCheck, settings

from teamvars.decisions import Found
from teamvars.domain.audit import ACTIONS, Event
from teamvars.domain.diagnosis import Pooler
from teamvars.web.http import admission
from tests.storage.stores import bring_up, fresh_postgres, fresh_sqlite, migrated, opened
from tests.support import forked, workers
from tests.support.commands import Host
from tests.support.deployment import Deployment, open_deployment
from tests.support.furnished import Furnished, furnish
from tests.support.memory import folder_in_memory
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.shares import place
from tests.support.tenant import Tenant, build_tenant
from tests.support.unhurried import unhurried

# A busy host makes any example take as long; what speed is promised, the benchmark measures.
settings.register_profile(
    "without deadlines",
    settings(),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("without deadlines")

# An administrator's URL: tests then use that server instead of starting one.
POSTGRES_URL = "TEAMVARS_TEST_POSTGRES_URL"
OBJECTS_BETWEEN_COLLECTIONS = 100_000


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many processes run the tests, and through what they go to PostgreSQL."""
    workers.pytest_addoption(parser)
    modes = [mode.value for mode in Pooler]
    said = "reach the databases of tests through a PgBouncer in this mode"
    parser.addoption("--pooler", choices=modes, default=Pooler.NONE.value, help=said)


def pytest_configure(config: pytest.Config) -> None:
    """Start for all workers what they would else start each: a server, and commands to fork.

    What tests write goes to memory where there is room: most of it is synced and soon gone. They
    start hundreds of interpreters: what one compiles is kept for the next, whatever the environment
    says of it.
    """
    # Who starts the check in the background has it ignore SIGINT and SIGQUIT, and all it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup: what tests start ignores nothing
        signal.signal(signal.SIGHUP, lambda *_: None)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)  # half of the time of collecting tests
    # jsonschema, which clients of others import, would compile grammars of addresses with it: a
    # third of what collecting takes.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "TMPDIR" not in os.environ and (folder := folder_in_memory()):
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None  # or it stays where it was first looked for
    if not workers.register(config):
        return
    forked.loaded()
    if POSTGRES_URL not in os.environ:
        server = LocalPostgres()
        config.add_cleanup(server.stop)
        server.start()
        os.environ[POSTGRES_URL] = server.admin_url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in a line for each reason how many tests were left out for it."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, many in reasons.items():
        terminalreporter.line(f"{many} left out: {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that wait most come first."""
    items.sort(key=lambda item: place(item.nodeid))


def pytest_collection_finish() -> None:
    """The tests themselves are never garbage: nobody looks for it among them."""
    gc.freeze()


@pytest.fixture(scope="session")
def _asyncio_loop_factory() -> Callable[[], AbstractEventLoop]:
    """What servers run on, which takes less time than the loop of the standard library.

    The fixture is pytest-asyncio's own. By its hook a test that is no coroutine would begin another
    loop, and with it all that a module has made.
    """
    return uvloop.new_event_loop


@pytest.fixture(scope="session", autouse=True)
def one_trust() -> Iterator[None]:
    """Of clients that are told no authorities all share one list: reading it takes 20 ms."""
    make = httpx.create_ssl_context

    @cache
    def made(of: str | None, **said: Any) -> ssl.SSLContext:
        return make(**said)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "httpx._transports.default.create_ssl_context",
            lambda **said: made(os.environ.get("SSL_CERT_FILE"), **said),
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def reset_at_once() -> Iterator[None]:
    """A connection that a killed server resets as soon as it is made fails as any other: anyio asks
    for the address of its socket, which uvloop no longer has.
    """
    look = AnyIOStream.get_extra_info

    def looked(self: AnyIOStream, info: str) -> Any:
        try:
            return look(self, info)
        except AttributeError:
            raise httpcore.ConnectError("The connection was reset at once.") from None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnyIOStream, "get_extra_info", looked)
        yield


@pytest.fixture(scope="session", autouse=True)
def declared_details() -> Iterator[None]:
    """Whatever a test has recorded: its details have the names that its action declares."""
    make = Found.event

    def event(self: Found, action: str, subject_id: str, details: Mapping[str, object]) -> Event:
        assert ACTIONS[action].admits(details), f"{action}: {sorted(details)}"
        return make(self, action, subject_id, details)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Found, "event", event)
        yield


@pytest.fixture(scope="session", autouse=True)
def forgiven_failures() -> Iterator[None]:
    """All tests come from one address, and many try tokens that nobody has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "MOST_FAILURES", 1_000_000)
        yield


@pytest.fixture(scope="session", autouse=True)
def without_haste() -> Iterator[None]:
    """Who tests a time limit sets it, to one that is soon over."""
    with unhurried():
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A server to create databases on."""
    if url := os.environ.get(POSTGRES_URL):
        yield Postgres(url)
    else:
        with LocalPostgres() as server:
            yield server


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, postgres_server: Postgres) -> Iterator[Postgres]:
    """The same, whose databases are reached through a pooler if `--pooler` says so."""
    mode = Pooler(request.config.getoption("--pooler"))
    if mode is Pooler.NONE:
        yield postgres_server
        return
    # Of a database that is to be copied nobody may have a session.
    with PgBouncer(postgres_server, mode, "server_idle_timeout = 1") as pooled:
        yield pooled


@pytest.fixture(scope="session")
async def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store on SQLite that has all tables and nothing in them, to be copied."""
    folder = tmp_path_factory.mktemp("migrated")
    async with opened(fresh_sqlite(folder)) as database:
        await bring_up(database)
    return folder / "teamvars.db"


@pytest.fixture(scope="session")
async def migrated_database(postgres: Postgres) -> AsyncIterator[str]:
    """The name of such a database on PostgreSQL."""
    name = f"migrated-{uuid4()}"
    postgres.create_database(name)
    async with opened(postgres.url(name)) as database:
        await bring_up(database)
    postgres.wait_until_unused(name)
    yield name
    postgres.drop_database(name)


@pytest.fixture
def migrated_postgres(postgres: Postgres, migrated_database: str) -> Iterator[str]:
    """The URL of a copy of it, for a test of PostgreSQL alone."""
    with fresh_postgres(postgres, migrated_database) as url:
        yield url


@pytest.fixture(scope="session")
async def furnished_file(
    migrated_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Furnished]:
    """A store on SQLite that has organizations in it, to be copied."""
    folder = tmp_path_factory.mktemp("furnished")
    file = Path(shutil.copy(migrated_file, folder))
    return file, await furnish(fresh_sqlite(folder))


@pytest.fixture(scope="session")
async def furnished_database(
    postgres: Postgres, migrated_database: str
) -> AsyncIterator[tuple[str, Furnished]]:
    """The name of such a database on PostgreSQL."""
    name = f"furnished-{uuid4()}"
    postgres.create_database(name, migrated_database)
    furnished = await furnish(postgres.url(name))
    postgres.wait_until_unused(name)
    yield name, furnished
    postgres.drop_database(name)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def furnished_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Furnished]]:
    """The URL of a store that has organizations in it; what asks for it runs on both engines."""
    if request.param == "sqlite":
        file, furnished = request.getfixturevalue("furnished_file")
        folder = tmp_path_factory.mktemp("store")
        shutil.copy(file, folder)
        yield fresh_sqlite(folder), furnished
        return
    template, furnished = request.getfixturevalue("furnished_database")
    with fresh_postgres(request.getfixturevalue("postgres"), template) as url:
        yield url, furnished


@pytest.fixture(scope="module")
def store_url(furnished_store: tuple[str, Furnished]) -> str:
    """The URL alone."""
    url, _ = furnished_store
    return url


@pytest.fixture(scope="module")
async def deployment(furnished_store: tuple[str, Furnished]) -> AsyncIterator[Deployment]:
    """A running installation, shared by all tests of a module on one engine.

    Not by those of all modules: many verify every stream that there is.
    """
    url, furnished = furnished_store
    async with open_deployment(url, keys=furnished.keys) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def stock(furnished_store: tuple[str, Furnished], deployment: Deployment) -> list[Tenant]:
    """Tenants of the module that no test has taken yet. What a test notes of one, such as the token
    that it made, is in no store of another module.
    """
    _, furnished = furnished_store
    return [
        replace(one, deployment=deployment, workspaces={**one.workspaces}, tokens={**one.tokens})
        for one in furnished.tenants
    ]


@pytest.fixture
async def tenant(deployment: Deployment, stock: list[Tenant]) -> Tenant:
    """An organization of this test's own, with people of every kind in it, and another beside."""
    return stock.pop() if stock else await build_tenant(deployment)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def modules_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A migrated store of a module's own, on each engine, in which there is nothing."""
    with migrated(request, tmp_path_factory.mktemp("own")) as url:
        yield url


@pytest.fixture(scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedDeployment]:
    """A running server on a SQLite store, shared by all tests of a worker."""
    host = Host(tmp_path_factory.mktemp("served")).having(log_format="json")
    async with serve_deployment(host) as served:
        yield served


@pytest.fixture
async def served_tenant(served: ServedDeployment) -> Tenant:
    """As `tenant`, and every call goes through a socket to the server."""
    return await build_tenant(served)
