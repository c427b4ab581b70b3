"""On a large store every statement of the hot routes uses an index, on both engines."""

import itertools
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from teamvars import wiring
from teamvars.domain.deliveries import ReceiptSearch
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.pages import Page
from teamvars.domain.times import LATEST
from teamvars.domain.workspaces import Workspace
from teamvars.pace import Pace
from teamvars.protocol import encoded
from teamvars.security.sealing import Sealer
from teamvars.services import audit_pages
from teamvars.services.diagnosis import Diagnosis
from teamvars.services.directory_files.files import Options
from teamvars.storage import (
    access_by_name,
    access_statements,
    data_keys,
    effective,
    memberships,
    queues,
    runners,
    sign_ins,
    streams,
    team_access,
    teams,
    tokens,
)
from teamvars.storage.database import Body, Database, Lookup, Row, Statement, T, Transaction
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines import database_for
from teamvars.storage.engines.postgres import PostgresDatabase
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.storage.stores import fresh, fresh_postgres, fresh_sqlite
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.exchanging import job_in
from tests.support.in_process import InProcess
from tests.support.jobs import ISSUERS, SERVICE
from tests.support.observed_transaction import ObservedTransaction
from tests.support.postgres import Postgres
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document
from tests.web.test_variable_sets import as_global, make_set, put

ORGANIZATIONS, WORKSPACES, TEAMS, USERS = 1_000, 5_000, 5_000, 5_000
VARIABLES, TOKENS, ENTRIES = 100_000, 20_000, 50_000
RUNNERS, SETS, JOBS = 5_000, 5_000, 20_000


def named(kind: str, *columns: str) -> dict[str, str]:
    """Columns that hold the kind's letter and the number of the row."""
    return dict.fromkeys(columns, f"'{kind}' || n")


def zero(*columns: str) -> dict[str, str]:
    return dict.fromkeys(columns, "0")


IN_ORGANIZATION = {"organization_id": "'o' || (n % 1000)"}
IN_TEAM = {"team_id": "'t' || (n % 5000)"}
STREAM = {"sequence": "0", "link": "$2", "head": "$2"}

# How many rows, of which table, and each column's value in row n, from 0 on; $2 is some bytes.
LOADING: list[tuple[int, str, dict[str, str]]] = [
    (ORGANIZATIONS, "streams", {**named("o", "id"), **STREAM}),
    (WORKSPACES, "streams", {**named("w", "id"), **STREAM}),
    (TEAMS, "streams", {**named("t", "id"), **STREAM}),
    (
        ORGANIZATIONS,
        "organizations",
        {**named("o", "id", "name", "name_folded"), **zero("data_key_version", "created_at")},
    ),
    (
        ORGANIZATIONS,
        "projects",
        {
            "id": "'prj-' || n",
            **named("p", "name", "name_folded"),
            **IN_ORGANIZATION,
            **zero("created_at"),
        },
    ),
    (
        WORKSPACES,
        "workspaces",
        {
            **named("w", "id", "name", "name_folded"),
            **IN_ORGANIZATION,
            "project_id": "'prj-' || (n % 1000)",
            **zero("created_at"),
        },
    ),
    (
        TEAMS,
        "teams",
        {
            **named("t", "id", "name", "name_folded"),
            **IN_ORGANIZATION,
            "visibility": "'organization'",
            "is_owners": "CASE WHEN n < 1000 THEN 1 ELSE 0 END",
            **zero("manage_membership", "created_at"),
        },
    ),
    (
        USERS,
        "users",
        {**named("u", "id", "username", "username_folded"), **zero("site_admin", "created_at")},
    ),
    (
        USERS,
        "memberships",
        {
            **named("m", "id"),
            **named("u", "user_id"),
            **IN_ORGANIZATION,
            "status": "'active'",
            **zero("created_at"),
        },
    ),
    (USERS, "team_members", {**named("m", "membership_id"), **IN_TEAM, **IN_ORGANIZATION}),
    (
        TEAMS,
        "project_grants",
        {
            **named("g", "id"),
            **named("t", "team_id"),
            "project_id": "'prj-' || (n % 1000)",
            **IN_ORGANIZATION,
            "access": "'custom'",
            **zero("level"),
        },
    ),
    (
        WORKSPACES,
        "grants",
        {
            **named("g", "id"),
            **named("w", "workspace_id"),
            **IN_TEAM,
            **IN_ORGANIZATION,
            "access": "'read'",
            "level": "1",
        },
    ),
    (
        VARIABLES,
        "variables",
        {
            **named("v", "id", "key", "version_id", "description"),
            "workspace_id": "'w' || (n % 5000)",
            "workspace_name": "'w' || (n % 5000)",
            **IN_ORGANIZATION,
            "category": "'env'",
            "sealed_value": "$2",
            **zero("hcl", "sensitive", "value_bytes", "created_at"),
        },
    ),
    (
        ENTRIES,
        "audit_entries",
        {
            "stream_id": "'w' || (n % 5000)",
            **IN_ORGANIZATION,
            "sequence": "1 + n / 5000",
            "at": "n",
            **named("x", "actor_kind", "actor_id", "request_id", "action", "key_id"),
            **named("x", "subject_type", "subject_id", "details"),
            "previous": "$2",
            "link": "$2",
        },
    ),
    (SETS, "streams", {**named("s", "id"), **STREAM}),
    (
        SETS,
        "variable_sets",
        {
            **named("s", "id", "name", "name_folded", "description", "scope"),
            **IN_ORGANIZATION,
            **zero("priority", "created_at"),
        },
    ),
    (
        SETS,
        "set_targets",
        {**named("x", "id"), **named("s", "set_id"), **named("w", "target_id", "workspace_id")},
    ),
    (
        VARIABLES,
        "set_variables",
        {
            **named("x", "id", "key", "version_id", "description"),
            "set_id": "'s' || (n % 5000)",
            "scope": "'s' || (n % 5000)",
            "category": "'env'",
            "sealed_value": "$2",
            **zero("hcl", "sensitive", "value_bytes", "created_at"),
        },
    ),
    (RUNNERS, "streams", {**named("r", "id"), **STREAM}),
    (
        RUNNERS,
        "runners",
        {
            **named("r", "id", "name", "name_folded", "body"),
            **IN_ORGANIZATION,
            **zero("version", "created_at"),
        },
    ),
    (
        JOBS,
        "runner_tokens",
        {
            "hash": "CAST('j' || n AS {bytes})",
            "runner_id": "'r' || (n % 5000)",
            "workspace_id": "'w' || (n % 5000)",
            **named("j", "thumbprint", "claims", "key_id"),
            **zero("version", "is_bound"),
            "expires_at": "n",
            "mac": "$2",
        },
    ),
    (JOBS, "used_assertions", {"hash": "CAST('j' || n AS {bytes})", "expires_at": "n"}),
    (
        RUNNERS,
        "runner_deliveries",
        {
            **named("r", "runner_id"),
            **named("w", "workspace_id"),
            **IN_ORGANIZATION,
            "at": "n",
            "versions": "'{{}}'",
        },
    ),
]

LARGE_TABLES = {"tokens", *(table for count, table, _ in LOADING if count >= 1000)}
"""Those in which looking at every row would be felt."""


async def load(tx: Transaction) -> None:
    for count, table, columns in LOADING:
        await tx.execute(
            "WITH RECURSIVE numbers (n) AS "  # noqa: S608
            "(SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) "
            f"INSERT INTO {table} ({', '.join(columns)}) "
            f"SELECT {', '.join(columns.values())} FROM numbers "
            # PostgreSQL wants to know the type of a parameter also where it has no use.
            "WHERE CAST($2 AS {bytes}) IS NOT NULL",
            count - 1,
            b"x" * 40,
        )
    for number in range(TOKENS):
        await tx.execute(
            "INSERT INTO tokens (id, hash, user_id, created_at, expires_at) "
            "VALUES ($1, $2, $3, 0, $4)",
            f"a{number}",
            number.to_bytes(32),
            f"u{number % USERS}",
            LATEST if number % 100 else None,
        )


class Watched:
    """A `Database` that remembers what is asked of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seen: dict[str, Statement] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._database, name)
        if name == "refuse_also":
            return method
        return lambda *bodies, **more: method(*map(self._watched, bodies), **more)

    async def batch(
        self, body: Body[T], deadline: Deadline, *, waits: bool, is_brief: bool = False
    ) -> T:
        # As if each were alone: a batch's statements are those of `Lookup.batched`.
        del waits, is_brief
        return await self._database.batch(self._watched(body), deadline, waits=True)

    def _watched(self, body: Body[T]) -> Body[T]:
        has_many = isinstance(self._database, PostgresDatabase)

        async def run(tx: Transaction) -> T:
            return await body(Listening(tx, self.seen, has_many=has_many))

        return run


class Listening(ObservedTransaction):
    """Notes each statement, and the batched one of a lookup where the engine has it."""

    def __init__(self, tx: Transaction, seen: dict[str, Statement], *, has_many: bool) -> None:
        super().__init__(tx, self._see)
        self._seen = seen
        self._has_many = has_many

    def _see(self, sql: str, args: tuple[object, ...]) -> None:
        self._seen[sql] = Statement(sql, args)

    async def look_up_all(self, lookup: Lookup, *args: object) -> Sequence[Row]:
        if self._has_many:
            self._see(lookup.batched, tuple([arg] * 32 for arg in args))
        return await super().look_up_all(lookup, *args)

    async def lock_each(
        self, lookup: Lookup, calls: Sequence[tuple[object, ...]]
    ) -> Sequence[tuple[Row | None, bool | None]]:
        if self._has_many and lookup.locking is not None:
            self._see(lookup.locking.batched, tuple([arg] * 32 for arg in calls[0]))
        return await super().lock_each(lookup, calls)


class Large(NamedTuple):
    """A tenant in a large store, and who watches what its calls ask of it."""

    tenant: Tenant
    watched: Watched


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def large(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Large]:
    with fresh(request, tmp_path_factory.mktemp("large")) as url:
        async with open_deployment(url) as deployment:
            await deployment.services.database.write(load)
            if request.param == "postgres":
                await deployment.services.database.write(lambda tx: tx.script("ANALYZE"))
            watched = Watched(deployment.services.database)
            async with watching(deployment, watched) as watching_deployment:
                tenant = await build_tenant(watching_deployment)
                watched.seen.clear()
                yield Large(tenant, watched)


@asynccontextmanager
async def watching(deployment: Deployment, watched: Watched) -> AsyncIterator[Deployment]:
    """The same deployment, served from a store that is watched."""
    database, quota = cast(Database, watched), deployment.config.quota
    setup = wiring.Setup(issuers=ISSUERS, service=SERVICE)
    services = wiring.services(database, deployment.keys, quota, setup=setup)
    application = Application(
        wiring.routes(services),
        services.sessions,
        ClientAddresses(deployment.config.trusted_proxies),
    )
    async with InProcess(application) as client:
        yield replace(deployment, services=services, client=client)


AUDIT_QUERIES = (
    "page[size]=2",
    "filter[since]=2020-01-01T00:00:00Z&page[size]=20",
    "filter[actor]=x&filter[key]=code&filter[workspace]=network",
)


async def use_every_hot_route(tenant: Tenant) -> None:
    """As callers of every kind; what the owner asks for succeeds."""
    workspace, team = tenant.workspaces["network"], tenant.teams["crew"]
    made = await tenant.make_variable("planned")
    one = f"{tenant.vars_path()}/{made['id']}"
    change = {"data": {"type": "vars", "id": made["id"], "attributes": {"value": "new"}}}
    events = f"/organizations/{tenant.organization}/audit-events"
    calls: list[tuple[str, str, Any]] = [
        ("GET", tenant.vars_path(), None),
        ("GET", one, None),
        ("PATCH", one, change),
        ("POST", tenant.vars_path(), variable_document(key="code", value="[1]", hcl=True)),
        ("DELETE", one, None),
        ("GET", f"/organizations/{tenant.organization}/workspaces/network", None),
        ("GET", f"/workspaces/{workspace}/audit-events", None),
        ("GET", f"/workspaces/{workspace}/audit-events?filter[key]=code", None),
        *(("GET", f"{events}?{query}", None) for query in AUDIT_QUERIES),
        ("GET", f"/workspaces/{workspace}/access", None),
        ("GET", f"/workspaces/{workspace}", None),
        ("GET", f"/teams/{team}/audit-events", None),
        ("OPTIONS", tenant.vars_path(), None),
    ]
    for by, ids in (
        ("users", tenant.users),
        ("organization-memberships", tenant.memberships),
    ):
        several = linkage_document(ids["plain"], ids["reader"], type_=by)
        path = tenant.linkage_path(by=by)
        owners = tenant.linkage_path("owners", by)
        calls += [("POST", path, several), ("GET", path, None), ("DELETE", path, several)]
        calls += [("POST", owners, several), ("DELETE", owners, several)]
    for who in ("owner", "organization-token", "owners-token"):
        for method, path, document in calls[:2] if who != "owner" else calls:
            answer = await tenant.call(who, method, path, document)
            assert answer.status_code < 300 or who != "owner", answer.text
    await tenant.deployment.services.sessions.store_uses()
    await tenant.deployment.services.searches.place_older()


def scanned_by_sqlite(statement: Statement, plan: list[Row]) -> set[str]:
    """The tables of which every row, or every entry of an index, is looked at."""
    scanned, named = (
        Counter(row[3].split()[1] for row in plan if row[3].startswith(f"{word} "))
        for word in ("SCAN", "CO-ROUTINE")
    )
    scanned -= named  # what is read of a subquery that has the name of a table
    aliases = {"caller": "tokens"} if "tokens AS caller" in statement.sql else {}
    return {aliases.get(name, name) for name in scanned} & LARGE_TABLES


def scanned_by_postgres(_: Statement, plan: list[Row]) -> set[str]:
    (found,) = plan
    (tree,) = json.loads(found[0])
    waiting, scanned = [tree["Plan"]], set()
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", ())
        kind = node["Node Type"]
        if kind == "Seq Scan" or (kind.startswith("Index") and "Index Cond" not in node):
            scanned.add(node["Relation Name"])
    return scanned & LARGE_TABLES


async def plan_of(large: Large, statement: Statement) -> list[Row]:
    """How the statement would be run, in the words of the engine."""
    explain = "EXPLAIN QUERY PLAN " if is_on_sqlite(large) else "EXPLAIN (FORMAT JSON) "

    async def body(tx: Transaction) -> list[Row]:
        return list(await tx.fetch(explain + statement.sql, *statement.args))

    return await large.tenant.deployment.services.database.write(body)


def is_on_sqlite(large: Large) -> bool:
    return large.tenant.deployment.config.url.startswith("sqlite")


async def scanned(large: Large, statement: Statement) -> set[str]:
    """The large tables that the statement goes through from end to end."""
    find = scanned_by_sqlite if is_on_sqlite(large) else scanned_by_postgres
    return find(statement, await plan_of(large, statement))


async def test_no_statement_of_a_hot_route_goes_through_a_table(large: Large) -> None:
    await use_every_hot_route(large.tenant)
    assert len(large.watched.seen) >= 15
    found = {}
    for statement in list(large.watched.seen.values()):
        if names := await scanned(large, statement):
            found[statement.sql] = names
    assert found == {}


async def test_no_statement_about_sets_goes_through_a_table(large: Large) -> None:
    tenant, seen = large.tenant, large.watched.seen
    workspace, path = tenant.workspaces["network"], f"/organizations/{tenant.organization}/varsets"
    linked = linkage_document(workspace, type_="workspaces")
    at_project = linkage_document(tenant.project, type_="projects")
    attributes: dict[str, object] = {"name": "shared", "global": True}
    relations = {"workspaces": linked, "projects": at_project}
    data = {"type": "varsets", "attributes": attributes, "relationships": relations}
    seen.clear()
    made = (await tenant.call("owner", "POST", path, {"data": data})).json()["data"]["id"]
    one = f"/varsets/{made}"
    its = f"{one}/relationships/vars"
    assert (await tenant.call("owner", "POST", its, variable_document())).status_code == 201
    attributes["global"] = False
    for method, asked, document in (
        ("GET", one, None),
        ("GET", f"{path}?q=s", None),
        ("GET", its, None),
        ("GET", f"/workspaces/{workspace}/varsets", None),
        ("GET", f"/workspaces/{workspace}/applicable-varsets", None),
        ("GET", f"/projects/{tenant.project}/varsets", None),
        ("GET", f"/workspaces/{workspace}{its}", None),
        ("GET", f"/workspaces/{workspace}/all-vars", None),
        ("GET", f"/workspaces/{workspace}/effective-vars", None),
        ("PATCH", one, {"data": data}),
        ("POST", f"{one}/actions/preview", {"data": data}),
        ("DELETE", f"{one}/relationships/workspaces", linked),
        ("POST", f"{one}/relationships/workspaces", linked),
        ("DELETE", f"{one}/relationships/projects", at_project),
        ("POST", f"{one}/relationships/projects", at_project),
    ):
        for who in ("owner", "reader") if method == "GET" else ("owner",):
            answer = await tenant.call(who, method, asked, document)
            assert answer.status_code < 300, answer.text
    attributes["global"] = True
    assert (await tenant.call("owner", "PATCH", one, {"data": data})).status_code == 200
    assert (await tenant.call("owner", "DELETE", one)).status_code == 204
    for table in ("variable_sets", "set_targets", "set_variables"):
        assert [sql for sql in seen if table in sql], table
    asked_for = [(sql, one) for sql, one in seen.items() if one.args or "$1" not in sql]
    found = {sql: await scanned(large, one) for sql, one in asked_for}
    assert {sql: names for sql, names in found.items() if names} == {}


async def test_neither_jobs_nor_those_who_look_at_receipts_make_a_store_go_through_a_table(
    large: Large,
) -> None:
    tenant, seen = large.tenant, large.watched.seen
    job = await job_in(tenant)
    path = f"/organizations/{tenant.organization}/deliveries"
    lists = [path, f"{path}?filter[runner]=x&filter[workspace]=network&filter[variable]=v"]
    lists.append(f"/workspaces/{tenant.workspaces['network']}/deliveries")
    seen.clear()
    delivered = await job.deliver(await job.token())
    assert delivered.status_code == 200, delivered.text
    only = {"public-key": encoded(job.key.public), "only": ["password"]}
    assert (await job.deliver(await job.token(), only)).status_code == 200
    for each in lists:
        assert (await tenant.call("owner", "GET", each)).status_code == 200
    services = tenant.deployment.services
    await services.deliveries.forget_expired()
    # As the node that sends mail asks every few seconds.
    assert await services.database.read(queues.MEMOS.next_due) is not None
    await services.database.write(lambda tx: queues.MEMOS.claim(tx, 2**62, 2**62))
    for table in ("runner_tokens", "used_assertions", "runner_deliveries"):
        assert [sql for sql in seen if table in sql], table
    # What inserts many rows is sent without any, and looks for none.
    asked = [(sql, one) for sql, one in seen.items() if one.args or "$1" not in sql]
    found = {sql: await scanned(large, one) for sql, one in asked}
    assert {sql: names for sql, names in found.items() if names} == {}


async def test_what_a_runner_reaches_is_looked_up_by_ids_names_and_ranges_of_names(
    large: Large,
) -> None:
    database, seen = large.tenant.deployment.services.database, large.watched.seen
    seen.clear()
    await database.read(lambda tx: runners.reach(tx, "o1", ["w1"], ["w1", "w100*"]))
    (statement,) = seen.values()
    assert await scanned(large, statement) == set()
    if is_on_sqlite(large):  # PostgreSQL goes by how many there are
        steps = [step for *_, step in await plan_of(large, statement)]
        assert any("(organization_id=? AND name_folded>?" in step for step in steps), steps
        assert not any(step.endswith("(organization_id=?)") for step in steps), steps


async def test_names_for_a_star_within_a_pattern_are_one_row_out_of_an_index(large: Large) -> None:
    database, seen = large.tenant.deployment.services.database, large.watched.seen
    seen.clear()
    found = await database.read(lambda tx: runners.names(tx, "o1"))
    expected = await database.query(lambda tx: tx.column(_FOLDED, "o1"))
    assert found.split(" ") == expected
    statement = next(iter(seen.values()))
    assert await scanned(large, statement) == set()
    if is_on_sqlite(large):
        steps = [step for *_, step in await plan_of(large, statement)]
        assert any("COVERING INDEX" in step for step in steps), steps
        assert not any("TEMP B-TREE" in step for step in steps), steps


async def test_levels_are_looked_up_for_a_page_of_workspaces_and_not_for_all_before_it(
    large: Large,
) -> None:
    tenant, seen = large.tenant, large.watched.seen
    path = f"/organizations/{tenant.organization}/workspaces?page[size]=1&page[number]=2"
    for who in ("owner", "reader"):
        seen.clear()
        assert (await tenant.call(who, "GET", path)).status_code == 200
        (page,) = (one for one in seen.values() if "ORDER BY name_folded" in one.sql)
        if is_on_sqlite(large):  # PostgreSQL has it as a plan within the plan
            steps = [step for *_, step in await plan_of(large, page)]
            assert not any("CORRELATED" in step for step in steps), steps


_FOLDED = "SELECT name_folded FROM workspaces WHERE organization_id = $1 ORDER BY name_folded"
_HANDED_OUT = """
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 4999)
INSERT INTO runner_deliveries (runner_id, workspace_id, organization_id, at, versions)
SELECT 'r' || (n % 50), 'more-' || (n / 50), $1, n, '{"v":"1"}' FROM numbers
"""


async def test_a_page_of_receipts_is_a_range_of_an_index_in_order(large: Large) -> None:
    """However many there are: nothing is sorted, and none is joined to be counted."""
    seen, of = large.watched.seen, "runner_deliveries"
    database = large.tenant.deployment.services.database
    await database.write(lambda tx: tx.execute(_HANDED_OUT, "o1"))
    if not is_on_sqlite(large):
        await database.write(lambda tx: tx.script("ANALYZE"))
    for search, workspace_id, index in (
        (ReceiptSearch(), None, f"{of}_newest"),
        # All of an organization are looked at, and in the order in which they are stored.
        (ReceiptSearch(variable="v"), None, f"{of}_organization_id" if is_on_sqlite(large) else ""),
        (ReceiptSearch(workspace="more-7"), None, f"{of}_workspace_id"),
        (ReceiptSearch(), "more-7", f"{of}_workspace_id"),
    ):
        seen.clear()
        asked = partial(runners.page_of_deliveries, organization_id="o1", search=search)
        found = await large.watched.read(
            partial(asked, page=Page(size=7), workspace_id=workspace_id)
        )
        assert len(found.items) == 7
        page, count = [one for sql, one in seen.items() if of in sql]
        plans = await _plan(large, page), await _plan(large, count)
        assert index in plans[0]
        assert " runners" not in plans[1]
        # The others are joined to the page alone, and not to all that come before it.
        assert page.sql.index("OFFSET") < page.sql.index("JOIN")
        if index == f"{of}_newest":
            assert not re.search(r"TEMP B-TREE|Sort|Bitmap", plans[0])
        elif is_on_sqlite(large):
            assert index in plans[1]


async def test_an_organization_s_changes_are_a_range_of_an_index_in_order(
    large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before the page is not gone through, and nothing is sorted."""
    whole = f"/organizations/{large.tenant.organization}/audit-events?{AUDIT_QUERIES[-1]}"
    assert (await large.tenant.call("owner", "GET", whole)).status_code == 200
    monkeypatch.setattr(audit_pages, "_PIECE", 2)
    monkeypatch.setattr(audit_pages, "MOST_SEARCHED", 4)
    for query in AUDIT_QUERIES:
        first = f"/organizations/{large.tenant.organization}/audit-events?{query}"
        answer = await large.tenant.call("owner", "GET", first)
        following = answer.json()["links"]["next"].removeprefix("/api/v2")
        assert (await large.tenant.call("owner", "GET", following)).status_code == 200
    seen = list(large.watched.seen.items())
    asked = [one for sql, one in seen if sql.startswith("SELECT") and "ORDER BY at DESC" in sql]
    assert len(asked) >= 6
    url = large.tenant.deployment.config.url
    explain = "EXPLAIN QUERY PLAN " if url.startswith("sqlite") else "EXPLAIN "
    async with database_for(url, statement_seconds=10) as serving:
        for statement in asked:

            async def body(tx: Transaction, statement: Statement = statement) -> str:
                rows = await tx.fetch(explain + statement.sql, *statement.args)
                return "\n".join(str(row[-1]) for row in rows)

            plan = await serving.read(body)
            assert "audit_entries_by_organization" in plan
            assert not re.search(r"TEMP B-TREE|Sort|Bitmap", plan)
            if "(at, stream_id, sequence) <" in statement.sql:
                assert "sequence)<" in plan or "(ROW(at" in plan.partition("Filter")[0]


async def test_a_search_is_a_few_statements_that_look_up_keys(
    large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, seen = large.tenant, large.watched.seen
    await tenant.make_variable("sought")
    await put(tenant, await make_set(tenant, "sought", **as_global()), "sought")
    path = f"/organizations/{tenant.organization}/vars?filter[sensitive]=false"
    for who in ("owner", "reader", "plain"):  # whoever is new is looked at before they have a turn
        await tenant.call(who, "GET", path)
    for sought, statements, most, caller in itertools.chain.from_iterable(
        (("&filter[key]=s*", 6, *one), ("&q=GHT", 9, *one))
        for one in ((400, "owner"), (400, "reader"), (0, "reader"), (400, "plain"))
    ):
        monkeypatch.setattr(access_by_name, "MAX_LISTED", most)
        for more, found in (("&fields[vars]=key,value", 2), ("&filter[workspace]=network", 1)):
            seen.clear()
            answer = await tenant.call(caller, "GET", path + sought + more)
            assert len(answer.json()["data"]) == (0 if caller == "plain" else found)
            assert 1 <= len(seen) <= statements
            assert [one.sql for one in list(seen.values()) if await scanned(large, one)] == []


async def test_the_place_of_a_page_is_found_in_the_index_that_has_the_order(large: Large) -> None:
    tenant, seen = large.tenant, large.watched.seen
    seen.clear()
    path = f"/organizations/{tenant.organization}/vars?filter[sensitive]=true"
    await tenant.call("owner", "GET", path)
    (page,) = (one for sql, one in seen.items() if "looked_at" in sql)
    is_sqlite = tenant.deployment.config.url.startswith("sqlite")

    async def body(tx: Transaction) -> list[Row]:
        explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
        return list(await tx.fetch(explain + page.sql, *page.args))

    plan = "\n".join(str(row[-1]) for row in await tenant.deployment.services.database.write(body))
    bounds = (
        "variables_search (organization_id=? AND (key,workspace_name,category)>(?,?,?) AND key<?)"
        if is_sqlite
        else "ROW(key, workspace_name, category) > ROW("
    )
    assert bounds in plan
    assert "variables_search" in plan


@pytest.mark.parametrize("large", ["sqlite"], indirect=True, scope="module")
async def test_nobody_who_has_access_is_looked_for_in_every_team(large: Large) -> None:
    """PostgreSQL knows how many teams and members there are."""
    tenant, seen = large.tenant, large.watched.seen
    await tenant.call("owner", "GET", f"/workspaces/{tenant.workspaces['network']}/access")
    (ways,) = (one for sql, one in seen.items() if "ORDER BY teams.level" in sql)
    assert "team_members_membership_id" in str(await plan_of(large, ways))


async def while_serving(postgres: Postgres, plans: Body[T], *, with_statistics: bool = False) -> T:
    """What the plans are on a server that has just got a tenant."""
    with fresh_postgres(postgres) as url:
        async with open_deployment(url) as deployment:
            await build_tenant(deployment)
            if with_statistics:
                await deployment.services.database.write(lambda tx: tx.script("ANALYZE"))
        async with PostgresDatabase(url, statement_seconds=5.0) as serving:
            return await serving.write(plans)


async def test_teams_that_read_a_workspace_are_found_once_also_before_there_are_statistics(
    postgres: Postgres,
) -> None:
    """Else all teams of the organization are gone through for each of its members."""

    async def plans(tx: Transaction) -> list[str]:
        seen: dict[str, Statement] = {}
        place = Workspace("ws", "network", "org", "acme")
        await team_access.principals(Listening(tx, seen, has_many=True), place, 0, Page())
        some = [one for one in seen.values() if "principals" in one.sql]
        explained = [await tx.fetch(f"EXPLAIN {one.sql}", *one.args) for one in some]
        return ["\n".join(str(row[0]) for row in rows) for rows in explained]

    found = await while_serving(postgres, plans)
    assert ["hashed SubPlan" in plan and "EXISTS(SubPlan" in plan for plan in found] == [True]


async def test_what_a_foreign_key_looks_for_is_not_looked_for_in_the_whole_organization(
    large: Large,
) -> None:
    """A rename asks for the variables of its workspace like this, and a deletion does."""
    asked = (
        "SELECT 1 FROM variables "
        "WHERE workspace_id = $1 AND organization_id = $2 AND workspace_name = $3"
    )
    is_sqlite = large.tenant.deployment.config.url.startswith("sqlite")

    async def body(tx: Transaction) -> list[Row]:
        explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
        return list(await tx.fetch(explain + asked, "w1", "o1", "w1"))

    plan = "\n".join(
        str(row[-1]) for row in await large.tenant.deployment.services.database.read(body)
    )
    assert "workspace_id" in plan
    assert "variables_search" not in plan


async def test_while_serving_no_access_statement_goes_through_a_table_however_small(
    postgres: Postgres,
) -> None:
    asked = (access_statements.READ_WORKSPACE.locking, access_statements.READ_TEAM.locking)

    async def plans(tx: Transaction) -> str:
        found = [
            row[0]
            for lookup in asked
            if lookup is not None
            for row in await tx.fetch(f"EXPLAIN {lookup.batched}", [b"hash"], [0], ["id"])
        ]
        return "\n".join(found)

    found = await while_serving(postgres, plans, with_statistics=True)
    assert "Index Scan" in found
    assert "Seq Scan" not in found


async def test_the_token_of_a_job_is_found_by_its_hash_also_before_there_are_statistics(
    postgres: Postgres,
) -> None:
    """Else each delivery goes through all tokens that its workspace had within the hour."""

    async def plans(tx: Transaction) -> list[str]:
        seen: dict[str, Statement] = {}
        asking = Listening(tx, seen, has_many=True)
        await asking.lock_each(runners.HANDED, [(b"hash", 0, "id", "[]")])
        await effective.sealed_for_job(asking, ("id", b"hash", 0), Pace().keep, 1)
        explained = [await tx.fetch(f"EXPLAIN {one.sql}", *one.args) for one in seen.values()]
        return ["\n".join(str(row[0]) for row in rows) for rows in explained]

    found = await while_serving(postgres, plans)
    used = [re.findall(r"using (runner_tokens_\w+)", plan) for plan in found]
    assert len(used) >= 2
    assert all(set(each) == {"runner_tokens_pkey"} for each in used)


@pytest.mark.parametrize(
    ("sid", "user_id"), [("s-1", None), (None, "user-1"), ("s-1", "user-1")], ids=str
)
async def test_nobody_goes_through_all_tokens_for_whom_a_provider_signs_out(
    large: Large, sid: str | None, user_id: str | None
) -> None:
    seen = large.watched.seen
    seen.clear()
    await large.watched.read(lambda tx: tokens.of_sign_in(tx, "company", sid, user_id))
    (statement,) = seen.values()
    assert await scanned(large, statement) == set()


@pytest.mark.parametrize("large", ["sqlite"], indirect=True, scope="module")
async def test_members_are_found_by_their_names_and_not_by_a_look_at_each(large: Large) -> None:
    """PostgreSQL knows how many there are of either."""
    seen = large.watched.seen
    seen.clear()
    found = partial(memberships.find_user_ids, organization_id="o1", usernames=["u1", "u2"])
    assert await large.watched.read(found) == {"u1": "u1"}
    (statement,) = seen.values()
    plan = str(await plan_of(large, statement))
    assert all(f"{folded}=?" in plan for folded in ("username_folded", "invited_as_folded"))


@pytest.mark.parametrize("large", ["sqlite"], indirect=True, scope="module")
async def test_who_else_is_in_a_team_is_asked_of_those_that_somebody_is_in(large: Large) -> None:
    """PostgreSQL knows how many teams there are."""
    seen = large.watched.seen
    seen.clear()
    found = await large.watched.read(
        partial(teams.held_alone, organization_id="o1", user_id="u1001")
    )
    assert [team.id for team in found] == ["t1001"]
    (statement,) = seen.values()
    assert "(user_id=?)" in str(await plan_of(large, statement))


async def test_sessions_that_have_ended_are_not_looked_for_among_all_tokens(large: Large) -> None:
    """Each worker looks for them every minute."""
    seen = large.watched.seen
    seen.clear()
    await large.watched.read(partial(sign_ins.has_ended, now=1))
    await large.watched.write(partial(sign_ins.forget_ended, now=1))
    assert len(seen) == 2
    for statement in list(seen.values()):
        assert await scanned(large, statement) == set()


async def test_tokens_that_never_end_are_counted_without_a_look_at_others(large: Large) -> None:
    seen = large.watched.seen
    seen.clear()
    await large.watched.read(tokens.count_endless)
    (statement,) = seen.values()
    assert "tokens_endless" in " ".join(map(str, await plan_of(large, statement)))


async def test_what_data_keys_have_sealed_is_counted_in_ranges_of_an_index(large: Large) -> None:
    seen = large.watched.seen
    seen.clear()
    after = "o1", 5, "", 0
    await large.watched.read(partial(data_keys.page_of_entries, after=after, since=0))
    statement, *_ = seen.values()
    plan = "\n".join(map(str, await plan_of(large, statement)))
    assert "audit_entries_by_organization" in plan
    assert "sequence)>" in plan or "(ROW(at" in plan.partition("Filter")[0]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM variables WHERE description = $1",
        "UPDATE tokens SET last_used_at = 1 WHERE last_used_at = length($1)",
        "SELECT count(*) FROM audit_entries WHERE request_id = $1",
    ],
)
async def test_a_statement_that_goes_through_a_table_is_found_out(large: Large, sql: str) -> None:
    assert await scanned(large, Statement(sql, ("nothing",)))


async def test_nobody_is_looked_for_among_all_members_of_a_team(tmp_path: Path) -> None:
    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        watched = Watched(deployment.services.database)
        async with watching(deployment, watched) as watching_deployment:
            tenant = await build_tenant(watching_deployment)
            watched.seen.clear()
            await use_every_hot_route(tenant)
        found = []

        async def explain(tx: Transaction) -> None:
            for statement in watched.seen.values():
                plan = await tx.fetch("EXPLAIN QUERY PLAN " + statement.sql, *statement.args)
                steps = [
                    row[3] for row in plan if re.search(r"team_members .*\(team_id=\?\)", row[3])
                ]
                if steps:
                    found.append(statement.sql)

        await deployment.services.database.read(explain)
    assert found  # to list a team takes all of it
    assert [sql for sql in found if "hash = $1" in sql] == []


async def test_where_somebody_stands_is_found_by_an_index_of_little_else(large: Large) -> None:
    database, seen = large.watched, large.watched.seen
    seen.clear()
    actions = ("user.enable", "membership.update")
    about = partial(streams.newest_about, where=("s", "u"), actions=actions)
    for naming, but_of in ((None, ()), ("m1", ()), (None, ("u1", "u2"))):
        await database.read(partial(about, naming=naming, but_of=but_of))
    await database.read(partial(runners.proposed_by, organization_id="o", user_id="u"))
    await database.read(partial(memberships.organizations_of, user_id="u"))
    assert len(seen) == 5
    for statement in list(seen.values()):
        assert "audit_entries_standing" in await _plan(large, statement)


async def test_sqlite_builds_no_table_of_its_own_for_a_change_of_variables(tmp_path: Path) -> None:
    """As it does for each IN of more than two in the condition of an index."""
    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        watched = Watched(deployment.services.database)
        async with watching(deployment, watched) as watching_deployment:
            tenant = await build_tenant(watching_deployment)
            watched.seen.clear()
            made = await tenant.make_variable()
            path = f"{tenant.vars_path()}/{made['id']}"
            changed = {"data": {"type": "vars", "id": made["id"], "attributes": {"value": "us"}}}
            assert (await tenant.call("owner", "PATCH", path, changed)).status_code == 200
            assert (await tenant.call("owner", "DELETE", path)).status_code == 204
        assert [sql for sql in watched.seen if "INTO audit_entries" in sql]

        async def steps(tx: Transaction) -> dict[str, set[object]]:
            return {
                sql: {row[1] for row in await tx.fetch("EXPLAIN " + sql, *statement.args)}
                for sql, statement in watched.seen.items()
            }

        found = await deployment.services.database.read(steps)
    assert [sql for sql, names in found.items() if "OpenEphemeral" in names] == []


async def test_sqlite_goes_through_no_table_for_each_row_of_another_to_look_for_losses(
    tmp_path: Path,
) -> None:
    async with open_deployment(fresh_sqlite(tmp_path)) as deployment:
        database = deployment.services.database
        watched = Watched(database)
        await Diagnosis(watched, database.now).of_losses(Sealer(deployment.keys))
        asked = {sql: one.args for sql, one in watched.seen.items() if "OVER ()" in sql}
        assert len(asked) == 4

        async def scans(tx: Transaction) -> dict[str, int]:
            """How many of the tables that a statement joins it goes through, at most."""
            plans = {sql: await tx.fetch(f"EXPLAIN QUERY PLAN {sql}", *asked[sql]) for sql in asked}
            return {
                sql: max(Counter(row[1] for row in plan if row[3].startswith("SCAN")).values())
                for sql, plan in plans.items()
            }

        assert set((await database.read(scans)).values()) == {1}


async def test_postgresql_compares_no_stream_with_each_row_of_what_streams_count(
    large: Large,
) -> None:
    """Without an index for a join it would, and with 50,000 streams for minutes."""
    deployment, watched = large.tenant.deployment, large.watched
    watched.seen.clear()
    await Diagnosis(watched, deployment.services.database.now).of_losses(Sealer(deployment.keys))
    asked = [one for sql, one in watched.seen.items() if "FROM streams" in sql and "OVER" in sql]
    assert len(asked) == 3
    for one in asked:
        # What operators have accepted is little.
        assert (await _plan(large, one)).count("Join Filter") <= ("accepted" in one.sql)


async def plans_of(large: Large, who: str, path: str, word: str) -> list[str]:
    """How the statements with that word in them are carried out that a list takes."""
    tenant, seen = large.tenant, large.watched.seen
    seen.clear()
    assert (await tenant.call(who, "GET", path)).status_code == 200
    asked = [one for sql, one in seen.items() if word in sql]
    is_sqlite = tenant.deployment.config.url.startswith("sqlite")
    explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "

    async def body(tx: Transaction) -> list[str]:
        found = [await tx.fetch(explain + one.sql, *one.args) for one in asked]
        return ["\n".join(str(row[-1]) for row in rows) for rows in found]

    return await tenant.deployment.services.database.read(body)


async def test_what_a_member_reads_is_found_once_and_not_for_each_grant(large: Large) -> None:
    path = f"/teams/{large.tenant.teams['writers']}/team-workspaces?page[size]=1"
    plans = await plans_of(large, "reader", path, "AS reached")
    assert len(plans) == 2
    for plan in plans:
        assert "CORRELATED" not in plan
        assert "SubPlan" not in plan.replace("hashed SubPlan", "")


async def test_members_are_found_by_the_index_of_their_names(large: Large) -> None:
    path = f"/organizations/{large.tenant.organization}/organization-memberships"
    for name, columns in (
        ("user", ("username_folded", "email_folded")),
        ("email", ("email_folded",)),
    ):
        asked = f"{path}?filter[{name}]=a,b@c.d"
        (plan,) = await plans_of(large, "plain", asked, "invited_as_folded")
        for column in columns:
            assert re.search(rf"users_{column}_key|found .*\({column}=", plan)


RENAMES = 3_000
_RENAMED = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
INSERT INTO audit_entries (stream_id, organization_id, sequence, at, actor_kind, actor_id,
    request_id, action, subject_type, subject_id, details, key_id, previous, link)
SELECT $2, $2, 100000 * CAST($6 AS BIGINT) + n, n, 'user', 'u', 'r', $3, $4, $5,
    '{"name":"b","from":"once-' || n || '"}', 'k', $7, $7
FROM numbers
"""


async def _add_renames(tx: Transaction, workspace_id: str, first: int = 1) -> None:
    found = await tx.fetch_one("SELECT organization_id FROM workspaces WHERE id = $1", workspace_id)
    assert found is not None
    kinds = (
        ("organization.update", "organizations", found[0]),
        ("workspace.rename", "workspaces", workspace_id),
    )
    for number, kind in enumerate(kinds, start=first):
        await tx.execute(_RENAMED, RENAMES, found[0], *kind, number, b"x")


async def _most_rows(large: Large, statement: Statement) -> int:
    """How many rows a part of the statement goes through, at most."""

    async def body(tx: Transaction) -> list[Row]:
        explain = "EXPLAIN (ANALYZE, FORMAT JSON) "
        return list(await tx.fetch(explain + statement.sql, *statement.args))

    (found,) = await large.tenant.deployment.services.database.write(body)
    waiting, most = [json.loads(found[0])[0]["Plan"]], 0
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", ())
        left_out = node.get("Rows Removed by Filter", 0)
        most = max(most, (node["Actual Rows"] + left_out) * node["Actual Loops"])
    return int(most)


async def test_what_was_renamed_is_a_bounded_range_of_an_index_and_the_same_whoever_asks(
    large: Large,
) -> None:
    """However often an owner has renamed it: a flood of 404s is to stay cheap."""
    tenant, seen = large.tenant, large.watched.seen
    database = tenant.deployment.services.database
    await database.write(lambda tx: _add_renames(tx, tenant.workspaces["network"]))
    is_sqlite = tenant.deployment.config.url.startswith("sqlite")
    if not is_sqlite:
        await database.write(lambda tx: tx.script("ANALYZE"))
    last = f"once-{RENAMES}"
    inside = f"/organizations/{tenant.organization}/workspaces"
    for paths in (
        [f"/organizations/{name}" for name in ("never-there", tenant.other_organization, last)],
        [f"{inside}/{name}" for name in ("never-there", "payments", last)],
    ):
        asked: dict[tuple[str, str], Mapping[str, Statement]] = {}
        for who, path in itertools.product(("plain", "outsider"), paths):
            seen.clear()
            answer = await tenant.call(who, "GET", path)
            if answer.status_code == 404:
                asked[who, path] = dict(seen)
        assert len(asked) >= 5
        assert len({frozenset(statements) for statements in asked.values()}) == 1
        for statement in asked["plain", paths[0]].values():
            if "audit_entries" in statement.sql:
                assert "audit_entries_renamed" in await _plan(large, statement)
                assert is_sqlite or await _most_rows(large, statement) <= 200


async def test_a_file_finds_what_was_renamed_by_an_index(large: Large) -> None:
    tenant, seen = large.tenant, large.watched.seen
    services, network = tenant.deployment.services, tenant.workspaces["network"]
    await services.database.write(lambda tx: _add_renames(tx, network, first=3))
    if not tenant.deployment.config.url.startswith("sqlite"):
        await services.database.write(lambda tx: tx.script("ANALYZE"))
    file = Directory(organizations=(OrganizationEntry(tenant.organization),))
    seen.clear()
    await services.directory.apply(operator(), file, Options(dry_run=True))
    asked = [one for one in dict(seen).values() if "audit_entries" in one.sql]
    plans = [await _plan(large, statement) for statement in asked]
    renamed = "audit_entries_renamed"
    indexes = renamed, renamed, "audit_entries_of_projects", "audit_entries_of_sets"
    assert len(plans) == len(indexes)
    assert all(index in plan for index, plan in zip(indexes, plans, strict=True))


async def test_words_that_no_workspace_is_to_have_are_not_looked_for_one_by_one_in_each(
    large: Large,
) -> None:
    tenant, seen = large.tenant, large.watched.seen
    seen.clear()
    path = f"/organizations/{tenant.organization}/workspaces?search[exclude-tags]=a,b&page[size]=1"
    assert (await tenant.call("owner", "GET", path)).status_code == 200
    asked = [one for one in dict(seen).values() if "key_folded" in one.sql]
    plans = [await _plan(large, one) for one in asked]
    assert len(plans) == 2, "the page, and how many there are"
    for plan in plans:
        if tenant.deployment.config.url.startswith("sqlite"):
            assert "workspace_tags_workspace_id (workspace_id=?)" in plan
            assert "key_folded=?" not in plan
        else:
            assert "key_folded = ANY" not in plan


async def _plan(large: Large, statement: Statement) -> str:
    is_sqlite = large.tenant.deployment.config.url.startswith("sqlite")

    async def body(tx: Transaction) -> str:
        explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
        rows = await tx.fetch(explain + statement.sql, *statement.args)
        return "\n".join(str(row[-1]) for row in rows)

    return await large.tenant.deployment.services.database.write(body)
