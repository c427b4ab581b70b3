"""The statements of the hot routes as each engine gets them, for docs/sql/.

`.venv/bin/python -m tests.storage.statements` writes the files.
"""

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import apsw
import asyncpg

from teamvars.protocol import encoded
from teamvars.protocol.bundles import JobKey
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from teamvars.storage import (
    access_by_name,
    access_statements,
    effective,
    idempotency,
    migrations,
    runners,
    streams,
    variable_search,
    variables,
)
from teamvars.storage.database import Lookup
from teamvars.storage.engines import (
    postgres,
    servers,
    sqlite_connection,
)
from teamvars.storage.variables import Statements
from tests.services.jobs import approve, propose
from tests.storage.stores import fresh_postgres, fresh_sqlite
from tests.support.deployment import open_deployment
from tests.support.jobs import SERVICE, job_token
from tests.support.postgres import LocalPostgres, Postgres
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document

FOLDER = Path(__file__).parents[2] / "docs" / "sql"
COMMAND = ".venv/bin/python -m tests.storage.statements"
MODULES = (
    access_statements,
    variables,
    effective,
    streams,
    idempotency,
    access_by_name,
    variable_search,
    runners,
)


OF_THE_DRIVER = ("typeinfo_tree", "set_config('jit'")
"""In what asyncpg asks about types by itself, once a connection."""

Note = Callable[[str], None]
"""Is told each statement."""


class Routes:
    """Uses of the routes, and the statements of each in order."""

    def __init__(self, tenant: Tenant, seen: list[str]) -> None:
        """Statements are added to `seen` as the engine gets them."""
        self.tenant = tenant
        self.uses: dict[str, list[str]] = {}
        self._seen = seen

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[None]:
        """Whatever the engine is asked in this block is of that use."""
        self._seen.clear()
        yield
        await asyncio.sleep(0.05)  # asyncpg tells its loggers later
        self.uses[name] = [
            sql for sql in self._seen if not any(mark in sql for mark in OF_THE_DRIVER)
        ]

    async def call(
        self, who: str, method: str, path: str, document: object = None, *, key: str | None = None
    ) -> Any:
        """One request, which succeeds; with a key it may be repeated."""
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await self.tenant.call(who, method, path, document, headers)
        assert answer.status_code < 300, answer.text
        return answer.json()["data"] if answer.content else None


async def use_variables(routes: Routes) -> None:
    """List, create, read, update and delete variables."""
    path = routes.tenant.vars_path()
    async with routes.use("GET /workspaces/{id}/vars"):
        await routes.call("writer", "GET", path)
    async with routes.use("GET /workspaces/{id}/vars, rendered before"):
        await routes.call("writer", "GET", path)
    async with routes.use("POST /workspaces/{id}/vars, the first change of the caller there"):
        await routes.call("writer", "POST", path, variable_document(key="first"))
    async with routes.use("POST /workspaces/{id}/vars"):
        made = await routes.call("writer", "POST", path, variable_document(key="second"))
    async with routes.use("POST /workspaces/{id}/vars, one after another"):
        await routes.call("writer", "POST", path, variable_document(key="third"))
    one = f"{path}/{made['id']}"
    async with routes.use("GET /workspaces/{id}/vars/{id}"):
        await routes.call("writer", "GET", one)
    async with routes.use("PATCH /workspaces/{id}/vars/{id}, one after another"):
        await routes.call("writer", "PATCH", one, changing(made["id"]))
    async with routes.use("DELETE /workspaces/{id}/vars/{id}, one after another"):
        await routes.call("writer", "DELETE", one)
    for use in ("with an Idempotency-Key", "sent again with it"):
        async with routes.use(f"POST /workspaces/{{id}}/vars, {use}"):
            await routes.call("writer", "POST", path, variable_document(key="keyed"), key="a")


async def use_searches(routes: Routes) -> None:
    """Search the variables of an organization."""
    path = f"/organizations/{routes.tenant.organization}/vars"
    for who, name, query in (
        ("owner", "an owner", ""),
        ("reader", "few grants", "?fields[vars]=key,value"),
        ("reader", "one workspace", "?filter[workspace]=network"),
    ):
        async with routes.use(f"GET /organizations/{{name}}/vars, {name}"):
            await routes.call(who, "GET", path + query)


async def use_members(routes: Routes) -> None:
    """Add and remove members of teams."""
    for type_, ids in (
        ("users", routes.tenant.users),
        ("organization-memberships", routes.tenant.memberships),
    ):
        path = routes.tenant.linkage_path(by=type_)
        document = linkage_document(ids["plain"], type_=type_)
        for method in ("POST", "DELETE"):
            async with routes.use(f"{method} /teams/{{id}}/relationships/{type_}"):
                await routes.call("owner", method, path, document)


async def use_jobs(routes: Routes) -> None:
    """A job exchanges a token, and is handed values."""
    tenant = routes.tenant
    await approve(tenant, await propose(tenant))
    key, workspace_id = JobKey.generate(), tenant.workspaces["network"]
    client = tenant.deployment.client
    form = {
        "grant_type": GRANT_TYPE,
        "subject_token_type": SUBJECT_TYPES[0],
        "resource": f"{SERVICE}/api/v2/workspaces/{workspace_id}",
    }

    async def exchanged() -> str:
        shown = {**form, "subject_token": job_token(key.thumbprint)}
        answer = await client.post(client.base_url.join("/oauth/token"), data=shown)
        return str(answer.json()["access_token"])

    async with routes.use("POST /oauth/token"):
        await exchanged()
    async with routes.use("POST /oauth/token, one after another"):
        token = await exchanged()
    headers = {"Authorization": f"Bearer {token}"}
    attributes = {"public-key": encoded(key.public)}
    document = {"data": {"type": "deliveries", "attributes": attributes}}
    path = f"/workspaces/{workspace_id}/actions/deliver"
    async with routes.use("POST /workspaces/{id}/actions/deliver"):
        answer = await tenant.call(None, "POST", path, document, headers)
    assert answer.status_code == 200, answer.text


async def use_at_once(routes: Routes, url: str) -> None:
    """What PostgreSQL is asked for several callers, and for one whose row is locked."""
    path = routes.tenant.vars_path()
    made = await routes.tenant.make_variable("here")
    one = f"{path}/{made['id']}"
    for name, each in (
        ("GET /workspaces/{id}/vars", path),
        ("GET /workspaces/{id}/vars/{id}", one),
    ):
        async with routes.use(f"{name}, several callers at the same time"):
            await asyncio.gather(*(routes.call(who, "GET", each) for who in ("owner", "writer")))
    await routes.tenant.make_variable("fourth")  # no list of its head is rendered yet
    paths = path, routes.tenant.vars_path("payments")
    async with routes.use("GET /workspaces/{id}/vars, of several workspaces at the same time"):
        await asyncio.gather(*(routes.call("owner", "GET", each) for each in paths))
    for each in paths:  # from here on the caller is known to write there
        await routes.call("owner", "POST", each, variable_document(key="fifth"))
    async with routes.use("POST /workspaces/{id}/vars, into several workspaces at the same time"):
        document = variable_document(key="at_once")
        await asyncio.gather(*(routes.call("owner", "POST", each, document) for each in paths))
    workspace = routes.tenant.workspaces["network"]
    admin = await asyncpg.connect(url)
    async with routes.use("PATCH /workspaces/{id}/vars/{id}, the stream is locked by another"):
        async with admin.transaction():
            await admin.execute("SELECT 1 FROM streams WHERE id = $1 FOR UPDATE", workspace)
            change = asyncio.create_task(routes.call("writer", "PATCH", one, changing(made["id"])))
            waiting = (
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            while not await admin.fetchval(waiting):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        await change
    await admin.close()


def changing(variable_id: str) -> dict[str, object]:
    """A document that changes a variable."""
    return {"data": {"type": "vars", "id": variable_id, "attributes": {"value": "new"}}}


@contextmanager
def sqlite_told(note: Note) -> Iterator[None]:
    """Notes what connections that are opened meanwhile are asked."""
    connect = sqlite_connection._connect

    def told(path: Path, flags: int, cache_kib: int) -> apsw.Connection:
        connection = connect(path, flags, cache_kib)
        if threading.current_thread() is not threading.main_thread():
            return connection  # for prefetches, which come and go with the disk's speed

        def trace(_: apsw.Cursor, sql: str, __: object) -> bool:
            note(sql)
            return True

        connection.exec_trace = trace
        return connection

    with mock.patch.object(sqlite_connection, "_connect", told):
        yield


@contextmanager
def postgres_told(note: Note) -> Iterator[None]:
    """Notes what connections that are opened meanwhile are asked."""
    connect = servers.Servers.connect

    async def told(self: servers.Servers, *args: Any, **options: Any) -> Any:
        connection = await connect(self, *args, **options)
        connection.add_query_logger(lambda logged: note(logged.query))
        return connection

    with mock.patch.object(servers.Servers, "connect", told):
        yield


async def uses_of(url: str) -> dict[str, list[str]]:
    """The uses of the routes on an empty store, and the statements of each."""
    is_sqlite = url.startswith("sqlite")
    seen: list[str] = []
    with (sqlite_told if is_sqlite else postgres_told)(seen.append):
        async with open_deployment(url) as deployment:
            routes = Routes(await build_tenant(deployment), seen)
            await use_variables(routes)
            await use_searches(routes)
            await use_members(routes)
            await use_jobs(routes)
            if not is_sqlite:
                await use_at_once(routes, url)
    return routes.uses


def rendered(uses: dict[str, list[str]], engine: str, fragments: Callable[[str], str]) -> str:
    """The file for an engine."""
    names = dict(named(fragments))
    numbers: dict[str, int] = {}
    lines = [
        f"-- What the hot routes ask of {engine}, statement by statement. Do not edit this file:",
        f"-- `{COMMAND}` writes it.",
        "",
        "-- The numbers are those of the statements below.",
        "",
    ]
    for use, statements in uses.items():
        steps = [
            sql if is_short(sql) else f"#{numbers.setdefault(sql, len(numbers) + 1)}"
            for sql in statements
        ]
        lines += [f"-- {use}", f"--     {'; '.join(steps)}"]
    for sql, number in numbers.items():
        lines += ["", "", f"-- #{number}{names.get(sql, '')}"]
        lines += [f"-- {use}" for use, statements in uses.items() if sql in statements]
        lines += [f"{sql.strip()};"]
    # Every migration makes it another number.
    return "\n".join(lines).replace(f"admits > {migrations.number()}", "admits > N") + "\n"


def is_short(sql: str) -> bool:
    """Whether it begins or ends a transaction."""
    return sql.split()[0] in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


def named(fragments: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """The statements that have a name in the source, as the engine gets them."""
    for module in MODULES:
        for name, value in vars(module).items():
            for suffix, sql in texts(value):
                yield fragments(sql), f": {place(module)}, {name}{suffix}"


def texts(value: object) -> Iterator[tuple[str, str]]:
    """The statements that a constant holds."""
    if isinstance(value, str):
        yield "", value
    elif isinstance(value, Lookup):
        yield ".single", value.single
        yield ".batched", value.batched
        if value.locking is not None:
            yield from ((f".locking{suffix}", sql) for suffix, sql in texts(value.locking))
    elif isinstance(value, Statements):
        for name in Statements.__struct_fields__:
            yield from ((f".{name}{suffix}", sql) for suffix, sql in texts(getattr(value, name)))


def place(module: ModuleType) -> str:
    """Where its source is."""
    return f"{module.__name__.rpartition('.')[2]}.py"


async def of_sqlite(folder: Path) -> str:
    """The file for SQLite."""
    return rendered(await uses_of(fresh_sqlite(folder)), "SQLite", sqlite_connection.render)


async def of_postgres(server: Postgres) -> str:
    """The file for PostgreSQL."""
    with fresh_postgres(server) as url:
        return rendered(await uses_of(url), "PostgreSQL", postgres.FRAGMENTS.render)


async def write() -> None:
    """Writes both files."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, LocalPostgres() as server:
        (FOLDER / "sqlite.sql").write_text(await of_sqlite(Path(folder)))
        (FOLDER / "postgresql.sql").write_text(await of_postgres(server))


if __name__ == "__main__":
    asyncio.run(write())
