"""Variables: how decisions about them are fed and carried out."""

from collections.abc import Callable, Mapping

from teamvars.changes import Look, LookUps, Tools
from teamvars.decisions import Found, Write
from teamvars.decisions.variables import (
    Delete,
    GiveNameUp,
    Insert,
    Put,
    ToSet,
    ToWorkspace,
    Update,
    ValueOf,
    VariableOf,
)
from teamvars.domain.ids import prefix_of
from teamvars.domain.variable_sets import PREFIX
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.storage import access, variables
from teamvars.storage.access_statements import READ_SET, READ_WORKSPACE
from teamvars.storage.database import Statement, Transaction


async def _value_of(_: Transaction, tools: Tools, found: Found, need: ValueOf) -> str | None:
    stored = found.of(need.variable)
    if stored.variable.sensitive:
        return None
    assert stored.sealed is not None
    try:
        return _key(tools, found, stored.variable).open(stored.sealed, stored.variable)
    except SealBroken:
        return None


def _inserting(tools: Tools, found: Found, write: Insert) -> Statement:
    variable = write.variable
    sealed = _key(tools, found, variable).seal(variable.value or "", variable)
    return variables.inserting(StoredVariable(variable, sealed, write.value_bytes))


def _updating(tools: Tools, found: Found, write: Update) -> Statement:
    before, after, value = write.before.variable, write.after, write.value
    sealed = None if value is None else _key(tools, found, after).seal(value, after)
    renames = (after.key, after.category) != (before.key, before.category)
    return variables.updating(StoredVariable(after, sealed, write.value_bytes), renames=renames)


def _key(tools: Tools, found: Found, variable: Variable) -> DataKey:
    id_ = variable.owner_id
    if prefix_of(id_) == PREFIX:
        return tools.sealer.data_key(found.of(ToSet(id_)).key)
    return tools.sealer.data_key(found.of(ToWorkspace(id_)).key)


LOOK_UPS: LookUps = {
    ToWorkspace: Look(
        lambda found, need: (READ_WORKSPACE, (found.caller.token_hash, found.now, need.owner_id)),
        lambda found, _, rows: access.to_workspace(found.caller, rows[0] if rows else None),
        locks=True,
    ),
    ToSet: Look(
        lambda found, need: (READ_SET, (found.caller.token_hash, found.now, need.owner_id)),
        lambda found, _, rows: access.to_set(found.caller, rows[0] if rows else None),
        locks=True,
    ),
    VariableOf: Look(
        lambda _, need: variables.getting(need.to.owner_id, need.variable_id),
        lambda _, __, rows: variables.stored(rows[0] if rows else None),
    ),
    ValueOf: _value_of,
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    Insert: _inserting,
    Update: _updating,
    Delete: lambda _, __, write: variables.deleting(write.owner_id, write.variable_id),
    GiveNameUp: lambda _, __, write: variables.giving_name_up(write.owner_id, write.variable_id),
    Put: lambda _, __, write: variables.putting(write.verb, write.stored),
}
