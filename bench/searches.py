"""What a page of a search costs on a million variables, and 20,000 of sets: `.venv/bin/python -m
bench.searches [sqlite] [postgres] [distinct]`.

`distinct`: each of the million has a key of its own, so that most are looked at for a part of one.
For callers of every kind it prints how many variables the first pages have, which are of sets, and
those of workspaces alone, and the milliseconds of one: of the processor, on the event loop, and
elapsed, which on PostgreSQL is for the most part its own.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from teamvars.domain.access import Caller
from teamvars.domain.pages import CursorPaged
from teamvars.domain.variable_search import (
    FoundVariable,
    KeyRange,
    Place,
    SetPlace,
    VariableSearch,
)
from teamvars.security.tokens import hash_token
from teamvars.storage import access_by_name, variable_search
from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import database_for
from tests.support.deployment import open_deployment
from tests.support.postgres import LocalPostgres
from tests.support.tenant import Tenant, build_tenant

WORKSPACES, EACH, PAGES = 50_000, 20, 7
SETS, ATTACHED = 1000, 50
"""Sets of so many variables each, and how many workspaces each is attached to."""
CALLERS = {
    "owner": "owner",
    "50,000 grants": "manager",
    "500 of them spread": "writer",
    "the last 400": "hidden",
    "one grant": "reader",
}
SEARCHES = {
    "all": VariableSearch(size=100),
    "a key in every workspace": VariableSearch(KeyRange.of("variable_0019"), size=100),
    "a prefix": VariableSearch(KeyRange.of("variable_001*"), size=100),
    "a part of a key": VariableSearch(part="LE_0019", size=100),
    "a part of every key": VariableSearch(part="iable", size=100),
    "a part of no key": VariableSearch(part="url", size=100),
    "a part, sensitive": VariableSearch(part="iable", sensitive=True, size=100),
    "sensitive": VariableSearch(sensitive=True, size=100),
    "sensitive, none there": VariableSearch(KeyRange.of("variable_0003"), sensitive=True, size=100),
}

_NUMBERS = (
    "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) "
)


def _padded(prefix: str, number: str, width: int) -> str:
    text = f"CAST({number} AS TEXT)"
    return f"'{prefix}' || substr('{'0' * width}' || {text}, length({text}) + 1)"


async def fill(tx: Transaction, tenant: Tenant, keys: int, *, with_sets: bool = True) -> None:
    """Rows alone: nothing of them opens, and no trail tells of them."""
    row = await tx.fetch_one(
        "SELECT organization_id FROM workspaces WHERE id = $1", tenant.workspaces["network"]
    )
    assert row is not None
    id_, name = _padded("ws-", "n", 16), _padded("more-", "n", 5)
    await _fill_streams(tx, id_, WORKSPACES)
    await tx.execute(
        f"{_NUMBERS} INSERT INTO workspaces (id, organization_id, name, name_folded, created_at) "  # noqa: S608
        f"SELECT {id_}, CAST($2 AS TEXT), {name}, {name}, 0 FROM numbers",
        WORKSPACES - 1,
        row[0],
    )
    await tx.execute(
        f"{_NUMBERS} INSERT INTO variables (id, workspace_id, organization_id, workspace_name, "  # noqa: S608
        "key, category, description, hcl, sensitive, value_bytes, version_id, created_at, "
        "sealed_value) "
        f"SELECT {_padded('var-', 'n', 16)}, workspaces.id, organization_id, name_folded, "
        f"{_padded('variable_', f'n % {keys}', len(str(keys)) + 2)}, 'env', "
        "'What runs need to know', 0, "
        "CASE WHEN n % 10 = 9 THEN 1 ELSE 0 END, 12, 'version', 0, CAST($2 AS {bytes}) "
        "FROM numbers CROSS JOIN workspaces "
        f"WHERE workspaces.id = {_padded('ws-', f'n / {EACH}', 16)}",
        WORKSPACES * EACH - 1,
        b"x" * 40,
    )
    if with_sets:
        await _fill_sets(tx, row[0])
    for team, which in (
        ("managers", "name_folded LIKE 'more-%'"),
        ("secret", f"name_folded >= 'more-{WORKSPACES - 400}' AND name_folded LIKE 'more-%'"),
        ("writers", "name_folded LIKE 'more-__11%'"),
        ("readers", "name_folded = 'more-00777'"),
    ):
        await tx.execute("DELETE FROM grants WHERE team_id = $1", tenant.teams[team])
        await tx.execute(
            "INSERT INTO grants (id, team_id, workspace_id, organization_id, access, level) "  # noqa: S608
            f"SELECT '{team}-' || id, CAST($1 AS TEXT), id, organization_id, 'read', 1 "
            f"FROM workspaces WHERE {which}",
            tenant.teams[team],
        )


async def _fill_streams(tx: Transaction, id_: str, count: int) -> None:
    await tx.execute(
        f"{_NUMBERS} INSERT INTO streams (id, sequence, link, head) "  # noqa: S608
        f"SELECT {id_}, 0, CAST($2 AS {{bytes}}), CAST($2 AS {{bytes}}) FROM numbers",
        count - 1,
        b"",
    )


async def _fill_sets(tx: Transaction, organization_id: str) -> None:
    id_, name = _padded("varset-", "n", 16), _padded("set-", "n", 4)
    await _fill_streams(tx, id_, SETS)
    await tx.execute(
        f"{_NUMBERS} INSERT INTO variable_sets (id, organization_id, name, name_folded, "  # noqa: S608
        "description, scope, priority, created_at) "
        f"SELECT {id_}, CAST($2 AS TEXT), {name}, {name}, '', "
        f"CASE n WHEN 0 THEN CAST($2 AS TEXT) ELSE {id_} END, 0, 0 FROM numbers",
        SETS - 1,
        organization_id,
    )
    await tx.execute(
        f"{_NUMBERS} INSERT INTO set_targets (id, set_id, target_id, workspace_id) "  # noqa: S608
        f"SELECT {_padded('varset-', f'n / {ATTACHED}', 16)} || '/' || workspaces.id, "
        f"{_padded('varset-', f'n / {ATTACHED}', 16)}, workspaces.id, workspaces.id "
        f"FROM numbers CROSS JOIN workspaces WHERE workspaces.id = {_padded('ws-', 'n', 16)}",
        SETS * ATTACHED - 1,
    )
    await tx.execute(
        "INSERT INTO set_targets (id, set_id, target_id) "
        "SELECT id || '/' || organization_id, id, organization_id "
        "FROM variable_sets WHERE scope = organization_id"
    )
    await tx.execute(
        f"{_NUMBERS} INSERT INTO set_variables (id, set_id, scope, key, category, description, "  # noqa: S608
        "hcl, sensitive, value_bytes, version_id, created_at, sealed_value) "
        f"SELECT {_padded('var-', f'n + {WORKSPACES * EACH}', 16)}, variable_sets.id, scope, "
        f"{_padded('variable_', f'n % {EACH}', 4)}, 'env', 'What runs need to know', 0, "
        "CASE WHEN n % 10 = 9 THEN 1 ELSE 0 END, 12, 'version', 0, CAST($2 AS {bytes}) "
        "FROM numbers CROSS JOIN variable_sets "
        f"WHERE variable_sets.id = {_padded('varset-', f'n / {EACH}', 16)}",
        SETS * EACH - 1,
        b"x" * 40,
    )


async def _measure(database: Database, tenant: Tenant) -> None:
    for label, who in CALLERS.items():
        caller = Caller(hash_token(tenant.tokens[who]), "measured")
        for owners, begin in (("sets", None), ("workspaces", Place.before(""))):
            for what, wanted in SEARCHES.items():
                begun = wanted.begun_at(begin)
                times, found = await _walk(database, tenant.organization, caller, begun)
                used, took = zip(*times, strict=True)
                print(
                    f"{label:20} {owners:11} {what:26} "
                    f"{statistics.median(used):6.2f} ms, at most {max(used):6.2f}  "
                    f"elapsed {statistics.median(took):6.2f}, {max(took):6.2f}  {found}",
                    flush=True,
                )


async def _walk(
    database: Database,
    organization: str,
    caller: Caller,
    wanted: VariableSearch,
) -> tuple[list[tuple[float, float]], list[int]]:
    """The milliseconds of the first pages, from the start again after the last, and their sizes."""
    took: list[tuple[float, float]] = []
    found, after = [], None

    async def body(tx: Transaction) -> CursorPaged[FoundVariable, Place | SetPlace]:
        begun, used = time.perf_counter(), time.thread_time()
        now = time.time_ns() // 1000
        granted = await access_by_name.search(tx, caller, now, organization, wanted.workspace)
        page = await variable_search.find_page(tx, granted, wanted.begun_at(after))
        took.append(((time.thread_time() - used) * 1000, (time.perf_counter() - begun) * 1000))
        return page

    for _ in range(PAGES):
        page = await database.read(body)
        found.append(len(page.items))
        after = page.following
    return took, found


@contextmanager
def _postgres() -> Iterator[str]:
    with LocalPostgres() as server:
        server.create_database("searches")
        yield server.url("searches")


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/teamvars.db"


async def _run(store: AbstractContextManager[str], keys: int) -> None:
    with store as url:
        async with open_deployment(url) as deployment:
            tenant = await build_tenant(deployment)
            await deployment.services.database.write(lambda tx: fill(tx, tenant, keys))
            if url.startswith("postgres"):
                await deployment.services.database.write(lambda tx: tx.script("ANALYZE"))
        async with database_for(url, statement_seconds=10.0) as database:
            await _measure(database, tenant)


if __name__ == "__main__":
    asked = [*sys.argv[1:]]
    keys = WORKSPACES * EACH if "distinct" in asked else EACH
    for engine in [one for one in asked if one != "distinct"] or ("sqlite", "postgres"):
        print(engine)
        asyncio.run(_run(_sqlite() if engine == "sqlite" else _postgres(), keys))
