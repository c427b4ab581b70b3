"""Routing by path in a tree of segments: the time does not grow with the number of routes."""

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Paths(Generic[T]):
    """Things by path template. A `{name}` stands for one segment that is not empty.

    No template has a literal segment where another that begins alike has a parameter, so that a
    path has one way through the tree.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, template: str, thing: T) -> None:
        """Puts something at every path of the template; `/` is the path without a segment."""
        node = self._root
        names = []
        for segment in template.removesuffix("/").split("/")[1:]:
            before = node
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.any_segment = node.any_segment or _Node()
                node = node.any_segment
            else:
                node = node.segments.setdefault(segment, _Node())
            if before.segments and before.any_segment:
                raise ValueError(f"{template}: {segment} may also stand for something else")
        node.found = (template, tuple(names), thing)

    def find(self, path: str) -> tuple[str, Mapping[str, str], T] | None:
        """The template, the parameters by name and the thing; None when nothing is there."""
        node = self._root
        values: list[str] = []
        for segment in path.split("/")[1:]:
            following = node.segments.get(segment)
            if following is None and segment:
                following = node.any_segment
                values.append(segment)
            if following is None:
                return None
            node = following
        if node.found is None:
            return None
        template, names, thing = node.found
        return template, dict(zip(names, values, strict=True)), thing


class _Node(Generic[T]):
    """A place in the tree of segments."""

    __slots__ = ("any_segment", "found", "segments")

    def __init__(self) -> None:
        self.segments: dict[str, _Node[T]] = {}
        self.any_segment: _Node[T] | None = None
        self.found: tuple[str, tuple[str, ...], T] | None = None
