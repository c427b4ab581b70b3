"""Rendered lists in memory: never an answer of its own, only work that need not be done again.

A list is found by the head of its stream, which the same request has just read. Whatever a list
shows moves that head, and no restored or failed-over history repeats one, so a stale list is never
found. Sensitive values are not in them.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from teamvars.domain.discreet import Discreet


class RenderedList(Discreet, frozen=True):
    """A workspace's variables as they go over the wire, and their entity tag."""

    entity_tag: str
    body: bytes


Render = Callable[[], Coroutine[Any, Any, RenderedList | None]]


class RenderedLists:
    """The lists used last, one a workspace, of at most so many bytes in all."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lists: OrderedDict[str, tuple[bytes, RenderedList]] = OrderedDict()
        self._under_way: dict[tuple[str, bytes], asyncio.Task[RenderedList | None]] = {}

    def find(self, workspace_id: str, head: bytes) -> RenderedList | None:
        """The list as it was rendered at that head, if it is still there."""
        kept = self._lists.get(workspace_id)
        if kept is None or kept[0] != head:
            return None
        self._lists.move_to_end(workspace_id)
        return kept[1]

    async def make(self, workspace_id: str, head: bytes, render: Render) -> RenderedList | None:
        """Renders the list at that head and keeps it; None when the stream has moved on.

        Whoever wants the same list meanwhile waits for it too, and goes away alone: a list that
        is written often would else be rendered by all its readers after each write.
        """
        task = self._under_way.get((workspace_id, head))
        if task is None:
            task = asyncio.ensure_future(self._make(workspace_id, head, render))
            self._under_way[workspace_id, head] = task
            task.add_done_callback(_retrieve)
        return await asyncio.shield(task)

    async def _make(self, workspace_id: str, head: bytes, render: Render) -> RenderedList | None:
        try:
            rendered = await render()
        finally:
            del self._under_way[workspace_id, head]
        if rendered is not None:
            self._keep(workspace_id, head, rendered)
        return rendered

    def _keep(self, workspace_id: str, head: bytes, rendered: RenderedList) -> None:
        """Keeps a list in the place of the workspace's former one, and forgets the oldest."""
        self._forget(workspace_id)
        if len(rendered.body) > self._max_bytes:
            return
        self._lists[workspace_id] = (head, rendered)
        self._bytes += len(rendered.body)
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._lists)))

    def _forget(self, workspace_id: str) -> None:
        kept = self._lists.pop(workspace_id, None)
        if kept is not None:
            self._bytes -= len(kept[1].body)


def _retrieve(task: asyncio.Task[RenderedList | None]) -> None:
    """Sees to it that nobody misses an error when all who waited have gone."""
    if not task.cancelled():
        task.exception()
