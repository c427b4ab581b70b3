"""What becomes of a request to create, update or delete a variable."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from teamvars.decisions import Decision, Found, Need, Note, Verdict, Write
from teamvars.domain.access import Permission, SetAccess, VariablesAccess, WorkspaceAccess
from teamvars.domain.errors import KEY_TAKEN, KEY_TAKEN_IN_SET, Fault
from teamvars.domain.variable_sets import OwnedVariable, Quotas
from teamvars.domain.variables import (
    SourceCode,
    StoredVariable,
    Variable,
    VariableDraft,
    Versions,
    damaged_value,
)
from teamvars.domain.workspaces import WorkspaceFilter
from teamvars.kernel import Discreet
from teamvars.kernel.variables import MAX_VALUE_BYTES, value_size


class ToWorkspace(Need[WorkspaceAccess], frozen=True):
    """What the caller may do in a workspace; whoever may write variables has its stream locked.

    `TAKEN` is the fault of a key that another variable has there.
    """

    owner_id: str

    TAKEN: ClassVar = KEY_TAKEN


class ToSet(Need[SetAccess], frozen=True):
    """What the caller may do with a variable set, likewise."""

    owner_id: str

    TAKEN: ClassVar = KEY_TAKEN_IN_SET


ToOwner = ToWorkspace | ToSet
"""What a request is about, by the id of the owner, whose stream it changes."""


class VariableOf(Need[StoredVariable], frozen=True):
    """A variable of a workspace or a set."""

    to: ToOwner
    variable_id: str


class ValueOf(Need[str | None], frozen=True):
    """The value of a variable that was found; None: it is sensitive, or damaged."""

    variable: VariableOf


class Insert(Discreet, Write, frozen=True):
    """A new variable, with its value, of so many bytes."""

    variable: Variable
    value_bytes: int

    @property
    def row_id(self) -> str:
        """The new one."""
        return self.variable.id


class Update(Discreet, Write, frozen=True):
    """A variable becomes another. Its `value` is to be sealed anew; None: as it is stored."""

    before: StoredVariable
    after: Variable
    value: str | None
    value_bytes: int

    @property
    def row_id(self) -> str:
        """The one that changes."""
        return self.after.id


class Delete(Write, frozen=True):
    """A variable of that owner goes."""

    owner_id: str
    variable_id: str

    @property
    def row_id(self) -> str:
        """The one that goes."""
        return self.variable_id


class GiveNameUp(Write, frozen=True):
    """A variable of that owner has no name until it is renamed, so that another may have it."""

    owner_id: str
    variable_id: str


Verb = Literal["create", "update", "rename", "delete"]


class Put(Discreet, Write, frozen=True):
    """A variable of a plan is created, updated, renamed or deleted, its value sealed already."""

    verb: Verb
    stored: StoredVariable


class Creation(Discreet, frozen=True):
    """A variable that is asked for, with the ids that it is to have.

    The deprecated filter is of a workspace alone.
    """

    to: ToOwner
    draft: VariableDraft
    variable_id: str
    version_id: str
    deprecated_filter: WorkspaceFilter | None = None


class Edit(Discreet, frozen=True):
    """What is to become of a variable at one of these versions, and the next version."""

    variable: VariableOf
    draft: VariableDraft
    versions: Versions
    version_id: str


def create(found: Found, asked: Creation, quotas: Quotas) -> Decision[OwnedVariable]:
    """Adds a variable. Refuses: see `services.variables.Variables.create`."""
    granted: VariablesAccess[Any] = found.of(asked.to)
    granted.require(Permission.WRITE_VARIABLES)
    draft, named, before = asked.draft, asked.deprecated_filter, granted.stream.usage
    size = value_size(draft.value or "")
    after = before.plus(1, size)
    known = [
        *(named.faults(granted.owner) if named is not None else ()),
        *quotas[type(granted.owner)].faults(before, after),
        *_broken(found, draft.code(None)),
    ]
    ids = asked.variable_id, asked.version_id
    variable = draft.build(granted.owner.id, found.now, ids, known)
    event = found.event("variable.create", variable.id, variable.audited())
    return Decision(
        OwnedVariable(granted.owner, variable.as_shown()),
        writes=(Insert(variable, size),),
        notes=(Note(granted.stream.id, event),),
        usage=after,
        taken=asked.to.TAKEN,
    )


def update(found: Found, asked: Edit, quotas: Quotas) -> Decision[OwnedVariable]:
    """Changes what the draft names. Refuses: see `services.variables.Variables.update`.

    The value is sealed anew when it changes or when the sensitive flag, which seals it in, does. A
    value that stays sensitive is not opened, and one that is damaged can be written over: any other
    change would have to show it, or to seal it anew.
    """
    granted, stored = _writable(found, asked.variable, asked.versions)
    draft, before = asked.draft, stored.variable
    if not before.sensitive:
        before = before.with_value(found.of(ValueOf(asked.variable)))
    size = stored.value_bytes if draft.value is None else value_size(draft.value)
    usage = granted.stream.usage
    after = usage.plus(0, size - stored.value_bytes)
    is_lost = before.value is None and draft.value is None and not before.sensitive
    known = [
        *quotas[type(granted.owner)].faults(usage, after),
        *_broken(found, draft.code(before)),
        *([damaged_value(before, f"{draft.at}/value")] if is_lost else ()),
    ]
    variable = draft.applied_to(before, asked.version_id, known)
    changed = draft.changed(before, variable)
    former = {"from": before.key} if "key" in changed else {}
    details = {**variable.audited(), "changed": changed, **former}
    is_sealed_anew = draft.value is not None or variable.sensitive != before.sensitive
    value = variable.value if is_sealed_anew else None
    return Decision(
        OwnedVariable(granted.owner, variable.as_shown()),
        writes=(Update(stored, variable, value, size),),
        notes=(Note(granted.stream.id, found.event("variable.update", variable.id, details)),),
        usage=after,
        taken=asked.variable.to.TAKEN,
    )


def delete(found: Found, asked: VariableOf, versions: Versions) -> Decision[None]:
    """Removes a variable. Refuses: see `services.variables.Variables.delete`."""
    granted, stored = _writable(found, asked, versions)
    variable = stored.variable
    event = found.event("variable.delete", variable.id, variable.audited())
    return Decision(
        None,
        writes=(Delete(variable.owner_id, variable.id),),
        notes=(Note(granted.stream.id, event),),
        usage=granted.stream.usage.plus(-1, -stored.value_bytes),
    )


def _writable(
    found: Found, asked: VariableOf, versions: Versions
) -> tuple[VariablesAccess[Any], StoredVariable]:
    """The owner and the variable. Not found takes precedence over forbidden."""
    granted: VariablesAccess[Any] = found.of(asked.to)
    granted.require(Permission.READ_VARIABLES)
    stored = found.of(asked)
    granted.require(Permission.WRITE_VARIABLES)
    versions.require(stored.variable.version_id)
    return granted, stored


def _broken(found: Found, code: SourceCode | None) -> Sequence[Fault]:
    """The fault of code that does not parse. What is too long has a fault of its own."""
    if code is None or len(code.text) > MAX_VALUE_BYTES:
        return ()
    fault = found.of(Verdict(code.text))
    return () if fault is None else (fault.at(code.pointer),)
