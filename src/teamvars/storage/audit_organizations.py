"""Whose an audit entry is, where an older release has left it open."""

from teamvars.domain.audit import Position
from teamvars.storage.database import Transaction

_OPEN = "organization_id IS NULL"
_AFTER = "(at, stream_id, sequence) > ($1, $2, $3)"
_UP_TO = "(at, stream_id, sequence) <= ($4, $5, $6)"
_FIND = f"""
SELECT at, stream_id, sequence FROM (
    SELECT at, stream_id, sequence FROM audit_entries
    WHERE {_OPEN} AND {_AFTER}
    ORDER BY at, stream_id, sequence LIMIT $4
) AS piece
ORDER BY at DESC, stream_id DESC, sequence DESC LIMIT 1
"""
# By the subject of the stream, by its other entries and, when it has none, by what the stream above
# says of it: an older release has written that as well, and not before this. Where somebody has
# touched the trail it may say so twice.
_FILL = f"""
UPDATE audit_entries SET organization_id = coalesce(
    CASE WHEN stream_id = 'system' THEN '' END,
    (SELECT workspaces.organization_id FROM workspaces
        WHERE workspaces.id = audit_entries.stream_id),
    (SELECT teams.organization_id FROM teams WHERE teams.id = audit_entries.stream_id),
    (SELECT organizations.id FROM organizations WHERE organizations.id = audit_entries.stream_id),
    (SELECT other.organization_id FROM audit_entries AS other
        WHERE other.stream_id = audit_entries.stream_id AND other.organization_id IS NOT NULL
        ORDER BY other.sequence LIMIT 1),
    (SELECT above.stream_id FROM audit_entries AS above
        WHERE above.organization_id IS NULL AND above.subject_id = audit_entries.stream_id
            AND above.action IN ('team.delete', 'workspace.delete')
        ORDER BY above.at LIMIT 1)
)
WHERE {_OPEN} AND {_AFTER} AND {_UP_TO}
"""


async def last_open(tx: Transaction, after: Position, most: int) -> Position | None:
    """Where the last of so many open entries stands that come next, oldest first; None: no more."""
    row = await tx.fetch_one(_FIND, *after, most)
    return None if row is None else Position(*row)


async def fill(tx: Transaction, after: Position, up_to: Position) -> None:
    """Fills in whose the open entries between those are, as far as anything says so."""
    await tx.execute(_FILL, *after, *up_to)
