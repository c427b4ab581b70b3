"""What a workspace gets, from itself and from sets, as its readers see it."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.effective import Candidate, Chosen, Rule, Source, effective, head_of
from teamvars.domain.errors import refuse_all
from teamvars.domain.sealed import NOTHING
from teamvars.domain.variables import Variable, damaged_value
from teamvars.domain.workspaces import Workspace
from teamvars.pace import in_batches
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.services.house import House, UseCases
from teamvars.services.rendered import ListKey, Rendered, RenderedLists
from teamvars.storage import access
from teamvars.storage import effective as rows
from teamvars.storage.database import Transaction

_BATCH_BYTES = 64 * 1024
_ROW_BYTES = 512


class Overridden(msgspec.Struct, frozen=True):
    """A variable that does not count, where it is from, and by which rule another comes before."""

    variable: Variable
    source: Source
    rule: Rule


class EffectiveVariable(msgspec.Struct, frozen=True):
    """A variable that counts in a workspace, where it is from, and what it comes before."""

    variable: Variable
    source: Source
    overridden: Sequence[Overridden] = ()


class EffectiveList(msgspec.Struct, frozen=True):
    """What a workspace gets, by key, then category, in batches; `version` is another whenever some
    of it is.
    """

    workspace: Workspace
    batches: Iterator[Sequence[EffectiveVariable]]
    version: str


Render = Callable[[EffectiveList], Coroutine[Any, Any, Rendered]]


class EffectiveVariables(UseCases):
    """What readers of a workspace learn of what its runs get."""

    def __init__(self, house: House, lists: RenderedLists) -> None:
        super().__init__(house)
        self._lists = lists

    async def list(
        self, caller: Caller, workspace_id: str, render: Render, *, losers: bool
    ) -> Rendered:
        """All variables that count, rendered, or cached at the heads of the workspace and of all
        sets that reach it; with the `losers`, or the winners alone.

        Refuses: unauthenticated, not found, damaged values, all of them.
        """
        subject = f"{workspace_id}/{'effective' if losers else 'all'}"
        while True:
            look = partial(self._readable, caller=caller, workspace_id=workspace_id)
            granted, heads, value_bytes = await self._database.query(look)
            shown = granted.workspace
            key: ListKey = head_of(heads), shown.organization_name, shown.name
            make = partial(self._rendered, granted, heads, render, losers=losers)
            listed = self._lists.find(subject, key) or await self._lists.make(
                subject, key, make, value_bytes=value_bytes
            )
            if listed is not None:
                return listed

    async def _readable(
        self, tx: Transaction, caller: Caller, workspace_id: str
    ) -> tuple[WorkspaceAccess, Mapping[str, bytes], int]:
        now = self._clock()
        granted, sets = await access.workspace_and_sets(tx, caller, now, workspace_id)
        granted.require(Permission.READ_VARIABLES)
        heads = {id_: head for id_, (head, _) in sets.items()}
        value_bytes = granted.stream.usage.value_bytes + sum(size for _, size in sets.values())
        return granted, {workspace_id: granted.stream.head, **heads}, value_bytes

    async def _rendered(
        self, granted: WorkspaceAccess, heads: Mapping[str, bytes], render: Render, *, losers: bool
    ) -> Rendered | None:
        """The list at those heads; None when one of them has moved."""
        workspace = granted.workspace
        look = partial(rows.readable_of_workspace, workspace_id=workspace.id, losers=losers)
        found = await self._database.query(look)
        if found.heads != heads:
            return None
        opening = _Opening(self._tools.sealer.data_key(granted.key), losers=losers)
        batches = in_batches(opening.every(effective(found.candidates)), _size, _BATCH_BYTES)
        version = self._tools.chain.version_of(replace(granted.stream, head=head_of(heads)))
        return await render(EffectiveList(workspace, batches, version))


class _Opening:
    """Opens readable values, of the `losers` too or of the winners alone."""

    def __init__(self, key: DataKey, *, losers: bool) -> None:
        self._key = key
        self._losers = losers
        self._damaged: list[Variable] = []

    def every(self, chosen: Iterable[Chosen]) -> Iterator[EffectiveVariable]:
        """What is shown, opened as it is asked for. Refuses behind the last: damaged values."""
        for one in chosen:
            yield self._shown(one)
        refuse_all(map(damaged_value, self._damaged))

    def _shown(self, chosen: Chosen) -> EffectiveVariable:
        overridden = [
            Overridden(self._opened(one), one.source, chosen.rule(one))
            for one in (chosen.losers if self._losers else ())
        ]
        winner = chosen.winner
        return EffectiveVariable(self._opened(winner), winner.source, overridden)

    def _opened(self, one: Candidate) -> Variable:
        variable, sealed = one.stored.variable, one.stored.sealed
        if variable.sensitive:
            return variable
        try:
            return variable.with_value(self._key.open(sealed or NOTHING, variable))
        except SealBroken:
            self._damaged.append(variable)
            return variable


def _size(one: EffectiveVariable) -> int:
    every = (one.variable, *(each.variable for each in one.overridden))
    return sum(_ROW_BYTES + len(variable.value or "") for variable in every)
