"""Lookups of callers that wait at the same time, in one statement."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from teamvars.storage.database import Lookup, Row
from teamvars.storage.deadlines import Deadline
from teamvars.storage.engines.coalescing import Coalescer, Fifo, Waiter

Fetch = Callable[..., Awaitable[Sequence[Row]]]


class _Call(NamedTuple):
    """The parameters of one caller, and the deadline of its request."""

    args: tuple[object, ...]
    deadline: Deadline


class Lookups:
    """Runs lookups, for each `Lookup` one statement at a time.

    A caller that comes while the statement is in flight goes into the next one. So none gets rows
    of a snapshot older than its call, and the more callers there are, the fewer statements each
    costs.
    """

    def __init__(self, fetch: Fetch, deadline: Callable[[], Deadline]) -> None:
        """`fetch` takes a deadline first; `deadline` is that of a call that begins now."""
        self._fetch = fetch
        self._deadline = deadline
        self._coalescers: dict[Lookup, Coalescer[_Call, Sequence[Row]]] = {}

    async def find(self, lookup: Lookup, args: tuple[object, ...]) -> Sequence[Row]:
        """The rows of the lookup for these parameters."""
        coalescer = self._coalescers.get(lookup)
        if coalescer is None:
            coalescer = Coalescer(partial(self._run, lookup), Fifo(skip_cancelled=True))
            self._coalescers[lookup] = coalescer
        return await coalescer.submit(_Call(args, self._deadline()))

    async def _run(self, lookup: Lookup, batch: list[Waiter[_Call, Sequence[Row]]]) -> None:
        calls = [waiter.item for waiter in batch]
        # The statement may take no longer than the caller that has waited longest can.
        fetch = partial(self._fetch, min(call.deadline for call in calls))
        if len(calls) == 1:
            batch[0].set_result(await fetch(lookup.single, *calls[0].args))
            return
        rows = await find_all(fetch, lookup, [call.args for call in calls])
        for number, waiter in enumerate(batch, start=1):
            waiter.set_result(rows.get(number, ()))


async def find_all(
    fetch: Fetch, lookup: Lookup, calls: Sequence[tuple[object, ...]]
) -> Mapping[int, Sequence[Row]]:
    """The rows of many calls in one statement, by the number of the call, from 1; a call without a
    row is left out.
    """
    found: defaultdict[int, list[Row]] = defaultdict(list)
    for row in await fetch(lookup.batched, *map(list, zip(*calls, strict=True))):
        found[row[0]].append(row[1:])
    return found
