"""Who acted, as the organization of the entries is told."""

import json
from collections.abc import Iterable

from teamvars.domain.audit import AuditEntry
from teamvars.domain.audit_actors import ActorNames
from teamvars.domain.names import is_safe
from teamvars.storage.database import Transaction

_ACTOR, _TOKEN = 0, 1

# $1: the organization, $2: ids of actors, $3: ids of tokens.
_FIND = f"""
SELECT {_ACTOR} AS what, users.id, coalesce(memberships.invited_as, users.username) AS said
FROM memberships JOIN users ON users.id = memberships.user_id
WHERE memberships.organization_id = $1 AND memberships.user_id IN {{{{each $2}}}}
UNION ALL
SELECT {_ACTOR}, teams.id, teams.name
FROM teams WHERE teams.id IN {{{{each $2}}}} AND teams.organization_id = $1 {{seen}}
UNION ALL
SELECT {_ACTOR}, organizations.id, organizations.name
FROM organizations WHERE organizations.id = $1
UNION ALL
SELECT {_TOKEN}, tokens.id, tokens.description
FROM tokens
LEFT JOIN memberships ON memberships.organization_id = $1
    AND memberships.user_id = tokens.user_id AND memberships.status = 'active'
LEFT JOIN teams ON teams.id = tokens.team_id AND teams.organization_id = $1 {{seen}}
WHERE tokens.id IN {{{{each $3}}}} AND tokens.description <> ''
    AND (memberships.id IS NOT NULL OR teams.id IS NOT NULL OR tokens.organization_id = $1)
"""
_FIND_FOR_OWNERS = _FIND.format(seen="")
_FIND_FOR_OTHERS = _FIND.format(seen="AND teams.visibility <> 'secret'")


async def find(
    tx: Transaction, organization_id: str, entries: Iterable[AuditEntry], *, sees_secret: bool
) -> ActorNames:
    """What is told of all actors of entries of an organization, in one statement.

    Teams that are secret are named to whoever `sees_secret` alone.
    """
    listed = list(entries)
    names: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    if listed:
        found = await tx.fetch(
            _FIND_FOR_OWNERS if sees_secret else _FIND_FOR_OTHERS,
            organization_id,
            _ids(entry.actor_id for entry in listed),
            _ids(entry.token_id for entry in listed),
        )
        for what, id_, said in found:
            (descriptions if what == _TOKEN else names)[id_] = said
    return ActorNames(names, descriptions)


def _ids(found: Iterable[str | None]) -> str:
    """The parameter of `{each}`. Rows that were altered by hand may hold what is no id."""
    return json.dumps(sorted({id_ for id_ in found if isinstance(id_, str) and is_safe(id_)}))
