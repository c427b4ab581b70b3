"""What is kept in memory as long as there is room for it."""

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Something of each subject. What was found or kept longest ago goes first once all take more
    than `max_bytes`; what alone would take more is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.bytes = 0
        """What all of it takes."""
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def find(self, subject: str) -> T | None:
        """What is kept of a subject."""
        kept = self._kept.get(subject)
        if kept is None:
            return None
        self._kept.move_to_end(subject)
        return kept[0]

    def keep(self, subject: str, one: T, size: int) -> bool:
        """Keeps what takes so many bytes, in place of what there was of the subject; whether there
        is room for it.
        """
        self._let_go(subject)
        if size > self._max_bytes:
            return False
        self._kept[subject] = one, size
        self.bytes += size
        while self.bytes > self._max_bytes:
            self._let_go(next(iter(self._kept)))
        return True

    def _let_go(self, subject: str) -> None:
        if (kept := self._kept.pop(subject, None)) is not None:
            self.bytes -= kept[1]
