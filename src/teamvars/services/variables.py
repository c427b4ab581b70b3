"""The variables of a workspace: list, create, read, update, delete."""

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from teamvars.changes.waves import Change
from teamvars.decisions import variables as decisions
from teamvars.decisions.variables import Creation, Edit, OfWorkspace, ToWorkspace, ValueOf
from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.errors import Kind, Refusal, refuse_all
from teamvars.domain.ids import new_id, new_version_id
from teamvars.domain.variables import (
    StoredVariable,
    Variable,
    VariableDraft,
    VariableInWorkspace,
    Versions,
    WorkspaceFilter,
    damaged_value,
)
from teamvars.domain.workspaces import Workspace
from teamvars.pace import in_batches
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.services.house import House, UseCases
from teamvars.services.rendered import Rendered, RenderedLists
from teamvars.storage import access, variables
from teamvars.storage.database import Transaction


class VariableList(msgspec.Struct, frozen=True):
    """A workspace's variables by key, then category. `version` is another whenever one of them is.

    They come in batches, each with about as many bytes of values and rows as may be opened and
    written in one go.
    """

    workspace: Workspace
    batches: Iterator[Sequence[Variable]]
    version: str


Render = Callable[[VariableList], Coroutine[Any, Any, Rendered]]

_LARGE_VALUE_BYTES = 2 * 1024 * 1024
"""Lists with more bytes of values are rendered one at a time, however large the cache."""
_BATCH_BYTES = 64 * 1024
_ROW_BYTES = 512
"""What a variable counts beside its value: it costs some 10 µs, as a value of that size does."""


class Variables(UseCases):
    """What callers do with variables.

    All methods refuse unauthenticated, not found, forbidden; what changes something trail_altered.
    """

    def __init__(self, house: House, cache_bytes: int) -> None:
        """`cache_bytes`: of rendered lists."""
        super().__init__(house)
        self._changes = house.runner
        self._quota = house.quota
        self._lists = RenderedLists(cache_bytes)
        # With more bytes of values a list may, once escaped, exceed the cache.
        self._large_value_bytes = min(_LARGE_VALUE_BYTES, cache_bytes // 8)
        self._one_large = asyncio.Lock()

    async def list(self, caller: Caller, workspace_id: str, render: Render) -> Rendered:
        """All variables of a workspace, rendered, or cached at the same head and names.

        Refuses: damaged values, all of them.
        """
        while True:
            look = partial(self._readable, caller=caller, workspace_id=workspace_id)
            granted = await self._database.query(look)
            shown = granted.workspace
            key = granted.stream.head, shown.organization_name, shown.name
            listed = self._lists.find(workspace_id, key) or await self._lists.make(
                workspace_id, key, partial(self._rendered, granted, render)
            )
            if listed is not None:
                return listed

    async def read(
        self, caller: Caller, workspace_id: str, variable_id: str
    ) -> VariableInWorkspace:
        """One variable. Refuses: a damaged value."""

        async def body(tx: Transaction) -> VariableInWorkspace:
            granted = await self._readable(tx, caller, workspace_id)
            stored = await variables.get(tx, workspace_id, variable_id)
            shown = _shown(stored, self._tools.sealer.data_key(granted.key))
            if shown.value is None and not shown.sensitive:
                raise Refusal(damaged_value(shown))
            return VariableInWorkspace(granted.workspace, shown)

        return await self._database.query(body)

    async def value_at(
        self, caller: Caller, workspace_id: str, variable_id: str, version_id: str
    ) -> str | None:
        """The value, if the variable is readable and still at that version."""
        try:
            found = (await self.read(caller, workspace_id, variable_id)).variable
        except Refusal as refusal:
            if refusal.kind is not Kind.NOT_FOUND:
                raise
            return None
        return found.value if found.version_id == version_id else None

    async def create(
        self,
        caller: Caller,
        workspace_id: str,
        draft: VariableDraft,
        deprecated_filter: WorkspaceFilter | None = None,
    ) -> VariableInWorkspace:
        """Adds a variable.

        Refuses: every fault of the draft and the filter, a value that is to be code and does not
        parse or is too complex, a full workspace, a taken key, busy, too many requests.
        """

        ids = new_id("var"), new_version_id()
        asked = Creation(workspace_id, draft, *ids, deprecated_filter)
        decide = partial(decisions.create, asked=asked, quota=self._quota)
        foreseen = (ToWorkspace(workspace_id),)
        return await self._changes.make(Change(caller, workspace_id, decide, foreseen=foreseen))

    async def update(
        self,
        caller: Caller,
        workspace_id: str,
        variable_id: str,
        draft: VariableDraft,
        versions: Versions,
    ) -> VariableInWorkspace:
        """Changes what the draft names; the variable gets a new version also when that is nothing.

        Refuses: another version than those wanted, every fault of the draft, a value that is to
        be code and does not parse or is too complex, making a sensitive variable readable, a
        damaged value without a new one, a full workspace, a taken key, busy, too many requests.
        """

        variable = OfWorkspace(workspace_id, variable_id)
        asked = Edit(variable, draft, versions, new_version_id())
        decide = partial(decisions.update, asked=asked, quota=self._quota)
        foreseen = ToWorkspace(workspace_id), variable, ValueOf(variable)
        return await self._changes.make(Change(caller, workspace_id, decide, foreseen=foreseen))

    async def delete(
        self, caller: Caller, workspace_id: str, variable_id: str, versions: Versions
    ) -> None:
        """Removes a variable. Refuses: another version than those wanted."""

        asked = OfWorkspace(workspace_id, variable_id)
        decide = partial(decisions.delete, asked=asked, versions=versions)
        foreseen = ToWorkspace(workspace_id), asked
        await self._changes.make(Change(caller, workspace_id, decide, foreseen=foreseen))

    async def _readable(
        self, tx: Transaction, caller: Caller, workspace_id: str
    ) -> WorkspaceAccess:
        granted = await access.workspace(tx, caller, self._clock(), workspace_id)
        granted.require(Permission.READ_VARIABLES)
        return granted

    async def _rendered(self, granted: WorkspaceAccess, render: Render) -> Rendered | None:
        """The list at the head that was read with the access; None when the head has moved.

        Large ones are rendered one at a time, which bounds their memory.
        """
        if granted.stream.usage.value_bytes <= self._large_value_bytes:
            return await self._rendered_now(granted, render)
        async with self._one_large:
            return await self._rendered_now(granted, render)

    async def _rendered_now(self, granted: WorkspaceAccess, render: Render) -> Rendered | None:
        workspace, head = granted.workspace, granted.stream.head
        damaged: set[str] = set()

        def note(id_: str) -> str:
            damaged.add(id_)
            return ""

        open_value = self._tools.sealer.data_key(granted.key).opener(workspace.id, False, note)
        usage = granted.stream.usage
        few = usage.variables * _ROW_BYTES + usage.value_bytes <= _BATCH_BYTES
        found = await self._database.query(
            lambda tx: variables.find_all(tx, workspace.id, head, open_value, few=few)
        )
        if found is None:
            return None
        batches = iter((list(found),)) if few else in_batches(found, _size, _BATCH_BYTES)
        version = self._tools.chain.version_of(granted.stream)
        return await render(VariableList(workspace, _whole(batches, damaged), version))


def _shown(stored: StoredVariable, key: DataKey) -> Variable:
    """The variable with its value, unless that is sensitive or damaged."""
    if stored.variable.sensitive:
        return stored.variable
    assert stored.sealed is not None
    try:
        return stored.variable.with_value(key.open(stored.sealed, stored.variable))
    except SealBroken:
        return stored.variable


def _whole(
    batches: Iterable[Sequence[Variable]], damaged: Container[str]
) -> Iterator[Sequence[Variable]]:
    """The batches of a list. Refuses behind the last if there are damaged values among them.

    `damaged` are the ids that have turned up by then: of a list that is made value by value, nobody
    knows them sooner.
    """
    found: list[Variable] = []
    for batch in batches:
        found += [variable for variable in batch if variable.id in damaged]
        yield batch
    refuse_all(map(damaged_value, found))


def _size(variable: Variable) -> int:
    return _ROW_BYTES + len(variable.value or "")
