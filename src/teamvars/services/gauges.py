"""What there is in the store that no request asks for, counted for whoever watches a node."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from teamvars.domain.keys import active_of
from teamvars.domain.times import LATEST
from teamvars.metrics import Gauge
from teamvars.services.house import House, UseCases
from teamvars.storage import data_keys, invitations, keys, queues, tokens
from teamvars.storage.database import Body, T, Transaction

WAITING = Gauge("teamvars_messages_waiting", "Messages that wait to be sent.")
OVERDUE = Gauge(
    "teamvars_messages_overdue_seconds",
    "For how long the message has been due that is to be tried first.",
)
ENDLESS = Gauge(
    "teamvars_endless_tokens",
    f"Tokens that never end; {tokens.MOST_COUNTED} are that many or more.",
)
KEY_USES = Gauge(
    "teamvars_key_uses", "What needs each key, by the key's id and what it is.", ("key", "what")
)
COUNTED = Gauge(
    "teamvars_key_uses_counted_timestamp_seconds",
    "When that had last been counted from end to end, in seconds since 1970.",
)
SEALS = Gauge(
    "teamvars_data_key_seals",
    "Entries of the organization that has most since the generation of data keys in use came to be "
    "so: each value that was sealed has left one.",
)

QUEUES = (invitations.QUEUE, queues.MEMOS)
"""Those of messages."""

_PAUSE = 200
"""How many times as long as a page took is waited for the next one: whoever counts leaves 99.5 % of
the time to others, however much there is to count.
"""
_LONGEST_PAUSE = 60.0
"""In seconds: a page that waited for the store took none of its time."""

Count = Callable[..., Coroutine[Any, Any, tuple[Mapping[str, int], Any]]]
"""Counts what needs each key among the rows of the page that comes `after` one, and says which was
its last; None: there are no more.
"""


class Gauges(UseCases):
    """Says how much there is, as of the last time it was counted."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._told: set[tuple[str, str]] = set()

    async def count(self) -> None:
        """Counts what takes no time."""
        queues = [await self._database.read(queue.waiting) for queue in QUEUES]
        due_at = min((due_at for _, due_at in queues if due_at is not None), default=LATEST)
        WAITING.set(sum(number for number, _ in queues))
        OVERDUE.set(max(0, self._clock() - due_at) / 1_000_000)
        ENDLESS.set(await self._database.read(tokens.count_endless))

    async def count_key_uses(self) -> None:
        """Counts what needs each key, page by page, and tells it when that is done. Nothing that is
        left of what there was is told as 0.
        """
        found: Counter[tuple[str, str]] = Counter()
        uses = {**keys.USES, **data_keys.USES}
        for what, use in uses.items():
            page = partial(keys.page_of_uses, use=use, now=self._clock())
            found.update(await self._counted(what, page, use.first))
        found.update(await self._counted(keys.HEADS, self._heads, ""))
        self._told |= found.keys()
        for labels in self._told:
            KEY_USES.set(found[labels], *labels)
        COUNTED.set(time.time())

    async def _counted(
        self, what: str, count: Count, first: str | bytes
    ) -> Counter[tuple[str, str]]:
        """All pages together, by key and what it is."""
        found: Counter[tuple[str, str]] = Counter()
        after: Any = first
        while after is not None:
            counted, after = await self._paced(partial(count, after=after))
            found.update({(key, what): number for key, number in counted.items()})
        return found

    async def count_seals(self) -> None:
        """Counts what each data key may have sealed, page by page, and tells the most of all."""
        since = active_of(await self._database.read(data_keys.generations)).activated_at or 0
        most = of_one = 0
        after: data_keys.Entry | None = data_keys.FIRST
        while after is not None:
            page = partial(data_keys.page_of_entries, after=after, since=since)
            count, after = await self._paced(page)
            of_one = of_one + count if count else 0
            most = max(most, of_one)
        SEALS.set(most)

    async def _paced(self, page: Body[T]) -> T:
        """A page, and the pause after it."""
        begun = time.monotonic()
        read = await self._database.read(page)
        await asyncio.sleep(min(_PAUSE * (time.monotonic() - begun), _LONGEST_PAUSE))
        return read

    async def _heads(self, tx: Transaction, after: str) -> tuple[Mapping[str, int], str | None]:
        """How many heads there are under each audit key, as `keys.page_of_uses`."""
        page = await keys.page_of_streams(tx, after)
        signers = map(self._tools.chain.signer, page)
        return Counter(filter(None, signers)), page[-1].id if page else None
