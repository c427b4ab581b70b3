"""Routing by path in a tree of segments: the time does not grow with the number of routes."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Paths(Generic[T]):
    """Things by path template. A `{name}` stands for one segment that is not empty."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, template: str, thing: T) -> None:
        """Puts something at every path of the template; `/` is the path without a segment."""
        node = self._root
        names = []
        for segment in template.removesuffix("/").split("/")[1:]:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.any_segment = node.any_segment or _Node()
                node = node.any_segment
            else:
                node = node.segments.setdefault(segment, _Node())
        node.found = (template, tuple(names), thing)

    def find(self, path: str) -> tuple[str, Mapping[str, str], T] | None:
        """The template, the parameters by name and the thing; None when nothing is there."""
        values: list[str] = []
        found = self._root.find(path.split("/")[1:], 0, values)
        if found is None:
            return None
        template, names, thing = found
        return template, dict(zip(names, values, strict=True)), thing


class _Node(Generic[T]):
    """A place in the tree of segments."""

    __slots__ = ("any_segment", "found", "segments")

    def __init__(self) -> None:
        self.segments: dict[str, _Node[T]] = {}
        self.any_segment: _Node[T] | None = None
        self.found: tuple[str, tuple[str, ...], T] | None = None

    def find(
        self, segments: Sequence[str], at: int, values: list[str]
    ) -> tuple[str, tuple[str, ...], T] | None:
        """What the rest of the segments leads to; a literal segment goes before a parameter."""
        if at == len(segments):
            return self.found
        segment = segments[at]
        if (exact := self.segments.get(segment)) is not None:
            found = exact.find(segments, at + 1, values)
            if found is not None:
                return found
        if self.any_segment is None or not segment:
            return None
        values.append(segment)
        found = self.any_segment.find(segments, at + 1, values)
        if found is None:
            values.pop()
        return found
