"""Former names, by the entries of the trail: those of releases before are as good as any.

Only what is still there has former names.
"""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from teamvars.domain.audit import Actor
from teamvars.domain.names import FormerName, FormerNames
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.organizations import SEEN_BY

ORGANIZATIONS, TEAMS, WORKSPACES = "organizations", "teams", "workspaces"
PROJECTS, SETS = "projects", "variable_sets"


def _is_rename(entries: str) -> str:
    """The condition of the index, word for word. Which of the three it is the type of the subject
    says: were the action compared with one, SQLite would put that in the place of the column here.
    """
    actions = "organization.update", "team.rename", "workspace.rename"
    return " OR ".join(f"{entries}.action = '{action}'" for action in actions)


_RENAMES = {
    table: f"FROM audit_entries AS entries JOIN {table} ON {table}.id = entries.subject_id "
    f"WHERE ({_is_rename('entries')}) AND entries.subject_type = '{table}'"
    for table in (ORGANIZATIONS, TEAMS, WORKSPACES)
} | {
    # Each by an index of its own.
    table: f"FROM audit_entries AS entries JOIN {table} ON {table}.id = entries.subject_id "
    f"WHERE entries.action = '{action}'"
    for table, action in ((PROJECTS, "project.update"), (SETS, "varset.rename"))
}
MOST_ORGANIZATIONS = 100
"""Of a caller that are looked at for a hint, with this many changes of each."""
_MOST_CHANGES = 20
_MOST_RENAMES = 200
"""Of an organization's workspaces, that are looked at for a hint."""


async def every(tx: Transaction) -> FormerNames:
    """All former names of organizations."""
    rows = await tx.fetch(
        f"SELECT organizations.id, organizations.name, entries.details {_RENAMES[ORGANIZATIONS]} "
        "ORDER BY entries.at, entries.sequence",
    )
    return FormerNames(_told(rows))


async def inside(
    tx: Transaction, table: str, organization_ids: Collection[str]
) -> dict[str, FormerNames]:
    """All former names of teams, workspaces, projects or variable sets by organization."""
    found = {id_: FormerNames() for id_ in organization_ids}
    rows = await tx.fetch(
        f"SELECT {table}.id, {table}.name, entries.details, entries.stream_id {_RENAMES[table]} "
        "AND entries.stream_id IN {each $1} ORDER BY entries.sequence",
        each(organization_ids),
    )
    for *row, organization_id in rows:
        for one in _told([row]):
            found[organization_id].add(one)
    return found


async def of_organizations_seen(tx: Transaction, actor: Actor) -> FormerNames:
    """The latest former names of the organizations that the actor is in.

    What it finds, and how long it takes, depends on these alone.
    """
    rows = await tx.fetch(
        f"""
SELECT seen.id, seen.name, entries.details
FROM (SELECT id, name FROM ({SEEN_BY[actor.kind]}) AS visible
    ORDER BY id DESC LIMIT {MOST_ORGANIZATIONS}) AS seen
JOIN audit_entries AS entries ON entries.stream_id = seen.id
    AND ({_is_rename("entries")}) AND entries.subject_type = '{ORGANIZATIONS}'
    AND entries.sequence >= coalesce((
        SELECT oldest.sequence FROM audit_entries AS oldest WHERE oldest.stream_id = seen.id
            AND ({_is_rename("oldest")}) AND oldest.subject_type = '{ORGANIZATIONS}'
        ORDER BY oldest.sequence DESC LIMIT 1 OFFSET {_MOST_CHANGES - 1}
    ), 0)
ORDER BY entries.at, entries.sequence
""",
        actor.token_id,
    )
    return FormerNames(_told(rows))


async def of_workspaces_seen(tx: Transaction, actor: Actor, organization: str) -> FormerNames:
    """The latest former names of the workspaces of an organization that the actor is in, by its
    folded name; none of another.
    """
    rows = await tx.fetch(
        f"""
SELECT workspaces.id, workspaces.name, entries.details
FROM (SELECT subject_id, details, sequence FROM audit_entries
    WHERE ({_is_rename("audit_entries")}) AND subject_type = '{WORKSPACES}' AND stream_id = (
        SELECT id FROM ({SEEN_BY[actor.kind]}) AS visible WHERE name_folded = $2)
    ORDER BY sequence DESC LIMIT {_MOST_RENAMES}) AS entries
JOIN workspaces ON workspaces.id = entries.subject_id
ORDER BY entries.sequence
""",
        actor.token_id,
        organization,
    )
    return FormerNames(_told(rows))


def _told(rows: Iterable[Row]) -> Iterable[FormerName]:
    for id_, present, details in rows:
        try:
            said: Any = msgspec.json.decode(details, type=dict[str, Any]).get("from")
        except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError):
            continue
        if isinstance(said, str):
            yield FormerName(id_, said, present)
