"""What reaches a workspace: its own variables, and those of sets, with where each set stands."""

from collections.abc import Iterable, Mapping, Sequence

from teamvars.domain.effective import Candidate, Holdings, Level, Reach, Source
from teamvars.domain.ids import prefix_of
from teamvars.domain.variable_sets import Parent
from teamvars.storage.database import Row, Transaction
from teamvars.storage.projects import PROJECT_OF
from teamvars.storage.variable_statements import COLUMNS
from teamvars.storage.variables import to_stored

_REACHING = f"""FROM workspaces
JOIN set_targets ON set_targets.target_id
    IN (workspaces.id, workspaces.organization_id, {PROJECT_OF})"""


def _of(table: str, owner: str, sealed: str) -> str:
    """What is selected of a table of variables; `sealed`: a value, the generation of its key."""
    columns = ", ".join(f"{table}.{column}" for column in COLUMNS.split(", "))
    return f"""{table}.id, {table}.{owner},
    {columns},
    {table}.value_bytes, {sealed.format(table)}"""


def _every(sealed: str) -> str:
    """All variables that reach a workspace, and what has none by a row without one. One statement,
    so that the streams are where they were then.
    """
    return f"""
SELECT CAST(streams.head AS {{bytes}}), streams.sequence, streams.id, CAST(NULL AS TEXT),
    0, CAST(NULL AS TEXT), streams.id,
    {_of("variables", "workspace_id", sealed)}
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id
WHERE streams.id = $1
UNION ALL
SELECT CAST(streams.head AS {{bytes}}), streams.sequence, streams.id, variable_sets.name,
    variable_sets.priority, variable_sets.project_id, set_targets.target_id,
    {_of("set_variables", "set_id", sealed)}
{_REACHING}
JOIN variable_sets ON variable_sets.id = set_targets.set_id
JOIN streams ON streams.id = variable_sets.id
LEFT JOIN set_variables ON set_variables.set_id = variable_sets.id
WHERE workspaces.id = $1
"""


_READABLE = _every(
    """CASE WHEN {0}.sensitive = 0 THEN {0}.sealed_value END,
    CASE WHEN {0}.sensitive = 0 THEN {0}.key_version END"""
)
_SEALED = _every("{0}.sealed_value, {0}.key_version")
_VALUE_BYTES = f"""(
        SELECT CAST(coalesce(sum(of_reaching.value_bytes), 0) AS BIGINT)
        FROM streams AS of_reaching
        WHERE of_reaching.id IN (
            SELECT CAST($1 AS TEXT)
            UNION SELECT set_targets.set_id {_REACHING} WHERE $1 = workspaces.id
        )
    )"""
# The same for whoever has the token of a job, $2 its hash, at the time $3; without values where
# these have more bytes than $4.
_SEALED_FOR_JOB = _every(
    f"CASE WHEN {_VALUE_BYTES} <= CAST($4 AS BIGINT) THEN {{0}}.sealed_value END, {{0}}.key_version"
).replace(
    "= $1",
    """= $1 AND $1 = (
    SELECT runner_tokens.workspace_id FROM runner_tokens
    WHERE runner_tokens.hash = $2 AND runner_tokens.expires_at > $3
)""",
)
_WAYS: Mapping[str, Reach] = {"ws": "workspace", "prj": "project", "org": "global"}
"""By the prefix of what a set is attached to."""


async def sealed_of_workspace(tx: Transaction, workspace_id: str) -> Holdings:
    """What counts in a workspace, with its sealed values, sensitive ones too."""
    return _holdings(await tx.fetch(_SEALED, workspace_id), losers=False)


async def readable_of_workspace(tx: Transaction, workspace_id: str, *, losers: bool) -> Holdings:
    """The same, without the sealed values of sensitive variables; with the `losers`, all that
    reaches it.
    """
    return _holdings(await tx.fetch(_READABLE, workspace_id), losers=losers)


async def sealed_for_job(
    tx: Transaction, workspace_id: str, token_hash: bytes, now: int, most: int
) -> Holdings | None:
    """As `sealed_of_workspace`, if a token of a job with that hash is for the workspace, and has
    not expired. Whether it is good is not asked: nothing is opened here. Without any value where
    these have more bytes than the `most`.
    """
    rows = await tx.fetch(_SEALED_FOR_JOB, workspace_id, token_hash, now, most)
    return _holdings(rows, losers=False) if rows else None


def _holdings(rows: Sequence[Row], *, losers: bool) -> Holdings:
    heads = {id_: head for head, _, id_, *_ in rows}
    places = {f"{id_}:{sequence}" for _, sequence, id_, *_ in rows}
    ways: dict[str, set[Reach]] = {}
    told: dict[str, Row] = {}
    for row in rows:
        told[row[2]] = row
        ways.setdefault(row[2], set()).add(_WAYS[prefix_of(row[6])])
    sources = {id_: _source(row, ways[id_]) for id_, row in told.items()}
    found: dict[str, Candidate] = {}
    for _, _, id_, _, _, _, _, *variable in rows if losers else _first(rows, sources):
        if variable[0] is not None and variable[0] not in found:
            found[variable[0]] = Candidate(to_stored(variable), sources[id_])
    return Holdings(heads, list(found.values()), tuple(sorted(places)))


def _first(rows: Iterable[Row], sources: Mapping[str, Source]) -> Iterable[Row]:
    """Of all rows with the same key and category the one that counts. Nothing is made of others: a
    workspace may have many.
    """
    ranks = {id_: source.rank for id_, source in sources.items()}
    first: dict[tuple[object, object], Row] = {}
    for row in rows:
        name = row[9], row[11]
        if name not in first or ranks[row[2]] < ranks[first[name][2]]:
            first[name] = row
    return first.values()


def _source(row: Row, reach: Iterable[Reach]) -> Source:
    _, _, id_, name, priority, project_id, *_ = row
    if name is None:
        return Source(id_, "", Level.WORKSPACE)
    parent: Parent = "organization" if project_id is None else "project"
    return Source.of_set(id_, name, is_priority=bool(priority), parent=parent, reach=reach)
