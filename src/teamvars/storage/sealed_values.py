"""Sealed values of the whole store, sensitive ones too, for whoever asks whether they open."""

from teamvars.domain.access import WrappedKey
from teamvars.kernel.discreet import Discreet
from teamvars.storage.database import Row, Transaction

_PAGE_ROWS = 50
"""Of values that may each be as large as a value can be."""

_SELECT = """
SELECT variables.id, variables.workspace_id, variables.sensitive, variables.sealed_value,
    organizations.name, workspaces.name, variables.key, variables.category,
    data_keys.organization_id, data_keys.version, data_keys.master_key_id, data_keys.wrapped
FROM organizations
JOIN data_keys ON data_keys.organization_id = organizations.id
    AND data_keys.version = organizations.data_key_version
JOIN workspaces ON workspaces.organization_id = organizations.id
JOIN variables ON variables.workspace_id = workspaces.id
"""
_ONE_OF_EACH = f"""{_SELECT}
WHERE variables.id = (
    SELECT id FROM variables AS its
    WHERE its.organization_id = organizations.id AND its.key >= '' LIMIT 1
)
ORDER BY organizations.id
"""
_PAGE = f"""{_SELECT}
WHERE variables.id > $1 ORDER BY variables.id LIMIT $2
"""


class SealedValue(Discreet, frozen=True):
    """A value as it is stored, its variable in words, and the data key it should open with."""

    variable_id: str
    workspace_id: str
    sensitive: bool
    sealed: bytes
    title: str
    key: WrappedKey


async def one_of_each_key(tx: Transaction) -> list[SealedValue]:
    """A value of each data key in use that has any."""
    return [_sealed(row) for row in await tx.fetch(_ONE_OF_EACH)]


async def page(tx: Transaction, after: str) -> list[SealedValue]:
    """Some values by the ids of their variables; of all those after that id, the first."""
    return [_sealed(row) for row in await tx.fetch(_PAGE, after, _PAGE_ROWS)]


def _sealed(row: Row) -> SealedValue:
    id_, workspace_id, sensitive, sealed, organization, workspace, key, category, *data_key = row
    organization_id, version, master_key_id, wrapped = data_key
    return SealedValue(
        id_,
        workspace_id,
        bool(sensitive),
        sealed,
        f"{key} ({category}) of {organization}/{workspace}, {id_}",
        WrappedKey(organization_id, version, master_key_id, bytes(wrapped)),
    )
