"""Organizations and their data keys as rows."""

from collections.abc import Iterable

from teamvars.domain.access import WrappedKey
from teamvars.domain.audit import Actor
from teamvars.domain.names import fold
from teamvars.domain.organizations import SETTINGS, Organization, OrganizationSearch
from teamvars.domain.pages import Page, Paged
from teamvars.storage.access_statements import IN_USE, IS_CALLERS, KEY
from teamvars.storage.database import Row, Transaction
from teamvars.storage.pages import Reading, containing
from teamvars.storage.tables import from_column

_COLUMNS = "id, name, email, created_at, settings, sso_required"

# $1: the id of the caller's token.
SEEN_BY = {
    "user": f"""
        SELECT organizations.* FROM tokens AS caller
        JOIN memberships ON memberships.user_id = caller.user_id
        JOIN organizations ON organizations.id = memberships.organization_id
        WHERE caller.id = $1 AND {IS_CALLERS}
    """,
    "team": """
        SELECT organizations.* FROM tokens AS caller JOIN teams ON teams.id = caller.team_id
        JOIN organizations ON organizations.id = teams.organization_id WHERE caller.id = $1
    """,
    "organization": """
        SELECT organizations.* FROM tokens AS caller
        JOIN organizations ON organizations.id = caller.organization_id WHERE caller.id = $1
    """,
}


def to_organization(row: Row) -> Organization:
    """What a row says, by its columns."""
    id_, name, email, made, stored, sso_required = row
    settings = from_column(SETTINGS, id_, stored)
    return Organization(id_, name, email, made, settings, bool(sso_required))


_ORGANIZATIONS = Reading(_COLUMNS, "organizations", to_organization)

# $2: a pattern of name or address, $3 and $4: of each.
_WANTED = """WHERE
    (name_folded LIKE $2 ESCAPE '!' OR coalesce(email_folded, '') LIKE $2 ESCAPE '!')
    AND name_folded LIKE $3 ESCAPE '!' AND coalesce(email_folded, '') LIKE $4 ESCAPE '!'"""


async def find_all(tx: Transaction, names: Iterable[str]) -> dict[str, Organization]:
    """The organizations with these names, by folded name; absent ones are left out."""
    return await _ORGANIZATIONS.called(tx, "name", names)


async def every(tx: Transaction) -> dict[str, Organization]:
    """All organizations, by folded name."""
    return {fold(one.name): one for one in await _ORGANIZATIONS.every(tx, "")}


async def get(tx: Transaction, organization_id: str) -> Organization:
    """An organization by id. Refuses: not found."""
    return await _ORGANIZATIONS.get(tx, "WHERE id = $1", organization_id)


async def where_to_sign_in(tx: Transaction, user_id: str) -> list[Organization]:
    """Those that a user is active in and where members have to sign in, by id."""
    inside = "SELECT organization_id FROM memberships WHERE user_id = $1 AND status = 'active'"
    rest = f"WHERE sso_required = 1 AND id IN ({inside}) ORDER BY id"
    return await _ORGANIZATIONS.every(tx, rest, user_id)


async def find_visible(
    tx: Transaction, actor: Actor, wanted: OrganizationSearch, page: Page
) -> Paged[Organization]:
    """A page of the organizations the actor is in, by name."""
    patterns = map(containing, (wanted.part, wanted.name, wanted.email))
    visible = f"({SEEN_BY[actor.kind]}) AS visible"
    seen = Reading(_COLUMNS, visible, to_organization)
    return await seen.paged(tx, _WANTED, "name_folded", (actor.token_id, *patterns), page)


async def data_key(tx: Transaction, organization_id: str) -> WrappedKey | None:
    """The data keys of an organization. None: there are none."""
    return await tx.first(
        WrappedKey,
        f"SELECT {KEY} FROM organizations JOIN data_keys ON {IN_USE} WHERE organizations.id = $1",
        organization_id,
    )
