"""What a workspace gets, from itself and from sets, as its readers see it."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.effective import Rule, Source, head_of
from teamvars.domain.errors import refuse_all
from teamvars.domain.variables import Variable, damaged_value
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.pace import Pace, in_batches
from teamvars.security.sealing import DataKey, Opener
from teamvars.services.house import House, UseCases
from teamvars.services.rendered import ListKey, Rendered, RenderedLists
from teamvars.storage import access
from teamvars.storage import effective as rows
from teamvars.storage.database import Row, Transaction

T = TypeVar("T")
OpenerOf = Callable[[str], Opener]
"""What opens readable values of the workspace or set with that id."""

_BATCH_BYTES = 64 * 1024


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
    show: Callable[[Iterable[rows.Chosen], OpenerOf], Iterator[T]]
    variables: Callable[[T], Sequence[Variable]]

    def size(self, one: T) -> int:
        """Bytes of values and rows."""
        return sum(rows.ROW_BYTES + len(each.value or "") for each in self.variables(one))


class EffectiveVariables(UseCases):
    """What readers of a workspace learn of what its runs get."""

    def __init__(self, house: House, lists: RenderedLists) -> None:
        super().__init__(house)
        self._lists = lists

    async def list(
        self, caller: Caller, workspace_id: str, kind: Kind[T], render: Render[T]
    ) -> Rendered:
        """The list, rendered, or cached at the heads of the workspace and of all sets that reach
        it.

        Refuses: unauthenticated, not found, damaged values, all of them.
        """
        subject = f"{workspace_id}/{kind.name}"
        look = partial(self._readable, caller=caller, workspace_id=workspace_id)
        reading = rows.Reading(Pace().keep, losers=kind.losers)
        while True:
            granted, ways = await self._database.query(look)
            shown, own = granted.workspace, granted.stream
            head = head_of({workspace_id: own.head, **{way[0]: way[1] for way in ways}})
            key: ListKey = head, shown.organization_name, shown.name
            listed = self._lists.find(subject, key)
            if listed is None:
                every = rows.supplies_of(own, ways)
                size = sum(map(rows.size, every))
                read = partial(reading.chosen, every=every)
                at = replace(granted, stream=replace(own, head=head, usage=Usage(0, size)))
                make = partial(self._rendered, at, read, kind, render)
                listed = await self._lists.make(subject, key, make, value_bytes=size)
            if listed is not None:
                return listed

    async def _readable(
        self, tx: Transaction, caller: Caller, workspace_id: str
    ) -> tuple[WorkspaceAccess, Sequence[Row]]:
        granted, ways = await access.workspace_and_sets(tx, caller, self._clock(), workspace_id)
        granted.require(Permission.READ_VARIABLES)
        return granted, ways

    async def _rendered(
        self,
        granted: WorkspaceAccess,
        read: Callable[[Transaction], Coroutine[Any, Any, Iterable[rows.Chosen] | None]],
        kind: Kind[T],
        render: Render[T],
    ) -> Rendered | None:
        """The list of what is read, at the head of all; None when there is another by now."""
        chosen = await self._database.query(read)
        if chosen is None:
            return None
        broken: set[str] = set()
        shown = kind.show(chosen, _openers(self._tools.sealer.data_key(granted.key), broken))
        few = granted.stream.usage.value_bytes <= _BATCH_BYTES
        batches = [list(shown)] if few else in_batches(shown, kind.size, _BATCH_BYTES)
        version = self._tools.chain.version_of(granted.stream)
        return await render(
            EffectiveList(granted.workspace, _whole(batches, broken, kind), version)
        )


def _openers(key: DataKey, broken: set[str]) -> OpenerOf:
    """What opens readable values, and notes the ids of variables whose values do not open."""

    def note(id_: str) -> str:
        broken.add(id_)
        return ""

    return cache(partial(key.opener, sensitive=False, damaged=note))


def _whole(
    batches: Iterable[Sequence[T]], broken: set[str], kind: Kind[T]
) -> Iterator[Sequence[T]]:
    """The batches. Refuses behind the last: damaged values, which nobody knows sooner."""
    damaged: list[Variable] = []
    for batch in batches:
        if broken:
            damaged += [each for one in batch for each in kind.variables(one) if each.id in broken]
        yield batch
    refuse_all(map(damaged_value, damaged))


def _winners(chosen: Iterable[rows.Chosen], opener_of: OpenerOf) -> Iterator[Variable]:
    return (rows.opened(row, opener_of(source.id)) for (source, row), *_ in chosen)


def _every(chosen: Iterable[rows.Chosen], opener_of: OpenerOf) -> Iterator[EffectiveVariable]:
    for (source, winner), *losers in chosen:
        overridden = [
            Overridden(rows.opened(loser, opener_of(its.id)), its, Rule.between(source, its))
            for its, loser in losers
        ]
        yield EffectiveVariable(rows.opened(winner, opener_of(source.id)), source, overridden)


WINNERS = Kind("all", losers=False, show=_winners, variables=lambda one: (one,))
"""The variables that count alone."""
EVERY = Kind("effective", losers=True, show=_every, variables=EffectiveVariable.variables)
"""Those that count, and what they come before."""
