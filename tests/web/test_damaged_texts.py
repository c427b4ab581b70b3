"""A text in SQLite that is no UTF-8, since somebody has altered the file: all else goes on.

PostgreSQL takes no such text.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tests.support.deployment import Deployment, open_deployment
from tests.support.ids import Ids, filled, ids_of, tag_of
from tests.support.jobs import runner_document
from tests.support.tenant import Tenant, build_tenant, variable_document
from tests.web.test_authorization import MATRIX

READ = sorted(path for method, path in MATRIX if method == "GET")
SHOWN = "\U0010ffff"
"""What is shown for the byte 0xFF."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
async def tenant(store: Path) -> AsyncIterator[Tenant]:
    async with open_deployment(f"sqlite:///{store}") as deployment:
        yield await build_tenant(deployment)


async def everything(tenant: Tenant) -> Ids:
    """One at least of most that there is."""
    ids = await ids_of(tenant)
    network = tenant.workspaces["network"]
    await tag_of(tenant, "owner", network)
    path = f"/organizations/{tenant.organization}/runners"
    made = await tenant.call("owner", "POST", path, runner_document(network))
    assert made.status_code == 201, made.text
    key = {"Idempotency-Key": "once"}
    await tenant.call("owner", "POST", tenant.vars_path(), variable_document(key="kept"), key)
    return {**ids, "runner_id": made.json()["data"]["id"]}


def texts_of(connection: apsw.Connection, table: str) -> Sequence[str]:
    """The columns with texts that are neither an id, which makes a row another's, nor one of a few
    words that the engine itself holds them to.
    """
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    ((made,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,))
    names = [str(name) for _, name, kind, *_ in columns if kind == "TEXT"]
    return [
        name
        for name in names
        if name not in ("id", "scope") and not name.endswith("_id") and f"{name} IN (" not in made
    ]


@contextmanager
def damaged(store: Path, table: str, columns: Sequence[str]) -> Iterator[int]:
    """Within, texts of the newest row of the table end with a byte that begins none in UTF-8."""
    connection = apsw.Connection(str(store))
    asked = f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid DESC LIMIT 1"  # noqa: S608
    before = [text for row in connection.execute(asked) for text in row]
    newest = f"WHERE rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608
    for name in columns:
        bad = f"CAST(CAST({name} AS BLOB) || x'ff' AS TEXT)"
        connection.execute(f"UPDATE {table} SET {name} = {bad} {newest}")  # noqa: S608
    yield sum(text is not None for text in before)
    for name, text in zip(columns, before, strict=False):
        connection.execute(f"UPDATE {table} SET {name} = ? {newest}", (text,))  # noqa: S608
    connection.close()


async def statuses(deployment: Deployment, tenant: Tenant, ids: Ids) -> dict[str, int]:
    node = Tenant(**{**vars(tenant), "deployment": deployment})
    return {
        path: (
            await node.call("owner", "GET", filled(path, ids).removeprefix("/api/v2"))
        ).status_code
        for path in READ
    }


async def test_wherever_it_is_every_read_is_answered_and_the_row_is_named(
    store: Path, tenant: Tenant
) -> None:
    ids, keys = await everything(tenant), tenant.deployment.keys
    connection = apsw.Connection(str(store))
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    texts = {str(table): texts_of(connection, str(table)) for (table,) in tables}
    connection.close()
    sound = await statuses(tenant.deployment, tenant, ids)
    seen = set()
    for table, columns in texts.items():
        if not columns or table == "schema_migrations":  # with another no node starts
            continue
        with damaged(store, table, columns) as many:
            if not many:
                continue
            async with open_deployment(f"sqlite:///{store}", keys=keys) as node:
                assert await statuses(node, tenant, ids) == sound, table
                named = await node.services.database.damaged_texts()
                assert len(named) == many
                assert all(name.startswith(f"{table} ") for name in named)
                _, breaks = await node.services.audit.verify()
                assert bool(breaks) == (table == "audit_entries")
            seen.add(table)
    assert seen > {"audit_entries", "runners", "set_variables", "teams", "users", "variables"}
    assert await tenant.deployment.services.database.damaged_texts() == []


async def test_pages_of_a_search_go_on_behind_it(store: Path, tenant: Tenant) -> None:
    for key in ("a", "b", "c"):
        await tenant.make_variable(key)
    connection = apsw.Connection(str(store))
    connection.execute("UPDATE variables SET key = CAST(x'62ff' AS TEXT) WHERE key = 'b'")
    connection.close()
    found: list[str] = []
    path = f"/organizations/{tenant.organization}/vars?page[size]=1"
    while path:
        page = (await tenant.call("owner", "GET", path)).json()
        found += [one["attributes"]["key"] for one in page["data"]]
        path = (page["links"]["next"] or "").partition("/api/v2")[2]
    assert found == ["a", f"b{SHOWN}", "c"]


async def test_its_variable_can_be_changed_and_deleted(store: Path, tenant: Tenant) -> None:
    made = await tenant.make_variable("region", description="where")
    path = f"{tenant.vars_path()}/{made['id']}"
    connection = apsw.Connection(str(store))
    for column in ("description", "key"):
        connection.execute(f"UPDATE variables SET {column} = CAST(x'ff' AS TEXT)")  # noqa: S608
        said = {"type": "vars", "id": made["id"], "attributes": {column: "mended"}}
        answer = await tenant.call("owner", "PATCH", path, {"data": said})
        assert (answer.status_code, answer.json()["data"]["attributes"][column]) == (200, "mended")
    connection.execute("UPDATE variables SET key = CAST(x'ff' AS TEXT)")
    connection.close()
    assert (await tenant.call("owner", "DELETE", path)).status_code == 204
