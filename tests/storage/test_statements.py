"""docs/sql/ holds the statements of the hot routes as the engines get them."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw.ext
import pytest

from teamvars.storage import access_statements as statements
from teamvars.storage import teams, variable_search_statements
from teamvars.storage.access_by_name import READ_SEARCH, READ_SEARCH_OF_WORKSPACE
from teamvars.storage.database import Lookup
from teamvars.storage.engines import sqlite_connection
from teamvars.storage.variables import OF_WORKSPACES
from tests.storage.statements import COMMAND, FOLDER, of_postgres, of_sqlite
from tests.storage.stores import fresh_sqlite
from tests.support.deployment import open_deployment
from tests.support.postgres import Postgres

ADVICE = f"Look at what has changed, write it with {COMMAND}, and say why in the commit."


async def is_as_written(name: str, made: Awaitable[str]) -> None:
    assert await made == (FOLDER / name).read_text(), ADVICE


async def test_the_statements_of_sqlite_are_those_that_were_reviewed(tmp_path: Path) -> None:
    await is_as_written("sqlite.sql", of_sqlite(tmp_path))


async def test_the_statements_of_postgresql_are_those_that_were_reviewed(
    postgres: Postgres,
) -> None:
    await is_as_written("postgresql.sql", of_postgres(postgres))


@pytest.mark.parametrize(
    ("route", "statements"),
    [
        ("POST /workspaces/{id}/vars", 2),
        ("POST /workspaces/{id}/vars, one after another", 1),
        ("PATCH /workspaces/{id}/vars/{id}, one after another", 2),
        ("DELETE /workspaces/{id}/vars/{id}, one after another", 2),
        ("POST /oauth/token, one after another", 2),
        ("POST /workspaces/{id}/actions/deliver", 3),
    ],
)
def test_whoever_is_alone_asks_postgresql_few_statements(route: str, statements: int) -> None:
    written = (FOLDER / "postgresql.sql").read_text()
    (steps,) = re.findall(rf"^-- {re.escape(route)}\n-- {{5}}(.*)$", written, re.MULTILINE)
    asked = steps.split("; ")
    assert len(asked) == statements, steps
    assert all(re.fullmatch(r"#\d+", one) for one in asked), steps


# In the order in which `access` and `access_by_name` read them.
CALLER = "token_id user_id token_team_id token_organization_id reach "
STREAM = " stream_id sequence link head variables value_bytes "
KEY = " key_version master_key_id wrapped_key "
PLACE = " organization_id organization_name "
WORKSPACE = CALLER + "workspace_id workspace_name" + PLACE + KEY + STREAM + "level"
SEARCHING = "reads_all changes_sets is_member"
SEARCH = CALLER + PLACE + SEARCHING + KEY + "team_ids workspace_ids ids_by_project"
RIGHTS = " ".join(teams.RIGHTS.values())
FLAGS = f"visibility is_owners members_manage_token {RIGHTS} settings"
ROWS = [
    (statements.AUTHENTICATE.single, CALLER),
    (statements.READ_WORKSPACE.single, WORKSPACE),
    (statements.READ_WORKSPACE_BY_NAME.single, WORKSPACE),
    (
        statements.READ_ORGANIZATION,
        CALLER + PLACE + "email created_at settings sso_required is_owner is_member" + STREAM,
    ),
    (READ_SEARCH, SEARCH),
    (READ_SEARCH_OF_WORKSPACE, SEARCH),
    (statements.READ_TEAM.single, CALLER + "team_id team_name" + PLACE + FLAGS + STREAM + "rights"),
]


@pytest.fixture
async def connection(tmp_path: Path) -> apsw.Connection:
    """To a store of SQLite."""
    async with open_deployment(fresh_sqlite(tmp_path)):
        pass
    return apsw.Connection(str(tmp_path / "teamvars.db"))


@pytest.fixture
def columns(connection: apsw.Connection) -> Callable[[str], list[str]]:
    """What the columns of a statement are called."""

    def columns(sql: str) -> list[str]:
        found = apsw.ext.query_info(connection, sqlite_connection.render(sql))
        return [name for name, _ in found.description]

    return columns


async def test_rows_have_the_columns_that_are_read_from_them(
    columns: Callable[[str], list[str]],
) -> None:
    for sql, names in ROWS:
        assert columns(sql) == names.split(), sql


@pytest.mark.parametrize("lookup", ["READ_WORKSPACE", "READ_SET", "READ_TEAM"])
async def test_a_row_says_where_its_stream_stands_where_that_is_looked_for(
    columns: Callable[[str], list[str]], lookup: str
) -> None:
    found: Lookup = getattr(statements, lookup)
    assert found.place is not None
    assert columns(found.single)[found.place - 1 : found.place + 5] == STREAM.split()


LISTS = [
    OF_WORKSPACES.list_.single,
    OF_WORKSPACES.page,
    variable_search_statements.OF_WORKSPACES.page,
    variable_search_statements.OF_WORKSPACES.page_of_keys,
    variable_search_statements.PAGE_OF_ALL,
    variable_search_statements.PAGE_OF_KEYS,
    variable_search_statements.PAGE_OF_GRANTED,
    variable_search_statements.PAGE_OF_GRANTED_KEYS,
]


def behind_the_value(connection: apsw.Connection, sql: str) -> set[str]:
    """The columns that a statement reads and that SQLite stores behind the sealed value."""
    names = [row[1] for row in connection.execute("PRAGMA table_info(variables)")]
    actions = apsw.ext.query_info(connection, sql, actions=True).actions
    read = {
        one.column_name
        for one in actions or ()
        if (one.action_name, one.table_name) == ("SQLITE_READ", "variables")
    }
    return set(names[names.index("sealed_value") + 1 :]) & read


def test_no_list_reads_a_column_behind_the_sealed_value(connection: apsw.Connection) -> None:
    for sql in LISTS:
        beside = sql.replace(
            "CASE WHEN variables.sensitive = 0 THEN variables.key_version END", "NULL"
        )
        behind = behind_the_value(connection, sqlite_connection.render(beside))
        assert not behind, (
            f"A list reads {', '.join(behind)} of `variables`, which SQLite reaches only through "
            f"all pages of the value: see Migrations in CONTRIBUTING.md.\n{sql}"
        )
    connection.execute("ALTER TABLE variables ADD COLUMN added TEXT")
    assert behind_the_value(connection, "SELECT key, added FROM variables") == {"added"}


@pytest.mark.parametrize(
    "lookup", [statements.AUTHENTICATE, statements.READ_WORKSPACE, statements.READ_TEAM]
)
def test_a_batched_lookup_has_the_columns_of_the_single_one_after_the_number(
    lookup: Lookup,
) -> None:
    single, batched = (
        re.sub(r"lookup\.number, ", "", sql).partition("\nFROM ")[0]
        for sql in (lookup.single, lookup.batched)
    )
    assert single == batched
    assert "lookup.number" in lookup.batched
