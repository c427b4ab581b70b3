"""Who acted, as the organization of entries is told, and whose an entry is, where that is open."""

from collections.abc import Iterable

from teamvars.domain.audit import AuditEntry, Position
from teamvars.domain.audit_names import ActorNames
from teamvars.domain.names import fold, is_safe
from teamvars.domain.tokens import told_of
from teamvars.storage.database import Transaction, each
from teamvars.storage.pages import as_stored

_NAME, _TOKEN = 0, 1

# $1: the organization, $2: ids of actors and of the subjects of streams, $3: ids of tokens. First
# what has columns of a table: on SQLite they say of which types all rows are.
_NAMES = f"""
SELECT {_NAME} AS what, teams.id, teams.name AS said
FROM teams WHERE teams.id IN {{{{each $2}}}} AND teams.organization_id = $1 {{seen}}
UNION ALL
SELECT {_NAME}, users.id, coalesce(memberships.invited_as, users.username)
FROM memberships JOIN users ON users.id = memberships.user_id
WHERE memberships.organization_id = $1 AND memberships.user_id IN {{{{each $2}}}}
UNION ALL
SELECT {_NAME}, organizations.id, organizations.name
FROM organizations WHERE organizations.id = $1
UNION ALL
SELECT {_NAME}, workspaces.id, workspaces.name
FROM workspaces WHERE workspaces.id IN {{{{each $2}}}} AND workspaces.organization_id = $1
UNION ALL
SELECT {_NAME}, variable_sets.id, variable_sets.name
FROM variable_sets
WHERE variable_sets.id IN {{{{each $2}}}} AND variable_sets.organization_id = $1
UNION ALL
SELECT {_NAME}, runners.id, runners.name
FROM runners WHERE runners.id IN {{{{each $2}}}} AND runners.organization_id = $1
UNION ALL
SELECT {_TOKEN}, tokens.id, tokens.description
FROM tokens
LEFT JOIN memberships ON memberships.organization_id = $1
    AND memberships.user_id = tokens.user_id AND memberships.status = 'active'
LEFT JOIN teams ON teams.id = tokens.team_id AND teams.organization_id = $1 {{seen}}
WHERE tokens.id IN {{{{each $3}}}} AND tokens.description <> ''
    AND (memberships.id IS NOT NULL OR teams.id IS NOT NULL OR tokens.organization_id = $1)
"""
_NAMES_FOR_OWNERS = _NAMES.format(seen="")
_NAMES_FOR_OTHERS = _NAMES.format(seen="AND teams.visibility <> 'secret'")

# $1: the organization, $2: a folded name.
_CALLED = """
SELECT users.id FROM users
JOIN memberships ON memberships.organization_id = $1 AND memberships.user_id = users.id
WHERE users.username_folded = $2 AND memberships.invited_as IS NULL
UNION ALL
SELECT teams.id FROM teams WHERE teams.organization_id = $1 AND teams.name_folded = $2
UNION ALL
SELECT runners.id FROM runners WHERE runners.organization_id = $1 AND runners.name_folded = $2
UNION ALL
SELECT organizations.id FROM organizations
WHERE organizations.id = $1 AND organizations.name_folded = $2
"""
_OPEN = "organization_id IS NULL"
_AFTER = "(at, stream_id, sequence) > ($1, $2, $3)"
_UP_TO = "(at, stream_id, sequence) <= ($4, $5, $6)"
_LAST_OPEN = f"""
SELECT {as_stored("at")}, stream_id, {as_stored("sequence")} FROM (
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


async def called(tx: Transaction, organization_id: str, name: str) -> set[str]:
    """The ids of all members, teams and runners of an organization, and of itself, that have the
    name.
    """
    return set(await tx.column(_CALLED, organization_id, fold(name)))


async def names_in(
    tx: Transaction, organization_id: str, entries: Iterable[AuditEntry], *, sees_secret: bool
) -> ActorNames:
    """What is told of all actors of entries of an organization, and what it calls the teams,
    workspaces, sets and runners in whose streams they are, in one statement.

    Teams that are secret are named to whoever `sees_secret` alone.
    """
    listed = list(entries)
    names: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    if listed:
        found = await tx.fetch(
            _NAMES_FOR_OWNERS if sees_secret else _NAMES_FOR_OTHERS,
            organization_id,
            _ids(id_ for entry in listed for id_ in (entry.actor_id, entry.stream_id)),
            _ids(entry.token_id for entry in listed),
        )
        for what, id_, said in found:
            if what == _TOKEN:
                descriptions[id_] = told_of(said)
            else:
                names[id_] = said
    return ActorNames(names, descriptions)


def _ids(found: Iterable[str | None]) -> str | None:
    """The parameter of `{each}`. Rows that were altered by hand may hold what is no id."""
    return each({id_ for id_ in found if isinstance(id_, str) and is_safe(id_)})


async def last_open(tx: Transaction, after: Position, most: int) -> Position | None:
    """Where the last of so many open entries stands that come next, oldest first; None: no more."""
    return await tx.first(Position, _LAST_OPEN, *after, most)


async def fill(tx: Transaction, after: Position, up_to: Position) -> None:
    """Fills in whose the open entries between those are, as far as anything says so."""
    await tx.execute(_FILL, *after, *up_to)
