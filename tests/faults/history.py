"""What callers asked at the same time and were answered, and whether one order explains it all.

The search is Wing and Gong's: an operation may come next in the order when no other that is still
to come had ended before it began. Here the object is a whole workspace, not one key of it, or what
sets, projects and workspaces make of one (`test_effective_history`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

State = Mapping[str, str]
"""What is there, by name: of each variable the version."""


class Step(Protocol):
    """One request and its answer. Times are the caller's."""

    @property
    def begun(self) -> float: ...
    @property
    def ended(self) -> float: ...
    def applied_to(self, state: State) -> State | None:
        """What is there afterwards; None when the answer does not fit what was."""


@dataclass(frozen=True)
class Operation:
    """A step in a workspace; `versions` is what a list showed."""

    begun: float
    ended: float
    method: str
    status: int
    id: str = ""
    expected: str | None = None
    version: str = ""
    versions: State | None = None

    def applied_to(self, state: State) -> State | None:
        """The workspace after the operation; None when the answer does not fit that workspace."""
        if self.method == "GET":
            return state if state == self.versions else None
        if self.method == "POST":
            return {**state, self.id: self.version}
        there = state.get(self.id)
        if there is None:
            return state if self.status == 404 else None
        if self.expected not in (None, there):
            return state if self.status == 412 else None
        if self.method == "DELETE":
            rest = {id_: version for id_, version in state.items() if id_ != self.id}
            return rest if self.status == 204 else None
        return {**state, self.id: self.version} if self.status == 200 else None


def is_linearizable(history: Sequence[Step]) -> bool:
    """Whether all answers are those of some order that keeps what came after what."""
    operations = sorted(history, key=lambda operation: operation.begun)
    seen: set[tuple[frozenset[int], frozenset[tuple[str, str]]]] = set()
    paths: list[tuple[frozenset[int], State]] = [(frozenset(range(len(operations))), {})]
    while paths:
        left, state = paths.pop()
        if not left:
            return True
        key = left, frozenset(state.items())
        if key in seen:
            continue
        seen.add(key)
        first_end = min(operations[n].ended for n in left)
        for n in left:
            if operations[n].begun <= first_end:
                after = operations[n].applied_to(state)
                if after is not None:
                    paths.append((left - {n}, after))
    return False
