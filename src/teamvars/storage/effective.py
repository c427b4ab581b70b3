"""What reaches a workspace: its own variables, and those of sets, with where each set stands."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from operator import itemgetter
from typing import get_args

from teamvars.domain.audit import Stream
from teamvars.domain.effective import (
    Holdings,
    Level,
    Reach,
    Run,
    Source,
    Supply,
    effective,
    winning,
)
from teamvars.domain.ids import prefix_of
from teamvars.domain.variable_sets import PREFIX, Parent
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.domain.workspaces import Usage
from teamvars.pace import in_batches
from teamvars.storage.access_statements import WAY
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.projects import PROJECT_OF
from teamvars.storage.variable_statements import COLUMNS
from teamvars.storage.variables import CATEGORIES, OpenValue, to_stored

ROW_BYTES = 512
"""What a variable counts beside its value."""

Chosen = Sequence[tuple[Source, Row]]
"""What counts of a key and category, with where it is from, and what does not in its order."""
Pause = Callable[[], Awaitable[None]]
"""May leave the event loop to others."""

_BATCH_BYTES = 256 * 1024
FEW_BYTES, _FEW_SOURCES = 64 * 1024, 16
"""Of so many the store finds what counts with one statement: it asks all that is above about each.
"""
_ALL_BYTES = 2**62
_AT_ONCE = 500
"""Variables that one thing is done with before others may have the loop."""

_REACHING = f"""FROM workspaces
JOIN set_targets ON set_targets.target_id
    IN (workspaces.id, workspaces.organization_id, {PROJECT_OF})
JOIN variable_sets ON variable_sets.id = set_targets.set_id"""


def _of(table: str, sealed: str) -> str:
    """What is selected of a table of variables, with the stream of their owner."""
    columns = ", ".join(f"{table}.{column}" for column in COLUMNS.split(", "))
    return f"""{table}.id, streams.id,
    {columns},
    {table}.value_bytes, {sealed.format(table)},
    CAST(streams.sequence AS BIGINT), CAST(streams.head AS {{bytes}})"""


def _every(sealed: str) -> str:
    """The variables of a workspace $1, if any, and of sets $2; of one that has none a row without
    one.
    """
    return f"""
SELECT {_of("variables", sealed)}
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id
WHERE streams.id = $1
UNION ALL
SELECT {_of("set_variables", sealed)}
FROM streams
LEFT JOIN set_variables ON set_variables.set_id = streams.id
WHERE streams.id IN {{each $2}}
"""


def _level(is_priority: bool, parent: Parent, way: Reach) -> str:
    """When a set is at which level."""
    target = {"global": "workspaces.organization_id", "workspace": "workspaces.id"}
    its = "IS NULL" if parent == "organization" else "IS NOT NULL"
    source = Source.of_set("", "", is_priority=is_priority, parent=parent, reach=[way])
    return f"""
        WHEN variable_sets.priority = {is_priority:d} AND variable_sets.project_id {its}
            AND set_targets.target_id = {target.get(way, PROJECT_OF)} THEN {source.level.rank}"""


_LEVELS = "".join(_level(*its) for its in product((True, False), get_args(Parent), get_args(Reach)))


def _unbeaten(others: str, condition: str) -> str:
    """Whether none of the others has the key and category of `its`, where that is so."""
    return f"""NOT EXISTS (
    SELECT 1 FROM {others}
    WHERE higher.key = its.key AND higher.category = its.category AND {condition})"""


# CROSS JOIN fixes the order of the joins on SQLite.
_OF_SETS = "reaching CROSS JOIN set_variables AS higher"


def _counting(sealed: str, few: str = "") -> str:
    """What counts in a workspace $1; of each source of which nothing does, a row without one."""
    of_workspace, own = Level.WORKSPACE.rank, "$1 = higher.workspace_id"
    its = "higher.set_id = reaching.id"
    before = f"{its} AND (reaching.level, reaching.name) < (source.level, source.name)"
    return f"""
WITH reaching AS MATERIALIZED (
    SELECT set_targets.set_id AS id, variable_sets.name, min(CASE{_LEVELS} END) AS level
    {_REACHING}
    WHERE workspaces.id = $1
    GROUP BY set_targets.set_id, variable_sets.name
)
SELECT {_of("its", sealed)}
FROM streams
LEFT JOIN variables AS its ON its.workspace_id = streams.id{few}
    AND {_unbeaten(_OF_SETS, f"{its} AND reaching.level < {of_workspace}")}
WHERE streams.id = $1
UNION ALL
SELECT {_of("its", sealed)}
FROM reaching AS source
JOIN streams ON streams.id = source.id
LEFT JOIN set_variables AS its ON its.set_id = source.id{few}
    AND {_unbeaten("variables AS higher", f"{own} AND source.level > {of_workspace}")}
    AND {_unbeaten(_OF_SETS, before)}
"""


# Without the sealed values of sensitive variables, and with them.
_OPEN = """CASE WHEN {0}.sensitive = 0 THEN {0}.sealed_value END,
    CASE WHEN {0}.sensitive = 0 THEN {0}.key_version END"""
_SEALED = "{0}.sealed_value, {0}.key_version"
_EVERY_READABLE, _EVERY_SEALED = _every(_OPEN), _every(_SEALED)
_COUNTING = _counting(_OPEN)

# Where the streams are of all that reaches a workspace: a row for itself, and one for each way in
# which a set does.
_SUPPLIES = f"""
SELECT of_set.id, CAST(of_set.head AS {{bytes}}), CAST(of_set.sequence AS BIGINT),
    CAST(of_set.variables AS BIGINT), CAST(of_set.value_bytes AS BIGINT),
    CAST(NULL AS TEXT), 0, CAST(NULL AS TEXT), of_set.id
FROM streams AS of_set
WHERE of_set.id = $1
UNION ALL
SELECT {WAY}
{_REACHING}
JOIN streams AS of_set ON of_set.id = set_targets.set_id
WHERE workspaces.id = $1
"""


def _for_job(sql: str) -> str:
    """The same for whoever has the token of a job, $2 its hash, at the time $3."""
    return sql.replace(
        "= $1",
        """= $1 AND $1 = (
    SELECT runner_tokens.workspace_id FROM runner_tokens
    WHERE runner_tokens.hash = $2 AND runner_tokens.expires_at > $3
)""",
    )


_SUPPLIES_FOR_JOB = _for_job(_SUPPLIES)
# Without any variable where there are more than few.
_COUNTING_FOR_JOB = _for_job(
    _counting(
        _SEALED,
        f"""
    AND (SELECT count(*) FROM reaching) < {_FEW_SOURCES}
    AND {FEW_BYTES} >= (
        SELECT sum(every.variables * {ROW_BYTES} + every.value_bytes) FROM streams AS every
        WHERE every.id IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT reaching.id FROM reaching))""",
    )
)
_WAYS: Mapping[str, Reach] = {"ws": "workspace", "prj": "project", "org": "global"}
"""By the prefix of what a set is attached to."""


async def supplies(tx: Transaction, workspace_id: str) -> Sequence[Supply]:
    """What a workspace has variables from, itself among them; nothing: there is no such one."""
    return _supplies(await tx.fetch(_SUPPLIES, workspace_id))


async def sealed_of_workspace(tx: Transaction, workspace_id: str, pause: Pause) -> Holdings | None:
    """What counts in a workspace, with its sealed values, sensitive ones too; None: there is no
    such workspace.
    """
    return await _holdings(tx, partial(supplies, tx, workspace_id), pause)


async def sealed_for_job(
    tx: Transaction, asked: tuple[str, bytes, int], pause: Pause, most: int
) -> Holdings | None:
    """As `sealed_of_workspace`, if at that time a token of a job with that hash is for the
    workspace, and has not expired. Whether it is good is not asked: nothing is opened here. Without
    the variables where all that reaches the workspace has more bytes of values than the `most`.
    """
    rows = await tx.fetch(_COUNTING_FOR_JOB, *asked)
    if found := _by_name(rows):
        streams = {row[1]: (row[-1], row[-2]) for row in rows}
        return Holdings.at(streams, [to_stored(row[:12]) for row in found])

    async def look() -> Sequence[Supply]:
        return _supplies(await tx.fetch(_SUPPLIES_FOR_JOB, *asked))

    return await _holdings(tx, look, pause, most)


async def _holdings(
    tx: Transaction,
    look: Callable[[], Awaitable[Sequence[Supply]]],
    pause: Pause,
    most: int = _ALL_BYTES,
) -> Holdings | None:
    reading = Reading(pause, sealed=True)
    while every := await look():
        streams = {one.source.id: (one.head, one.sequence) for one in every}
        if sum(one.usage.value_bytes for one in every) > most:
            return Holdings.at(streams, (), is_whole=False)
        chosen = await reading.chosen(tx, every)
        if chosen is not None:
            return Holdings.at(streams, await _stored(chosen, pause))
    return None


async def _stored(chosen: Iterable[Chosen], pause: Pause) -> list[StoredVariable]:
    found: list[StoredVariable] = []
    for some in in_batches(chosen, len, _AT_ONCE):
        found += (to_stored(row[:12]) for (_, row), *_ in some)
        await pause()
    return found


def supplies_of(own: Stream, ways: Iterable[Row]) -> Sequence[Supply]:
    """What a workspace has variables from: itself, by its stream, and the sets of those rows of
    `access.workspace_and_sets`.
    """
    itself = Supply(Source.of_workspace(own.id), own.head, own.sequence, own.usage)
    return [itself, *_supplies(ways)]


def _supplies(rows: Iterable[Row]) -> Sequence[Supply]:
    ways: dict[str, set[Reach]] = {}
    told: dict[str, Row] = {}
    for row in rows:
        told[row[0]] = row
        ways.setdefault(row[0], set()).add(_WAYS[prefix_of(row[-1])])
    return [_supply(row, ways[id_]) for id_, row in told.items()]


def _supply(row: Row, reach: Iterable[Reach]) -> Supply:
    id_, head, sequence, variables, value_bytes, name, priority, project_id, _ = row
    usage = Usage(variables, value_bytes)
    if name is None:
        return Supply(Source.of_workspace(id_), head, sequence, usage)
    parent: Parent = "organization" if project_id is None else "project"
    source = Source.of_set(id_, name, is_priority=bool(priority), parent=parent, reach=reach)
    return Supply(source, head, sequence, usage)


def size(supply: Supply) -> int:
    """The bytes of what a source has."""
    return supply.usage.variables * ROW_BYTES + supply.usage.value_bytes


async def _counted(tx: Transaction, every: Sequence[Supply]) -> Iterable[Chosen] | None:
    """What the store finds to count in a workspace, with one statement."""
    sources = {one.source.id: one.source for one in every}
    itself = next(one.source.id for one in every if one.source.level is Level.WORKSPACE)
    rows = await tx.fetch(_COUNTING, itself)
    if {row[1]: row[-1] for row in rows} != {one.source.id: one.head for one in every}:
        return None
    return [((sources[row[1]], row),) for row in _by_name(rows)]


def _by_name(rows: Iterable[Row]) -> list[Row]:
    return sorted((row for row in rows if row[0] is not None), key=itemgetter(2, 4))


class Reading:
    """The variables of all that reaches a workspace. Where they are many they are read source by
    source, each as its stream stood then; what a stream has left behind is read again, and nothing
    else: so it comes to an end however many write, and is of one moment then.
    """

    def __init__(
        self, pause: Pause, *, sealed: bool = False, losers: bool = False, few: int = FEW_BYTES
    ) -> None:
        """`sealed`: with the sealed values of sensitive variables. `losers`: with what does not
        count. It pauses where others may have the loop. Of as `few` bytes the store finds what
        counts.
        """
        self._every = _EVERY_SEALED if sealed else _EVERY_READABLE
        self._losers = losers
        self._is_counted = not (sealed or losers)
        self._pause = pause
        self._few = few
        self._read: dict[str, tuple[bytes, list[tuple[str, str, Row]]]] = {}

    async def chosen(self, tx: Transaction, every: Sequence[Supply]) -> Iterable[Chosen] | None:
        """What counts of all that these have, by key, then category, and behind each what does not;
        None when a stream has moved, or something else reaches the workspace.
        """
        is_few = len(every) <= _FEW_SOURCES and sum(map(size, every)) <= self._few
        if self._is_counted and is_few:
            return await _counted(tx, every)
        runs = await self._runs(tx, every)
        if runs is None or self._losers:
            return None if runs is None else effective(runs)
        return effective(await self._winning(runs))

    async def _runs(self, tx: Transaction, every: Sequence[Supply]) -> Sequence[Run[Row]] | None:
        missing = [one for one in every if not self._has(one)]
        for some in in_batches(missing, size, _BATCH_BYTES):
            ids = [one.source.id for one in some]
            sets = [id_ for id_ in ids if prefix_of(id_) == PREFIX]
            own = next((id_ for id_ in ids if id_ not in sets), None)
            self._keep(await tx.fetch(self._every, own, each(sets)))
            await self._pause()
        if not all(map(self._has, every)):
            return None
        return [Run(one.source, self._read[one.source.id][1]) for one in every]

    async def _winning(self, runs: Iterable[Run[Row]]) -> Sequence[Run[Row]]:
        winners = []
        for run in winning(runs):
            winners.append(run)
            await self._pause()
        return winners

    def _has(self, one: Supply) -> bool:
        read = self._read.get(one.source.id)
        return read is not None and read[0] == one.head

    def _keep(self, rows: Iterable[Row]) -> None:
        read: dict[str, tuple[bytes, list[tuple[str, str, Row]]]] = {}
        for row in rows:
            held = read.setdefault(row[1], (row[-1], []))[1]
            if row[0] is not None:
                held.append((row[2], row[4], row))
        for _, held in read.values():
            held.sort()
        self._read |= read


def opened(row: Row, open_value: OpenValue) -> Variable:
    """The variable of a row that was read, with its value unless that is sensitive."""
    id_, owner_id, key, description, category, hcl, sensitive, version_id, at, *others = row
    _, sealed, by, *_ = others
    return Variable(
        id_,
        owner_id,
        key,
        None if sensitive else open_value(sealed, by, id_),
        description,
        CATEGORIES[category],
        hcl == 1,
        sensitive == 1,
        version_id,
        at,
    )
