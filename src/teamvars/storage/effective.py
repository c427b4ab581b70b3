"""What reaches a workspace: its own variables, and those of sets, with where each set stands."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import NamedTuple, get_args

from teamvars.domain.effective import (
    Holdings,
    Level,
    Name,
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
from teamvars.recent import Recent
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.projects import PROJECT_OF, TARGETS_OF
from teamvars.storage.variables import (
    COLUMNS,
    OPEN,
    SEALED,
    OpenValue,
    listed,
    selected,
    to_stored,
)

Held = Mapping[Name, Row]
"""Rows of a source by key, then category."""
ReadThen = tuple[bytes, Held]
"""The rows of a source, and its head as they were read."""

_KEPT_ROW_BYTES = 1024
"""What a row takes beside its value, with Python's own need; and a set beside its rows."""
ROW_BYTES = 512
"""What a variable counts beside its value."""

Pause = Callable[[], Awaitable[None]]
"""May leave the event loop to others."""

_BATCH_BYTES = 256 * 1024
FEW_BYTES, _FEW_SOURCES = 64 * 1024, 16
"""Of so many the store finds what counts with one statement: it asks all that is above about each.
"""
_ALL_BYTES = 2**62
_AT_ONCE = 500
"""Variables that one thing is done with before others may have the loop."""

# A row has ids of its own and of its owner, `COLUMNS`, size, sealed value and generation of its
# key; behind them it may have a head.
_SIZE = 2 + len(COLUMNS)
_REACHING = f"""FROM workspaces
JOIN set_targets ON set_targets.target_id
    IN {TARGETS_OF}
JOIN variable_sets ON variable_sets.id = set_targets.set_id"""

_HEAD = "CAST(streams.head AS {bytes})"
_IS_IT = "= $1"
# For whoever has the token of a job, $2 its hash, at the time $3.
_IS_ITS = """= $1 AND $1 = (
    SELECT runner_tokens.workspace_id FROM runner_tokens
    WHERE runner_tokens.hash = $2 AND runner_tokens.expires_at > $3
)"""


def _every(sealed: str) -> str:
    """The variables of a workspace $1, if any, and of sets $2; of one that has none a row without
    one.
    """
    return f"""
SELECT {selected("variables", "streams.id", sealed)}, {_HEAD}
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id
WHERE streams.id = $1
UNION ALL
SELECT {selected("set_variables", "streams.id", sealed)}, {_HEAD}
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


def _unbeaten(table: str, others: str, condition: str) -> str:
    """Whether none of the others has the key and category of a row, where that is so."""
    return f"""NOT EXISTS (
    SELECT 1 FROM {others}
    WHERE higher.key = {table}.key AND higher.category = {table}.category AND {condition})"""


# With a fraction it is a number of PostgreSQL's that is never out of range, whatever stands there.
_SQL_ROW_BYTES = f"{ROW_BYTES:.1f}"
_IS_FEW = f"""(SELECT count(*) FROM reaching) < {_FEW_SOURCES}
    AND {FEW_BYTES} >= (
        SELECT sum(every.variables * {_SQL_ROW_BYTES} + every.value_bytes) FROM streams AS every
        WHERE every.id IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT reaching.id FROM reaching))"""
# CROSS JOIN fixes the order of the joins on SQLite.
_OF_SETS = "reaching CROSS JOIN set_variables AS higher"


def _counting(is_it: str = _IS_IT) -> str:
    """What counts in a workspace $1, if all that reaches it has few variables; of each source of
    which nothing does, a row without one.
    """
    rank, its = Level.WORKSPACE.rank, "higher.set_id = reaching.id"
    own = f"$1 = higher.workspace_id AND source.level > {rank}"
    before = f"{its} AND (reaching.level, reaching.name) < (source.level, source.name)"
    return f"""
WITH reaching AS MATERIALIZED (
    SELECT set_targets.set_id AS id, variable_sets.name, min(CASE{_LEVELS} END) AS level
    {_REACHING}
    WHERE workspaces.id {is_it}
    GROUP BY set_targets.set_id, variable_sets.name
)
SELECT {selected("variables", "streams.id")}, {_HEAD}
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id AND {_IS_FEW}
    AND {_unbeaten("variables", _OF_SETS, f"{its} AND reaching.level < {rank}")}
WHERE streams.id {is_it}
UNION ALL
SELECT {selected("set_variables", "streams.id")}, {_HEAD}
FROM reaching AS source
JOIN streams ON streams.id = source.id
LEFT JOIN set_variables ON set_variables.set_id = source.id AND {_IS_FEW}
    AND {_unbeaten("set_variables", "variables AS higher", own)}
    AND {_unbeaten("set_variables", _OF_SETS, before)}
"""


# Of a stream, in the places of a variable of its owner, key, description, category, hcl, sensitive
# version, time, size, value and generation of its key. It is what `_supply` takes.
_OF_STREAM = """CAST(NULL AS TEXT), streams.id,
    {name}, {project}, {target},
    {priority}, CAST(streams.variables AS BIGINT), '', CAST(NULL AS BIGINT),
    CAST(streams.value_bytes AS BIGINT), CAST(streams.head AS {{bytes}}), CAST(NULL AS BIGINT)"""


def _supplying(sealed: str, is_it: str = _IS_IT) -> str:
    """Where the streams are of all that reaches a workspace $1, how much they have, and what there
    is to know of the levels: a row for itself, and one for each way in which a set does. And its
    own variables, if they are few.
    """
    itself = _OF_STREAM.format(name="''", project="''", target="streams.id", priority="0")
    of_set = _OF_STREAM.format(
        name="variable_sets.name",
        project="coalesce(variable_sets.project_id, '')",
        target="set_targets.target_id",
        priority="variable_sets.priority",
    )
    # First what has columns of tables: they say of which types all rows are.
    return f"""
SELECT {selected("variables", "variables.workspace_id", sealed)}
FROM streams CROSS JOIN variables
WHERE streams.id {is_it} AND variables.workspace_id = streams.id
    AND streams.variables * {_SQL_ROW_BYTES} + streams.value_bytes <= {FEW_BYTES}
UNION ALL
SELECT {itself}
FROM streams
WHERE streams.id {is_it}
UNION ALL
SELECT {of_set}
{_REACHING}
JOIN streams ON streams.id = set_targets.set_id
WHERE workspaces.id {is_it}
"""


class _Kept(NamedTuple):
    """The rows of a set, under the data keys that it was read for: a value that is sealed anew
    moves no head, and its former seal opens only as long as there is the key.
    """

    read: ReadThen
    keys: bytes


class KeptRows:
    """The readable rows of sets as they were at their heads, with their values as they are sealed
    in the store.
    """

    def __init__(self, max_bytes: int) -> None:
        self._sets: Recent[_Kept] = Recent(max_bytes)

    def find(self, every: Iterable[Supply], keys: bytes) -> dict[str, ReadThen]:
        """Those that there are of some sources where these stand, by their ids; `keys` are the data
        keys that are to open them.
        """
        found: dict[str, ReadThen] = {}
        for one in every:
            kept = self._sets.find(one.source.id)
            if kept is not None and kept.read[0] == one.head and kept.keys == keys:
                found[one.source.id] = kept.read
        return found

    def keep(self, some: Iterable[Supply], keys: bytes, read: Mapping[str, ReadThen]) -> None:
        """Keeps those of the sets among some sources."""
        for one in some:
            if one.source.level is not Level.WORKSPACE:
                size = _KEPT_ROW_BYTES * (1 + one.usage.variables) + one.usage.value_bytes
                self._sets.keep(one.source.id, _Kept(read[one.source.id], keys), size)


class How(NamedTuple):
    """How it is asked what a workspace has variables from, and for these."""

    supplies: str
    every: str


READABLE = How(_supplying(OPEN), _every(OPEN))
_SEALED_TOO = How(_supplying(SEALED), _every(SEALED))
_OF_JOB = How(_supplying(SEALED, _IS_ITS), _SEALED_TOO.every)
_COUNTING = _counting()
_COUNTING_FOR_JOB = _counting(_IS_ITS)
_NAME = itemgetter(2, 4)
"""The key of a row, then its category."""
_AS_STORED = itemgetter(slice(_SIZE + 3))
"""What `to_stored` takes of a row."""
_LISTED = itemgetter(0, *range(2, _SIZE), _SIZE + 1, _SIZE + 2)
"""What a list has of a row."""
_WAYS: Mapping[str, Reach] = {"ws": "workspace", "prj": "project", "org": "global"}
"""By the prefix of what a set is attached to."""


async def supplies(tx: Transaction, workspace_id: str) -> Sequence[Supply]:
    """What a workspace has variables from, itself among them; nothing: there is no such one."""
    return _told(await tx.fetch(READABLE.supplies, workspace_id))[0]


async def sealed_of_workspace(tx: Transaction, workspace_id: str, pause: Pause) -> Holdings | None:
    """What counts in a workspace, with its sealed values, sensitive ones too; None: there is no
    such workspace.
    """
    return await _holdings(tx, _COUNTING, Reading(_SEALED_TOO, (workspace_id,), pause), _ALL_BYTES)


async def sealed_for_job(
    tx: Transaction, asked: tuple[str, bytes, int], pause: Pause, most: int
) -> Holdings | None:
    """As `sealed_of_workspace`, if at that time a token of a job with that hash is for the
    workspace, and has not expired. Whether it is good is not asked: nothing is opened here. Without
    the variables where all that reaches the workspace has more bytes of values than the `most`.
    """
    return await _holdings(tx, _COUNTING_FOR_JOB, Reading(_OF_JOB, asked, pause), most)


async def _holdings(
    tx: Transaction, counting: str, reading: "Reading", most: int
) -> Holdings | None:
    rows = await tx.fetch(counting, *reading.asked)
    if found := sorted((row for row in rows if row[0] is not None), key=_NAME):
        return Holdings.at(
            {row[1]: row[-1] for row in rows}, [to_stored(_AS_STORED(row)) for row in found]
        )
    while every := await reading.look(tx):
        heads = {one.source.id: one.head for one in every}
        if sum(one.usage.value_bytes for one in every) > most:
            return Holdings.at(heads, (), is_whole=False)
        runs = await reading.winners(tx, every)
        if runs is not None:
            return Holdings.at(heads, await reading.stored(runs))
    return None


def _told(rows: Iterable[Row]) -> tuple[Sequence[Supply], Sequence[Row]]:
    """What reaches a workspace, and its own variables, if they have come along."""
    own: list[Row] = []
    told: dict[str, Row] = {}
    ways: dict[str, list[Reach]] = {}
    for row in rows:
        if row[0] is not None:
            own.append(row)
        else:
            told[row[1]] = row
            ways.setdefault(row[1], []).append(_WAYS[prefix_of(row[4])])
    return [_supply(row, ways[id_]) for id_, row in told.items()], own


def _supply(row: Row, reach: Iterable[Reach]) -> Supply:
    _, id_, name, project, target, priority, variables, _, _, value_bytes, head, _ = row
    usage = Usage(variables, value_bytes)
    if target == id_:
        return Supply(Source.of_workspace(id_), head, usage)
    parent: Parent = "project" if project else "organization"
    source = Source.of_set(id_, name, is_priority=priority == 1, parent=parent, reach=reach)
    return Supply(source, head, usage)


def size(supply: Supply) -> int:
    """The bytes of what a source has."""
    return supply.usage.variables * ROW_BYTES + supply.usage.value_bytes


def opened(run: Run[Row], open_value: OpenValue) -> Iterator[Variable]:
    """The variables of a source, each opened as it is asked for, unless it is sensitive."""
    return listed(map(_LISTED, run.held.values()), run.source.id, open_value)


class Reading:
    """The variables of all that reaches a workspace. Where they are many they are read source by
    source, each as its stream stood then; what a stream has left behind is read again, and nothing
    else: so it comes to an end however many write, and is of one moment then.
    """

    def __init__(
        self, how: How, asked: tuple[object, ...], pause: Pause, kept: KeptRows | None = None
    ) -> None:
        """It pauses where others may have the loop. `kept`: what need not be read."""
        self.asked = asked
        self._how = how
        self._pause = pause
        self._kept = kept
        self._read: dict[str, ReadThen] = {}

    async def look(self, tx: Transaction) -> Sequence[Supply]:
        """What the workspace has variables from, itself among them; nothing: there is no such
        one, or nobody who may ask.
        """
        every, own = _told(await tx.fetch(self._how.supplies, *self.asked))
        if own:
            (itself,) = (one for one in every if one.source.level is Level.WORKSPACE)
            self._read[itself.source.id] = itself.head, _held(own)
        return every

    async def runs(
        self, tx: Transaction, every: Sequence[Supply], keys: bytes = b""
    ) -> Sequence[Run[Row]] | None:
        """All that these have; None when a stream has moved. `keys`: the wrapped data keys that are
        to open it.
        """
        if self._kept is not None:
            self._read |= self._kept.find(every, keys)
        missing = [one for one in every if not self._has(one)]
        for some in in_batches(missing, size, _BATCH_BYTES):
            ids = [one.source.id for one in some]
            sets = [id_ for id_ in ids if prefix_of(id_) == PREFIX]
            own = next((id_ for id_ in ids if id_ not in sets), None)
            self._keep(await tx.fetch(self._how.every, own, each(sets)))
            await self._pause()
        if not all(map(self._has, every)):
            return None
        if self._kept is not None:
            self._kept.keep(missing, keys, self._read)
        return [Run(one.source, self._read[one.source.id][1]) for one in every]

    async def winners(
        self, tx: Transaction, every: Sequence[Supply], keys: bytes = b""
    ) -> Sequence[Run[Row]] | None:
        """As `runs`, without what does not count."""
        runs = await self.runs(tx, every, keys)
        if runs is None:
            return None
        winners = []
        for run in winning(runs):
            winners.append(run)
            await self._pause()
        return winners

    async def stored(self, runs: Iterable[Run[Row]]) -> list[StoredVariable]:
        """What counts of these, with sealed values, by key, then category."""
        found: list[StoredVariable] = []
        for some in in_batches(effective(runs), len, _AT_ONCE):
            found += (to_stored(_AS_STORED(row)) for (_, row), *_ in some)
            await self._pause()
        return found

    def _has(self, one: Supply) -> bool:
        read = self._read.get(one.source.id)
        return read is not None and read[0] == one.head

    def _keep(self, rows: Iterable[Row]) -> None:
        read: dict[str, tuple[bytes, list[Row]]] = {}
        for row in rows:
            its = read.setdefault(row[1], (row[-1], []))[1]
            if row[0] is not None:
                its.append(row)
        self._read |= {id_: (head, _held(its)) for id_, (head, its) in read.items()}


def _held(rows: Iterable[Row]) -> Held:
    return {_NAME(row): row for row in sorted(rows, key=_NAME)}
