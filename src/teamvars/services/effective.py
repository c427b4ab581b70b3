"""What a workspace gets, from itself and from sets, as its readers see it."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.effective import Rule, Run, Source, effective, head_of, head_of_all
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.pace import Pace, in_batches, rested
from teamvars.security.sealing import Opener
from teamvars.services.house import House, UseCases
from teamvars.services.rendered import ListKey, Rendered, RenderedLists
from teamvars.services.variables import whole
from teamvars.storage import access
from teamvars.storage import effective as rows
from teamvars.storage.database import Row, Transaction
from teamvars.storage.effective import KeptRows

T = TypeVar("T")
OpenerOf = Callable[[str], Opener]
"""What opens readable values of the workspace or set with that id."""

_BATCH_BYTES = 64 * 1024
_KEPT_BYTES = 8 * 1024 * 1024
"""Of rows of sets, in a worker."""


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

    def variables(self) -> Sequence[Variable]:
        """The one that counts and the others."""
        return self.variable, *(one.variable for one in self.overridden)


class EffectiveList(msgspec.Struct, Generic[T], frozen=True):
    """What a workspace gets, by key, then category, in batches; `version` is another whenever some
    of it is.
    """

    workspace: Workspace
    batches: Iterable[Sequence[T]]
    version: str


Render = Callable[[EffectiveList[T]], Coroutine[Any, Any, Rendered]]


class Kind(msgspec.Struct, Generic[T], frozen=True):
    """What a list shows of what reaches a workspace, with the `losers` or without: `show` opens it
    as it is asked for, and `variables` are those in it.
    """

    name: str
    losers: bool
    show: Callable[[Iterable[Run[Row]], OpenerOf], Iterator[T]]
    variables: Callable[[T], Sequence[Variable]]

    def size(self, one: T) -> int:
        """Bytes of values and rows."""
        return sum(rows.ROW_BYTES + len(each.value or "") for each in self.variables(one))


class EffectiveVariables(UseCases):
    """What readers of a workspace learn of what its runs get."""

    def __init__(self, house: House, lists: RenderedLists) -> None:
        super().__init__(house)
        self._lists = lists
        self._kept = KeptRows(_KEPT_BYTES)

    async def list(
        self, caller: Caller, workspace_id: str, kind: Kind[T], render: Render[T]
    ) -> Rendered:
        """The list, rendered, or cached at the heads of the workspace and of all sets that reach
        it.

        Refuses: unauthenticated, not found, damaged values, all of them.
        """
        subject = f"{workspace_id}/{kind.name}"
        look = partial(self._readable, caller=caller, workspace_id=workspace_id)
        reading = rows.Reading(rows.READABLE, (workspace_id,), Pace().keep, self._kept)
        while True:
            granted, head = await self._database.query(look)
            shown = granted.workspace
            key: ListKey = head, shown.organization_name, shown.name
            listed = self._lists.find(subject, key)
            if listed is None:
                at = replace(granted, stream=replace(granted.stream, head=head))
                make = partial(self._rendered, at, reading, kind, render)
                listed = await self._lists.make(subject, key, make)
            if listed is not None:
                return listed

    async def _readable(
        self, tx: Transaction, caller: Caller, workspace_id: str
    ) -> tuple[WorkspaceAccess, bytes]:
        granted, of_sets = await access.workspace_and_sets(tx, caller, self._clock(), workspace_id)
        granted.require(Permission.READ_VARIABLES)
        return granted, head_of(granted.stream.head, of_sets)

    async def _rendered(
        self, granted: WorkspaceAccess, reading: rows.Reading, kind: Kind[T], render: Render[T]
    ) -> Rendered | None:
        """The list at the head of all; None when there is another by now."""
        every = await self._database.query(reading.look)
        heads = {one.source.id: one.head for one in every}
        if not every or head_of_all(heads) != granted.stream.head:
            return None
        size = sum(map(rows.size, every))
        async with self._lists.turn(size):
            rested()
            read = reading.runs if kind.losers else reading.winners
            keys = granted.key.wrapped
            runs = await self._database.query(partial(read, every=every, keys=keys))
            if runs is None:
                return None
            broken: set[str] = set()
            key = self._tools.sealer.data_key(granted.key)
            shown = kind.show(runs, partial(key.opener, sensitive=False, damaged=broken))
            few = size <= _BATCH_BYTES
            batches = [list(shown)] if few else in_batches(shown, kind.size, _BATCH_BYTES)
            version = self._tools.chain.version_of(granted.stream)
            checked = whole(batches, broken, kind.variables)
            return await render(EffectiveList(granted.workspace, checked, version))


def _winners(runs: Iterable[Run[Row]], opener_of: OpenerOf) -> Iterator[Variable]:
    some = (rows.opened(run, opener_of(run.source.id)) for run in runs if run.held)
    return merge(*some, key=attrgetter("key", "category"))


def _every(runs: Iterable[Run[Row]], opener_of: OpenerOf) -> Iterator[EffectiveVariable]:
    runs = list(runs)
    opened = {run.source.id: rows.opened(run, opener_of(run.source.id)) for run in runs}
    for (source, _), *losers in effective(runs):
        winner = next(opened[source.id])
        overridden = [
            Overridden(next(opened[its.id]), its, Rule.between(source, its)) for its, _ in losers
        ]
        yield EffectiveVariable(winner, source, overridden)


WINNERS = Kind("all", losers=False, show=_winners, variables=lambda one: (one,))
"""The variables that count alone."""
EVERY = Kind("effective", losers=True, show=_every, variables=EffectiveVariable.variables)
"""Those that count, and what they come before."""
