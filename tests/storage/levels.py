"""Organizations by chance, and whether each of their workspaces gets what an oracle says: a list of
thirteen levels that is gone through from its end (`tests/domain/test_effective.py`).

`python -m tests.storage.levels 100000` asks that of so many on SQLite, and with `--url URL` of an
empty database on PostgreSQL. It ends with 1 at the first that is not so, and says which.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from teamvars.domain import effective as domain
from teamvars.domain.effective import Supply
from teamvars.storage import effective
from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import database_for
from tests.domain.test_effective import Described, oracle
from tests.storage.stores import bring_up, fresh_sqlite, opened

AT_ONCE = 200
SHARES = 3
"""How many organizations are asked about beside each other, where the store can."""
_KEYS = [f"{key}/{category}" for key in "abc" for category in ("env", "tool")]
_NAMES = ["A", "a", "B", "Zz", "Zé", "a b", "é", "~"]


@dataclass
class OneSet:
    """A set: whose it is, what it is attached to by id, and its keys with their categories."""

    id: str
    name: str
    project: str | None
    is_global: bool
    is_priority: bool
    targets: set[str]
    keys: list[str]


@dataclass
class Made:
    """An organization: the project of each workspace, what these have themselves, and its sets."""

    id: str
    default: str
    projects: list[str]
    places: dict[str, str]
    own: dict[str, list[str]]
    sets: list[OneSet] = field(default_factory=list)

    def expected(self, workspace: str) -> dict[str, str]:
        """Whose variable counts of each key."""
        place = self.places[workspace]
        reaching = []
        for one in self.sets:
            ways = {"workspace"} if workspace in one.targets else set()
            ways |= {"project"} if place in one.targets else set()
            ways |= {"global"} if one.is_global else set()
            keys, is_of_project = frozenset(one.keys), one.project is not None
            reaching.append(
                Described(one.name, one.is_priority, is_of_project, frozenset(ways), keys)
            )
        return oracle(frozenset(self.own[workspace]), reaching)


def made(number: int, chance: random.Random) -> Made:
    """An organization of that number."""
    tail = f"{number:016d}"
    projects = [f"prj-{tail}", f"prj-1{tail}", f"prj-2{tail}"]
    places = {f"ws-{n}{tail}": chance.choice(projects) for n in range(3)}
    one = Made(f"org-{tail}", projects[0], projects, places, {})
    one.own = {id_: _some(chance, _KEYS) for id_ in places}
    taken: set[str] = set()
    for n, name in enumerate(chance.sample(_NAMES, chance.randrange(8))):
        project = chance.choice([None, None, *projects])
        is_global = project is None and chance.random() < 0.3
        keys = [key for key in _some(chance, _KEYS) if not is_global or key not in taken]
        taken |= set(keys) if is_global else set()
        made_set = OneSet(f"varset-{n}{tail}", name, project, is_global, False, set(), keys)
        made_set.is_priority = chance.random() < 0.4
        made_set.targets = set(_some(chance, _reachable(one, project)))
        one.sets.append(made_set)
    return one


def moved(before: Made, chance: random.Random) -> Made:
    """The same once a workspace has been moved: sets of the project that it leaves are attached to
    it no longer.
    """
    workspace = chance.choice(list(before.places))
    place = chance.choice(before.projects)
    after = replace(before, places={**before.places, workspace: place})
    after.sets = [
        one if one.project in (None, place) else replace(one, targets=one.targets - {workspace})
        for one in before.sets
    ]
    return after


def _reachable(one: Made, project: str | None) -> list[str]:
    if project is None:
        return [*one.places, *one.projects]
    return [project, *(id_ for id_, place in one.places.items() if place == project)]


def _some(chance: random.Random, every: Sequence[str]) -> list[str]:
    return [one for one in every if chance.random() < 0.4]


Rows = dict[str, list[tuple[object, ...]]]
_STREAM = "INSERT INTO streams (id, sequence, link, head) VALUES ($1, 1, $2, $2)"
_ORGANIZATION = (
    "INSERT INTO organizations (id, name, name_folded, data_key_version, created_at) "
    "VALUES ($1, $1, $1, 1, 1)"
)
_PROJECT = (
    "INSERT INTO projects (id, organization_id, name, name_folded, created_at) "
    "VALUES ($1, $2, $1, $1, 1)"
)
_WORKSPACE = (
    "INSERT INTO workspaces (id, organization_id, name, name_folded, created_at, project_id) "
    "VALUES ($1, $2, $1, $1, 1, $3)"
)
_SET = (
    "INSERT INTO variable_sets (id, organization_id, name, name_folded, description, scope, "
    "priority, created_at, project_id) VALUES ($1, $2, $3, $3, '', $4, $5, 1, $6)"
)
_TARGET = (
    "INSERT INTO set_targets (id, set_id, target_id, workspace_id, project_id) "
    "VALUES ($1, $2, $3, $4, $5)"
)
_VARIABLE = (
    "INSERT INTO variables (id, workspace_id, key, category, description, hcl, sensitive, "
    "sealed_value, value_bytes, version_id, created_at) "
    "VALUES ($1, $2, $3, $4, '', 0, 0, $5, 0, '', 1)"
)
_SET_VARIABLE = (
    "INSERT INTO set_variables (id, set_id, scope, key, category, description, hcl, sensitive, "
    "sealed_value, value_bytes, version_id, created_at) "
    "VALUES ($1, $2, $3, $4, $5, '', 0, 0, $6, 0, '', 1)"
)
_IN_ORDER = (
    _STREAM,
    _ORGANIZATION,
    _PROJECT,
    _WORKSPACE,
    _SET,
    _TARGET,
    _VARIABLE,
    _SET_VARIABLE,
)


def _rows(one: Made) -> Iterator[tuple[str, tuple[object, ...]]]:
    """What is stored of an organization; its default project has no row, as older releases leave
    it, unless something refers to it.
    """
    for id_ in (one.id, *one.places, *(each.id for each in one.sets)):
        yield _STREAM, (id_, id_.encode())
    yield _ORGANIZATION, (one.id,)
    named = {each.project for each in one.sets} | {id_ for each in one.sets for id_ in each.targets}
    for id_ in one.projects:
        if id_ != one.default or id_ in named:
            yield _PROJECT, (id_, one.id)
    for id_, place in one.places.items():
        yield _WORKSPACE, (id_, one.id, None if place == one.default else place)
        for n, (key, category) in enumerate(name.split("/") for name in one.own[id_]):
            yield _VARIABLE, (f"var-{n}-{id_}", id_, key, category, b"")
    for each in one.sets:
        yield from _rows_of_set(one, each)


def _rows_of_set(one: Made, each: OneSet) -> Iterator[tuple[str, tuple[object, ...]]]:
    scope = one.id if each.is_global else each.id
    flags = scope, int(each.is_priority), each.project
    yield _SET, (each.id, one.id, each.name, *flags)
    for target in (*each.targets, *([one.id] if each.is_global else [])):
        workspace = target if target in one.places else None
        project = target if target in one.projects else None
        yield _TARGET, (f"{each.id}/{target}", each.id, target, workspace, project)
    for n, (key, category) in enumerate(name.split("/") for name in each.keys):
        yield _SET_VARIABLE, (f"var-{n}-{each.id}", each.id, scope, key, category, b"")


async def stored(tx: Transaction, ones: Sequence[Made]) -> None:
    """Adds organizations."""
    rows: Rows = {sql: [] for sql in _IN_ORDER}
    for one in ones:
        for sql, row in _rows(one):
            rows[sql].append(row)
    for sql, some in rows.items():
        if some:
            await tx.write_each((sql, some))


async def _restore(tx: Transaction, before: Made, after: Made) -> None:
    for id_, place in after.places.items():
        if place != before.places[id_]:
            if place == after.default:
                place = None  # type: ignore[assignment]
            sql = "UPDATE workspaces SET project_id = $2 WHERE id = $1"
            await tx.execute(sql, id_, place)
    for was, is_ in zip(before.sets, after.sets, strict=True):
        for target in was.targets - is_.targets:
            await tx.execute("DELETE FROM set_targets WHERE id = $1", f"{was.id}/{target}")


async def _differing(tx: Transaction, one: Made) -> str | None:
    """What is not as the oracle says, if anything: as the store finds it for jobs, as it is found
    for lists, and with all that does not count.
    """
    for workspace in one.places:
        every, expected = await effective.supplies(tx, workspace), one.expected(workspace)
        for how, found in (await _ways(tx, workspace, every)).items():
            if found != expected:
                return f"{workspace}, {how}: {found}, and not {expected}: {one}"
    return None


async def _ways(
    tx: Transaction, workspace: str, every: Sequence[Supply]
) -> Mapping[str, Mapping[str, str]]:
    """Whose variable counts of each key, in each way in which that is found."""
    has = await effective.sealed_of_workspace(tx, workspace, _go_on)
    assert has is not None
    names = {each.source.id: each.source.name for each in every}
    variables = [each.variable for each in has.variables]
    found = {
        "for jobs": {f"{each.key}/{each.category}": names[each.owner_id] for each in variables}
    }
    reading = effective.Reading(effective.READABLE, (workspace,), _go_on)
    for how, runs in (
        ("alone", await reading.winners(tx, every)),
        ("with losers", await reading.runs(tx, every)),
    ):
        assert runs is not None
        rivals = domain.effective(runs)
        found[how] = {f"{row[2]}/{row[4]}": source.name for (source, row), *_ in rivals}
    return found


async def _go_on() -> None:
    """Pauses for nobody."""


async def compare(database: Database, first: int, count: int) -> str | None:
    """Makes so many organizations from that number on, asks what their workspaces get, and again
    once one has been moved; says what is not as the oracle says, if anything.
    """
    ones = [made(n, random.Random(n)) for n in range(first, first + count)]

    async def body(tx: Transaction) -> str | None:
        await stored(tx, ones)
        for n, one in enumerate(ones, start=first):
            after = moved(one, random.Random(-n))
            if told := await _differing(tx, one):
                return told
            await _restore(tx, one, after)
            if told := await _differing(tx, after):
                return f"moved, {told}"
        return None

    return await database.write(body)


async def _all(url: str, count: int) -> int:
    async with opened(url) as database:
        await bring_up(database)
    agreed = 0

    async def share(database: Database, number: int) -> str | None:
        nonlocal agreed
        for first in range(number * AT_ONCE, count, SHARES * AT_ONCE):
            some = min(AT_ONCE, count - first)
            if told := await compare(database, first, some):
                return told
            agreed += some
            sys.stderr.write(f"\r{agreed} of {count} agree")
        return None

    # As a node that serves: without statistics PostgreSQL would else go through whole tables.
    async with database_for(url, statement_seconds=60.0) as database:
        differing = await asyncio.gather(*(share(database, n) for n in range(SHARES)))
    for told in filter(None, differing):
        sys.stdout.write(f"{told}\n")
        return 1
    sys.stdout.write(f"{count} organizations, {18 * count} answers: all as the oracle says\n")
    return 0


def main() -> int:
    """See the module."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("count", type=int)
    words.add_argument("--url")
    asked = words.parse_args()
    if asked.url:
        return asyncio.run(_all(asked.url, asked.count))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_all(fresh_sqlite(Path(folder)), asked.count))


if __name__ == "__main__":
    sys.exit(main())
