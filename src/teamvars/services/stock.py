"""What there is in the store that no request asks for, counted for whoever watches a node."""

import asyncio
import time
from collections import Counter
from functools import partial

from teamvars.metrics import Gauge
from teamvars.services.house import House, UseCases
from teamvars.storage import data_keys, memos, tokens

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

_PAUSE = 200
"""How many times as long as a page took is waited for the next one: whoever counts leaves 99.5 % of
the time to others, however much there is to count.
"""
_LONGEST_PAUSE = 60.0
"""In seconds: a page that waited for the store took none of its time."""


class Stock(UseCases):
    """Says how much there is, as of the last time it was counted."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._told: set[tuple[str, str]] = set()

    async def count(self) -> None:
        """Counts what takes no time."""
        waiting, due_at = await self._database.read(memos.outbox)
        WAITING.set(waiting)
        OVERDUE.set(0 if due_at is None else max(0, self._clock() - due_at) / 1_000_000)
        ENDLESS.set(await self._database.read(tokens.count_endless))

    async def count_key_uses(self) -> None:
        """Counts what needs each key, page by page, and tells it when that is done. Nothing that is
        left of what there was is told as 0.
        """
        found: Counter[tuple[str, str]] = Counter()
        for what, use in data_keys.USES.items():
            after: str | None = ""
            while after is not None:
                begun = time.monotonic()
                page = partial(data_keys.uses, use=use, after=after)
                counted, after = await self._database.read(page)
                found.update({(key, what): count for key, count in counted.items()})
                await asyncio.sleep(min(_PAUSE * (time.monotonic() - begun), _LONGEST_PAUSE))
        self._told |= found.keys()
        for labels in self._told:
            KEY_USES.set(found[labels], *labels)
        COUNTED.set(time.time())
