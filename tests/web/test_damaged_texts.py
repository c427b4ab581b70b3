"""A text in SQLite that is no UTF-8, and a value of another type than its column, since somebody
has altered the file: all else goes on.

PostgreSQL takes neither.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw
import pytest

from teamvars.domain.audit import Position
from teamvars.storage import audit_entries, data_keys
from tests.support.deployment import Deployment, open_deployment
from tests.support.ids import Ids, filled, ids_of, tag_of
from tests.support.jobs import runner_document
from tests.support.patience import HANGS
from tests.support.tenant import Tenant, build_tenant, variable_document
from tests.web.test_authorization import MATRIX

READ = sorted(path for method, path in MATRIX if method == "GET")
OF_THE_NODE = {"keyring_keys", "server_keys", "schema_migrations", "lineage"}
"""With others no node starts."""
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


async def codes(deployment: Deployment, tenant: Tenant, ids: Ids) -> dict[str, str]:
    """Of the reads that the service failed, with what."""
    node, found = Tenant(**{**vars(tenant), "deployment": deployment}), {}
    for path in READ:
        answer = await node.call("owner", "GET", filled(path, ids).removeprefix("/api/v2"))
        if answer.is_server_error and path != "/readyz":  # which says what the store lacks
            found[path] = answer.json()["errors"][0]["code"]
    return found


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


OTHERS = {"TEXT": "x'616c69ff'", "BIGINT": "'soon'", "BLOB": "'words'"}
"""For each type of column a value of another one."""
UNREADABLE = {"damaged_value", "storage_unavailable"}
"""What is answered where a value does not open, or the node may lack the key that it opens with."""


def mistyped(connection: apsw.Connection, table: str, *, ids: bool) -> dict[str, object]:
    """Gives each column of the newest row that has an id, or each other one, a value of another
    type, where the table has no rule that keeps it out, and returns what there was.
    """
    before = {}
    newest = f"rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608
    for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
        if (name in ("id", "scope") or str(name).endswith("_id")) is ids:
            asked = f"SELECT {name} FROM {table} WHERE {newest}"  # noqa: S608
            ((found,),) = connection.execute(asked).fetchall() or [(None,)]
            changed = f"UPDATE {table} SET {name} = {OTHERS[str(kind)]} WHERE {newest}"  # noqa: S608
            with suppress(apsw.ConstraintError):
                connection.execute(f"{changed} RETURNING 1").fetchall()
                before[str(name)] = found
    return before


@pytest.mark.parametrize("of_ids", [False, True])
async def test_whatever_is_of_another_type_no_read_fails_but_of_what_does_not_open(
    store: Path, tenant: Tenant, of_ids: bool
) -> None:
    ids, keys = await everything(tenant), tenant.deployment.keys
    connection = apsw.Connection(str(store))
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    sound = await statuses(tenant.deployment, tenant, ids)
    seen = set()
    for table in sorted({str(name) for (name,) in tables} - OF_THE_NODE):
        if not connection.execute(f"SELECT 1 FROM {table}").fetchall():  # noqa: S608
            continue
        if not (before := mistyped(connection, table, ids=of_ids)):
            continue
        async with open_deployment(f"sqlite:///{store}", keys=keys) as node:
            told = await codes(node, tenant, ids)
            assert set(told.values()) <= UNREADABLE, (table, told)
            named = await node.services.database.misfits()
        its = [one for one in named if one.startswith(f"{table} ")]
        assert {one.rpartition(": ")[2].partition(" ")[0] for one in its} == set(before)
        newest = f"rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608
        sets = ", ".join(f"{name} = ?" for name in before)
        connection.execute(f"UPDATE {table} SET {sets} WHERE {newest}", tuple(before.values()))  # noqa: S608
        seen.add(table)
    connection.close()
    assert seen > {"audit_entries", "data_keys", "runners", "tokens", "variables", "workspaces"}
    assert await statuses(tenant.deployment, tenant, ids) == sound
    assert await tenant.deployment.services.database.misfits() == []


LISTED = {
    "workspaces": "/organizations/{organization}/workspaces",
    "teams": "/organizations/{organization}/teams",
    "memberships": "/organizations/{organization}/organization-memberships",
    "projects": "/organizations/{organization}/projects",
    "variable_sets": "/organizations/{organization}/varsets",
}


@pytest.mark.parametrize(("altered", "shown"), [("NULL", "NULL"), ("x'ff'", SHOWN)])
async def test_a_row_whose_id_was_taken_away_keeps_no_other_from_being_listed(
    store: Path, tenant: Tenant, altered: str, shown: str
) -> None:
    ids, connection = await everything(tenant), apsw.Connection(str(store))
    connection.pragma("ignore_check_constraints", 1)  # that of a set's scope
    for table, listed in LISTED.items():
        path = filled(listed, ids)
        before = (await tenant.call("owner", "GET", path)).json()["data"]
        its = f"SET id = {altered} WHERE id = '{before[-1]['id']}'"
        connection.execute(f"UPDATE {table} {its}")
        after = await tenant.call("owner", "GET", path)
        assert after.status_code == 200, table
        assert len(after.json()["data"]) >= len(before)
        named = await tenant.deployment.services.database.misfits()
        assert f"{table} {shown}: id is no text" in named
        restored = f"SET id = '{before[-1]['id']}' WHERE id IS {altered}"
        connection.execute(f"UPDATE {table} {restored}")
    connection.close()


async def test_housekeeping_ends_beside_rows_that_have_lost_what_it_finds_them_by(
    store: Path, tenant: Tenant
) -> None:
    await tenant.make_variable("region")
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute(
            "UPDATE variables SET organization_id = NULL, workspace_name = NULL, "
            "workspace_id = 'ws-gone'"
        )
        for id_, code in ((None, b"1"), ("login-1", b"2")):
            connection.execute(
                "INSERT INTO logins (id, code_hash, host, created_at, expires_at, network, denied) "
                "VALUES (?, ?, 'laptop', 1, 1, 'net', 0)",
                (id_, code),
            )
        services = tenant.deployment.services
        async with asyncio.timeout(HANGS):
            await services.searches.place_older()
            await services.logins.forget_expired()
        assert connection.execute("SELECT id FROM logins").fetchall() == [(None,)]


async def test_names_and_descriptions_that_are_bytes_are_shown_beside_changes(
    store: Path, tenant: Tenant
) -> None:
    await tenant.make_variable("region")
    connection = apsw.Connection(str(store))
    for its in ("organizations SET name", "teams SET name", "workspaces SET name"):
        connection.execute(f"UPDATE {its} = x'61ff'")
    for its in ("memberships SET invited_as", "tokens SET description"):
        connection.execute(f"UPDATE {its} = x'61ff'")
    connection.close()
    path = f"/organizations/{tenant.organization}/audit-events"
    changes = (await tenant.call("owner", "GET", path)).json()["data"]
    told = [
        change["attributes"][name]
        for change in changes
        for name in ("stream-name", "actor-name", "token-description")
    ]
    assert set(told) == {f"\U0010ff00a{SHOWN}", None}
    assert None not in told[:3]


async def test_an_address_of_bytes_by_which_somebody_was_invited_is_shown(
    store: Path, tenant: Tenant
) -> None:
    connection = apsw.Connection(str(store))
    its = f"WHERE user_id = '{tenant.users['plain']}'"
    connection.execute(f"UPDATE memberships SET invited_as = x'61ff' {its}")  # noqa: S608
    connection.close()
    answer = await tenant.call("owner", "GET", f"/users/{tenant.users['plain']}")
    shown = answer.json()["data"]["attributes"]
    assert (shown["username"], shown["email"]) == ("", f"\U0010ff00a{SHOWN}")


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


@pytest.mark.parametrize("column", ["at", "sequence"])
@pytest.mark.parametrize("stored", ["'soon'", "x'39'", "1.5"])
async def test_what_goes_through_the_trail_page_by_page_ends_behind_it(
    store: Path, tenant: Tenant, column: str, stored: str
) -> None:
    database, connection = tenant.deployment.services.database, apsw.Connection(str(store))
    of_tenants = "FROM audit_entries WHERE organization_id <> ''"
    newest = f"WHERE rowid = (SELECT max(rowid) {of_tenants})"
    connection.execute(f"UPDATE audit_entries SET {column} = {stored} {newest}")  # noqa: S608
    places: list[object] = []

    counted = 0
    after: data_keys.Entry | None = data_keys.FIRST
    while after is not None:
        places.append(after)
        page = partial(data_keys.page_of_entries, after=after, since=0)
        number, after = await database.read(page)
        counted += number
        assert after not in places
    assert connection.execute(f"SELECT count(*) {of_tenants}").fetchall() == [(counted,)]

    connection.execute("UPDATE audit_entries SET organization_id = NULL")
    connection.close()
    place: Position | None = Position(0, "", 0)
    while place is not None:
        places.append(place)
        place = await database.read(partial(audit_entries.last_open, after=place, most=2))
        assert place not in places
