"""The variables of a workspace: list, create, read, update, delete."""

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.errors import Kind, Refusal, refuse_all
from teamvars.domain.preconditions import Versions
from teamvars.domain.variables import (
    Variable,
    VariableDraft,
    WorkspaceFilter,
    damaged_value,
    value_size,
)
from teamvars.domain.workspaces import Quota, Usage, Workspace
from teamvars.security.chain import Chain
from teamvars.security.sealing import DataKey, SealBroken, Sealer
from teamvars.services import Clock
from teamvars.services.batches import in_batches
from teamvars.services.changes import Changes
from teamvars.services.code.checker import CodeChecker
from teamvars.services.rendered import Rendered, RenderedLists
from teamvars.services.syntax import Verdicts, with_verdicts
from teamvars.services.trails import recorded
from teamvars.storage import access, variables
from teamvars.storage.database import Body, Database, Transaction
from teamvars.storage.variables import StoredVariable


class VariableInWorkspace(msgspec.Struct, frozen=True):
    """A variable as its readers see it, and the workspace it belongs to."""

    workspace: Workspace
    variable: Variable

    def without_value(self) -> "VariableInWorkspace":
        """The same, without the value."""
        return replace(self, variable=self.variable.with_value(None))


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


class Rules(msgspec.Struct, frozen=True):
    """What values are held to: how many and how large they are, and that code parses; and how many
    bytes of rendered lists are cached.
    """

    quota: Quota
    code: CodeChecker
    cache_bytes: int


class Variables:
    """What callers do with variables.

    All methods refuse unauthenticated, not found, forbidden; what changes something trail_altered.
    """

    def __init__(
        self, database: Database, sealer: Sealer, chain: Chain, clock: Clock, rules: Rules
    ) -> None:
        self._database = database
        self._sealer = sealer
        self._chain = chain
        self._clock = clock
        self._quota = rules.quota
        self._code = rules.code
        self._lists = RenderedLists(rules.cache_bytes)
        # With more bytes of values a list may, once escaped, exceed the cache.
        self._large_value_bytes = min(_LARGE_VALUE_BYTES, rules.cache_bytes // 8)
        self._one_large = asyncio.Lock()
        self._changes = Changes(database)

    async def list(self, caller: Caller, workspace_id: str, render: Render) -> Rendered:
        """All variables of a workspace, rendered, or cached at the same head and names.

        Refuses: damaged values, all of them.
        """
        while True:
            granted = await self._database.query(
                lambda tx: self._readable(tx, caller, workspace_id)
            )
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
            shown = _shown(stored, self._sealer.data_key(granted.key))
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
        deprecated_filter: WorkspaceFilter,
    ) -> VariableInWorkspace:
        """Adds a variable.

        Refuses: every fault of the draft and the filter, a value that is to be code and does not
        parse or is too complex, a full workspace, a taken key, busy, too many requests.
        """

        async def body(tx: Transaction, verdicts: Verdicts) -> VariableInWorkspace:
            now = self._clock()
            granted = await access.workspace(tx, caller, now, workspace_id, lock=True)
            granted.require(Permission.WRITE_VARIABLES)
            size = value_size(draft.value or "")
            after = granted.stream.usage.plus(1, size)
            known = [
                *deprecated_filter.faults(granted.workspace),
                *self._quota.faults(granted.stream.usage, after),
                *verdicts.faults(draft.code(None)),
            ]
            variable = draft.build(granted.workspace, now, known)
            sealed = self._sealer.data_key(granted.key).seal(draft.value or "", variable)
            event = caller.event("variable.create", variable.id, variable.audited(), now)
            record = await recorded(tx, self._chain, granted.stream, event, after)
            await variables.insert(tx, StoredVariable(variable, sealed, size), *record)
            return VariableInWorkspace(granted.workspace, _hidden(variable))

        async def look(tx: Transaction) -> None:
            granted = await access.workspace(tx, caller, self._clock(), workspace_id)
            granted.require(Permission.WRITE_VARIABLES)

        return await self._write(caller, workspace_id, look, body)

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

        async def body(tx: Transaction, verdicts: Verdicts) -> VariableInWorkspace:
            now = self._clock()
            place = workspace_id, variable_id
            granted, stored = await self._writable(tx, caller, place, now)
            versions.require(stored.variable.version_id)
            variable, changed, updated = self._apply(draft, stored, granted, verdicts)
            former = {"from": stored.variable.key} if "key" in changed else {}
            details = {**variable.audited(), "changed": changed, **former}
            event = caller.event("variable.update", variable.id, details, now)
            usage = granted.stream.usage.plus(0, updated.value_bytes - stored.value_bytes)
            record = await recorded(tx, self._chain, granted.stream, event, usage)
            await variables.update(tx, stored.variable, updated, *record)
            return VariableInWorkspace(granted.workspace, _hidden(variable))

        async def look(tx: Transaction) -> None:
            await self._writable(tx, caller, (workspace_id, variable_id), self._clock(), lock=False)

        return await self._write(caller, workspace_id, look, body)

    async def delete(
        self, caller: Caller, workspace_id: str, variable_id: str, versions: Versions
    ) -> None:
        """Removes a variable. Refuses: another version than those wanted."""

        async def body(tx: Transaction) -> None:
            now = self._clock()
            place = workspace_id, variable_id
            granted, stored = await self._writable(tx, caller, place, now)
            versions.require(stored.variable.version_id)
            summary = stored.variable.audited()
            event = caller.event("variable.delete", stored.variable.id, summary, now)
            usage = granted.stream.usage.plus(-1, -stored.value_bytes)
            record = await recorded(tx, self._chain, granted.stream, event, usage)
            await variables.delete(tx, variable_id, *record)

        async def look(tx: Transaction) -> None:
            await self._writable(tx, caller, (workspace_id, variable_id), self._clock(), lock=False)

        await self._changes.make(caller, workspace_id, look, body)

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

        open_value = self._sealer.data_key(granted.key).opener(workspace.id, False, note)
        few = _is_one_batch(granted.stream.usage)
        found = await self._database.query(
            lambda tx: variables.find_all(tx, workspace.id, head, open_value, few=few)
        )
        if found is None:
            return None
        batches = iter((list(found),)) if few else in_batches(found, _size, _BATCH_BYTES)
        version = self._chain.version_of(granted.stream)
        return await render(VariableList(workspace, _whole(batches, damaged), version))

    async def _write(
        self,
        caller: Caller,
        workspace_id: str,
        look: Body[None],
        body: Callable[[Transaction, Verdicts], Coroutine[Any, Any, VariableInWorkspace]],
    ) -> VariableInWorkspace:
        return await with_verdicts(
            self._code,
            caller,
            lambda verdicts: self._changes.make(
                caller, workspace_id, look, lambda tx: body(tx, verdicts)
            ),
        )

    async def _writable(
        self,
        tx: Transaction,
        caller: Caller,
        place: tuple[str, str],
        now: int,
        *,
        lock: bool = True,
    ) -> tuple[WorkspaceAccess, StoredVariable]:
        """The workspace and the variable. Not found takes precedence over forbidden."""
        granted = await access.workspace(tx, caller, now, place[0], lock=lock)
        granted.require(Permission.READ_VARIABLES)
        stored = await variables.get(tx, *place)
        granted.require(Permission.WRITE_VARIABLES)
        return granted, stored

    def _apply(
        self,
        draft: VariableDraft,
        stored: StoredVariable,
        granted: WorkspaceAccess,
        verdicts: Verdicts,
    ) -> tuple[Variable, Sequence[str], StoredVariable]:
        """The variable as the draft makes it, with its value where it is readable; what of it is
        another now, for the audit trail; and its row.

        The value is sealed anew when it changes or when the sensitive flag, which seals it in,
        does. A value that stays sensitive is not opened, and one that is damaged can be written
        over: any other change would have to show it, or to seal it anew.
        """
        key = self._sealer.data_key(granted.key)
        before = _shown(stored, key)
        size = stored.value_bytes if draft.value is None else value_size(draft.value)
        usage = granted.stream.usage
        full = self._quota.faults(usage, usage.plus(0, size - stored.value_bytes))
        broken = verdicts.faults(draft.code(before))
        is_lost = before.value is None and draft.value is None and not before.sensitive
        damaged = [damaged_value(before, f"{draft.at}/value")] if is_lost else ()
        variable = draft.applied_to(before, [*full, *broken, *damaged])
        sealed = stored.sealed
        if draft.value is not None or variable.sensitive != before.sensitive:
            assert variable.value is not None  # said now, or shown until now
            sealed = key.seal(variable.value, variable)
        return variable, draft.changed(before, variable), StoredVariable(variable, sealed, size)


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


def _is_one_batch(usage: Usage) -> bool:
    return usage.variables * _ROW_BYTES + usage.value_bytes <= _BATCH_BYTES


def _size(variable: Variable) -> int:
    return _ROW_BYTES + len(variable.value or "")


def _hidden(variable: Variable) -> Variable:
    """A variable just written, as its readers will see it."""
    return variable.with_value(None) if variable.sensitive else variable
