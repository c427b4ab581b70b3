"""An in-memory LRU cache of rendered lists, validated by every request that uses it.

The cache key is what the same request has just read: the head of the stream and the names that the
list shows. Any other change to what a list shows moves that head, and no restored or failed-over
history repeats one, so a lookup never returns a stale list. Sensitive values are not in them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

from teamvars.kernel import Discreet
from teamvars.metrics import Counter, Gauge
from teamvars.recent import Recent


class Rendered(Discreet, frozen=True, weakref=True):
    """A document as it goes over the wire, in one piece or more, and its entity tag."""

    entity_tag: str
    pieces: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return sum(map(len, self.pieces))


ENTRY_BYTES = 1024
"""What a cached list counts beside its body: key, names and Python's own need take 500 to 1,000."""

_LARGE_VALUE_BYTES = 2 * 1024 * 1024
"""Lists with more bytes of values are rendered one at a time, however large the cache."""

_AT_ONCE = nullcontext()

ListKey = tuple[bytes, str, str]
"""The head that a list was rendered at, and the names of the organization and of the workspace or
set: renaming an organization moves no heads but its own."""

Render = Callable[[], Coroutine[Any, Any, Rendered | None]]


LOOKUPS = Counter(
    "teamvars_cache_lookups_total",
    "Lists that were looked for in memory.",
    "outcome",
    ("hit", "miss"),
)
HELD = Gauge("teamvars_cache_bytes", "Bytes of lists that are held in memory.")


class RenderedLists:
    """Of each subject one list at most, and of all the most recently used ones.

    Lists with much in them are rendered one at a time, which bounds their memory. One larger than
    `max_bytes` is held weakly: it is shared by the requests that are under way, and freed with the
    last of them.
    """

    def __init__(self, max_bytes: int) -> None:
        # With more bytes of values a list may, once escaped, exceed the cache.
        self._large_value_bytes = min(_LARGE_VALUE_BYTES, max_bytes // 8)
        self._one_large = asyncio.Lock()
        self._lists: Recent[tuple[ListKey, Rendered]] = Recent(max_bytes)
        self._too_large: WeakValueDictionary[tuple[str, ListKey], Rendered] = WeakValueDictionary()
        self._under_way: dict[tuple[str, ListKey], asyncio.Future[Rendered | None]] = {}

    @property
    def bytes(self) -> int:
        """What all cached lists count."""
        return self._lists.bytes

    def find(self, subject: str, key: ListKey) -> Rendered | None:
        """The list rendered at that key, if it is cached."""
        rendered_at, found = self._lists.find(subject) or (None, None)
        if rendered_at != key:
            found = self._too_large.get((subject, key))
        LOOKUPS.add("miss" if found is None else "hit")
        return found

    async def make(
        self, subject: str, key: ListKey, render: Render, *, value_bytes: int = 0
    ) -> Rendered | None:
        """Renders and caches the list at that key, with so many bytes of values; None when a stream
        has moved on.

        Single-flight: concurrent callers for one (subject, key) share a render, or each write
        would have all readers render. When the one that renders is cancelled, the next does.
        """
        flight = subject, key
        while (others := self._under_way.get(flight)) is not None:
            await asyncio.wait([others])
            if not others.cancelled():
                return others.result()
        shared = self._under_way[flight] = asyncio.get_running_loop().create_future()
        try:
            async with self.turn(value_bytes):
                rendered = await render()
            shared.set_result(rendered)
        except Exception as error:
            shared.set_exception(error)
            shared.exception()  # marks it as retrieved: there may be no others
            raise
        finally:
            shared.cancel()  # does nothing once there is an outcome
            del self._under_way[flight]
        if rendered is not None:
            self._keep(subject, key, rendered)
        return rendered

    def turn(self, value_bytes: int) -> AbstractAsyncContextManager[None]:
        """Its turn to be rendered, of a list with so many bytes of values; for a renderer that is
        the first to know.
        """
        return self._one_large if value_bytes > self._large_value_bytes else _AT_ONCE

    def _keep(self, subject: str, key: ListKey, rendered: Rendered) -> None:
        """Caches a list in place of the subject's former one, and evicts down to the limit."""
        if not self._lists.keep(subject, (key, rendered), rendered.size + ENTRY_BYTES):
            self._too_large[subject, key] = rendered
