"""Rendered lists in memory: never an answer of its own, only work that need not be done again.

A list is found by what the same request has just read: the head of its stream and the names that it
shows. Whatever else a list shows moves that head, and no restored or failed-over history repeats
one, so a stale list is never found. Sensitive values are not in them.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakValueDictionary

from teamvars.domain.discreet import Discreet


class Rendered(Discreet, frozen=True, weakref=True):
    """A document as it goes over the wire, in one piece or more, and its entity tag."""

    entity_tag: str
    pieces: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return sum(map(len, self.pieces))


ListKey = tuple[bytes, str, str]
"""What a list was rendered at: the head, and the names of the organization and of the workspace.

Renaming an organization moves none of its workspaces' heads.
"""

Render = Callable[[], Coroutine[Any, Any, Rendered | None]]


class RenderedLists:
    """The lists used last, one a workspace, of at most so many bytes in all.

    One that is larger than that is found only while somebody is still being sent it: all who ask
    for it meanwhile share its memory.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lists: OrderedDict[str, tuple[ListKey, Rendered]] = OrderedDict()
        self._too_large: WeakValueDictionary[tuple[str, ListKey], Rendered] = WeakValueDictionary()
        self._under_way: dict[tuple[str, ListKey], asyncio.Task[Rendered | None]] = {}

    def find(self, workspace_id: str, key: ListKey) -> Rendered | None:
        """The list as it was rendered at that key, if it is still there."""
        kept = self._lists.get(workspace_id)
        if kept is None or kept[0] != key:
            return self._too_large.get((workspace_id, key))
        self._lists.move_to_end(workspace_id)
        return kept[1]

    async def make(self, workspace_id: str, key: ListKey, render: Render) -> Rendered | None:
        """Renders the list at that key and keeps it; None when the stream has moved on.

        Whoever wants the same list meanwhile waits for it too, and goes away alone: a list that
        is written often would else be rendered by all its readers after each write.
        """
        task = self._under_way.get((workspace_id, key))
        if task is None:
            task = asyncio.ensure_future(self._make(workspace_id, key, render))
            self._under_way[workspace_id, key] = task
            task.add_done_callback(_retrieve)
        return await asyncio.shield(task)

    async def _make(self, workspace_id: str, key: ListKey, render: Render) -> Rendered | None:
        try:
            rendered = await render()
        finally:
            del self._under_way[workspace_id, key]
        if rendered is not None:
            self._keep(workspace_id, key, rendered)
        return rendered

    def _keep(self, workspace_id: str, key: ListKey, rendered: Rendered) -> None:
        """Keeps a list in the place of the workspace's former one, and forgets the oldest."""
        self._forget(workspace_id)
        if rendered.size > self._max_bytes:
            self._too_large[workspace_id, key] = rendered
            return
        self._lists[workspace_id] = (key, rendered)
        self._bytes += rendered.size
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._lists)))

    def _forget(self, workspace_id: str) -> None:
        kept = self._lists.pop(workspace_id, None)
        if kept is not None:
            self._bytes -= kept[1].size


def _retrieve(task: asyncio.Task[Rendered | None]) -> None:
    """Sees to it that nobody misses an error when all who waited have gone."""
    if not task.cancelled():
        task.exception()
