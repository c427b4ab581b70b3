"""What reaches a workspace: its own variables, and those of sets, with where each set stands."""

from collections.abc import Mapping, Sequence

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


def _of(table: str, owner: str, value: str) -> str:
    """What is selected of a table of variables."""
    columns = ", ".join(f"{table}.{column}" for column in COLUMNS.split(", "))
    return f"""{table}.id, {table}.{owner},
    {columns},
    {table}.value_bytes, {value.format(table)}"""


def _every(value: str) -> str:
    """All variables that reach a workspace, and what has none by a row without one. One statement,
    so that the streams are where they were then.
    """
    return f"""
SELECT CAST(streams.head AS {{bytes}}), streams.sequence, streams.id, CAST(NULL AS TEXT),
    0, CAST(NULL AS TEXT), streams.id,
    {_of("variables", "workspace_id", value)}
FROM streams
LEFT JOIN variables ON variables.workspace_id = streams.id
WHERE streams.id = $1
UNION ALL
SELECT CAST(streams.head AS {{bytes}}), streams.sequence, streams.id, variable_sets.name,
    variable_sets.priority, variable_sets.project_id, set_targets.target_id,
    {_of("set_variables", "set_id", value)}
{_REACHING}
JOIN variable_sets ON variable_sets.id = set_targets.set_id
JOIN streams ON streams.id = variable_sets.id
LEFT JOIN set_variables ON set_variables.set_id = variable_sets.id
WHERE workspaces.id = $1
"""


_READABLE = _every("CASE WHEN {0}.sensitive = 0 THEN {0}.sealed_value END")
_SEALED = _every("{}.sealed_value")
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
    f"CASE WHEN {_VALUE_BYTES} <= CAST($4 AS BIGINT) THEN {{0}}.sealed_value END"
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
    """What reaches a workspace, with its sealed values, sensitive ones too."""
    return _holdings(await tx.fetch(_SEALED, workspace_id))


async def readable_of_workspace(tx: Transaction, workspace_id: str) -> Holdings:
    """The same, without the sealed values of sensitive variables."""
    return _holdings(await tx.fetch(_READABLE, workspace_id))


async def sealed_for_job(
    tx: Transaction, workspace_id: str, token_hash: bytes, now: int, most: int
) -> Holdings | None:
    """As `sealed_of_workspace`, if a token of a job with that hash is for the workspace, and has
    not expired. Whether it is good is not asked: nothing is opened here. Without any value where
    these have more bytes than the `most`.
    """
    rows = await tx.fetch(_SEALED_FOR_JOB, workspace_id, token_hash, now, most)
    return _holdings(rows) if rows else None


def _holdings(rows: Sequence[Row]) -> Holdings:
    heads = {id_: head for head, _, id_, *_ in rows}
    places = {f"{id_}:{sequence}" for _, sequence, id_, *_ in rows}
    ways: dict[str, list[Reach]] = {}
    for _, _, id_, _, _, _, target_id, *_ in rows:
        ways.setdefault(id_, []).append(_WAYS[prefix_of(target_id)])
    found: dict[str, Candidate] = {}
    sources: dict[str, Source] = {}
    for _, _, id_, name, priority, project_id, _, *variable in rows:
        if id_ not in sources:
            parent: Parent = "organization" if project_id is None else "project"
            sources[id_] = _source(id_, name, bool(priority), parent, ways[id_])
        if variable[0] is not None:
            found.setdefault(variable[0], Candidate(to_stored(variable), sources[id_]))
    return Holdings(heads, list(found.values()), tuple(sorted(places)))


def _source(
    id_: str, name: str | None, is_priority: bool, parent: Parent, reach: Sequence[Reach]
) -> Source:
    if name is None:
        return Source(id_, "", Level.WORKSPACE)
    return Source.of_set(id_, name, is_priority=is_priority, parent=parent, reach=reach)
