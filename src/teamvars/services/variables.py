"""The variables of a workspace or a set: list, create, read, update, delete."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from teamvars.changes.waves import Change
from teamvars.decisions import variables as decisions
from teamvars.decisions.variables import (
    Creation,
    Edit,
    ToOwner,
    ValueOf,
    VariableOf,
)
from teamvars.domain.access import Caller, Permission, VariablesAccess
from teamvars.domain.errors import Kind, Refusal, not_found, passing_over, refuse_all
from teamvars.domain.ids import new_id, new_version_id
from teamvars.domain.variable_sets import OwnedVariable, Owner
from teamvars.domain.variables import (
    StoredVariable,
    Variable,
    VariableDraft,
    Versions,
    damaged_value,
)
from teamvars.domain.workspaces import WorkspaceFilter
from teamvars.pace import in_batches
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.services.house import House, UseCases, access_to, glances
from teamvars.services.rendered import Rendered, RenderedLists
from teamvars.storage import access, effective, variables
from teamvars.storage.database import Transaction

T = TypeVar("T")


class VariableList(msgspec.Struct, frozen=True):
    """An owner's variables by key, then category. `version` is another whenever one of them is.

    They come in batches, each with about as many bytes of values and rows as may be opened and
    written in one go.
    """

    owner: Owner
    batches: Iterator[Sequence[Variable]]
    version: str


Render = Callable[[VariableList], Coroutine[Any, Any, Rendered]]

_BATCH_BYTES = 64 * 1024
_ROW_BYTES = 512
"""What a variable counts beside its value: it costs some 10 µs, as a value of that size does."""


class Variables(UseCases):
    """What callers do with variables.

    All methods refuse unauthenticated, not found, forbidden; what changes something trail_altered.
    """

    def __init__(self, house: House, lists: RenderedLists) -> None:
        super().__init__(house)
        self._changes = house.changes
        self._lists = lists

    async def list(
        self, caller: Caller, to: ToOwner, render: Render, *, at: str | None = None
    ) -> Rendered:
        """All variables of a workspace, or of a set, which reaches the workspace `at` if there is
        one; rendered, or cached at the same head and names.

        Refuses: damaged values, all of them.
        """
        owner_id, look = to.owner_id, partial(self._readable, caller=caller, to=to, at=at)
        while True:
            granted = await self._database.query(look)
            shown = granted.owner
            key = granted.stream.head, shown.organization_name, shown.name
            listed = self._lists.find(owner_id, key) or await self._lists.make(
                owner_id,
                key,
                partial(self._rendered, granted, render),
                value_bytes=granted.stream.usage.value_bytes,
            )
            if listed is not None:
                return listed

    @glances
    async def read(
        self,
        tx: Transaction,
        caller: Caller,
        to: ToOwner,
        variable_id: str,
        *,
        at: str | None = None,
    ) -> OwnedVariable:
        """One variable; `at` as of a list. Refuses: a damaged value."""
        lookup, args = variables.getting(to.owner_id, variable_id)
        # Before the right: whoever loses that meanwhile is shown nothing written since.
        row = await tx.look_up(lookup, *args)
        granted = await self._readable(tx, caller, to, at)
        shown = _shown(variables.stored(row), self._tools.sealer.data_key(granted.key))
        if shown.value is None and not shown.sensitive:
            raise Refusal(damaged_value(shown))
        return OwnedVariable(granted.owner, shown)

    async def value_at(
        self, caller: Caller, to: ToOwner, variable_id: str, version_id: str
    ) -> str | None:
        """The value, if the variable is readable and still at that version."""
        with passing_over(Kind.NOT_FOUND):
            found = (await self.read(caller, to, variable_id)).variable
            return found.value if found.version_id == version_id else None
        return None

    async def workspace_of(self, variable_id: str) -> str:
        """The id of the workspace that has a variable, whoever may know. Refuses: not found."""
        return await self._database.query(lambda tx: variables.workspace_of(tx, variable_id))

    async def create(
        self,
        caller: Caller,
        to: ToOwner,
        draft: VariableDraft,
        deprecated_filter: WorkspaceFilter | None = None,
    ) -> OwnedVariable:
        """Adds a variable.

        Refuses: every fault of the draft and the filter, a value that is to be code and does not
        parse or is too complex, a full workspace or set, a taken key, busy, too many requests.
        """

        ids = new_id("var"), new_version_id()
        asked = Creation(to, draft, *ids, deprecated_filter)
        decide = partial(decisions.create, asked=asked, quotas=self._house.quotas)
        change = Change(caller, to.owner_id, decide, foreseen=(to,), is_brief=True)
        return await self._changes.make(change)

    async def update(
        self,
        caller: Caller,
        to: ToOwner,
        variable_id: str,
        draft: VariableDraft,
        versions: Versions,
    ) -> OwnedVariable:
        """Changes what the draft names; the variable gets a new version also when that is nothing.

        Refuses: another version than those wanted, every fault of the draft, a value that is to
        be code and does not parse or is too complex, making a sensitive variable readable, a
        damaged value without a new one, a full workspace or set, a taken key, busy, too many
        requests.
        """

        variable = VariableOf(to, variable_id)
        asked = Edit(variable, draft, versions, new_version_id())
        decide = partial(decisions.update, asked=asked, quotas=self._house.quotas)
        foreseen = to, variable, ValueOf(variable)
        change = Change(caller, to.owner_id, decide, foreseen=foreseen, is_brief=True)
        return await self._changes.make(change)

    async def delete(
        self, caller: Caller, to: ToOwner, variable_id: str, versions: Versions
    ) -> None:
        """Removes a variable. Refuses: another version than those wanted."""

        asked = VariableOf(to, variable_id)
        decide = partial(decisions.delete, asked=asked, versions=versions)
        change = Change(caller, to.owner_id, decide, foreseen=(to, asked), is_brief=True)
        await self._changes.make(change)

    async def _readable(
        self, tx: Transaction, caller: Caller, to: ToOwner, at: str | None = None
    ) -> VariablesAccess[Any]:
        if at is not None:
            reader = await access.workspace(tx, caller, self._clock(), at)
            reader.require(Permission.READ_VARIABLES)
            every = await effective.supplies(tx, at)
            if all(one.source.id != to.owner_id for one in every):
                raise not_found()
        granted = await access_to(tx, caller, self._clock(), to)
        granted.require(Permission.READ_VARIABLES)
        return granted

    async def _rendered(self, granted: VariablesAccess[Any], render: Render) -> Rendered | None:
        """The list at the head that was read with the access; None when the head has moved."""
        owner, head = granted.owner, granted.stream.head
        damaged: set[str] = set()
        open_value = self._tools.sealer.data_key(granted.key).opener(owner.id, False, damaged)
        usage = granted.stream.usage
        few = usage.variables * _ROW_BYTES + usage.value_bytes <= _BATCH_BYTES
        found = await self._database.query(
            lambda tx: variables.find_all(tx, owner.id, head, open_value, few=few)
        )
        if found is None:
            return None
        batches = iter((list(found),)) if few else in_batches(found, _size, _BATCH_BYTES)
        version = self._tools.chain.version_of(granted.stream)
        checked = whole(batches, damaged, lambda one: (one,))
        return await render(VariableList(owner, checked, version))


def _shown(stored: StoredVariable, key: DataKey) -> Variable:
    """The variable with its value, unless that is sensitive or damaged."""
    if stored.variable.sensitive:
        return stored.variable
    assert stored.sealed is not None
    try:
        return stored.variable.with_value(key.open(stored.sealed, stored.variable))
    except SealBroken:
        return stored.variable


def whole(
    batches: Iterable[Sequence[T]],
    damaged: set[str],
    variables_of: Callable[[T], Sequence[Variable]],
) -> Iterator[Sequence[T]]:
    """The batches of a list. Refuses behind the last if there are damaged values among them.

    `damaged` are the ids that have turned up by then: of a list that is made value by value, nobody
    knows them sooner.
    """
    found: list[Variable] = []
    for batch in batches:
        if damaged:
            found += [its for one in batch for its in variables_of(one) if its.id in damaged]
        yield batch
    refuse_all(map(damaged_value, found))


def _size(variable: Variable) -> int:
    return _ROW_BYTES + len(variable.value or "")
