"""Memory that one process writes and all of a server read: series, and their numbers.

It is made before the processes are, and outlives each: one that takes the place of another goes on
with its numbers. Only one process writes at a time, so there is no lock.
"""

import os
from collections.abc import Iterator
from ctypes import Array, c_char, c_double, c_size_t
from multiprocessing.sharedctypes import RawArray

import msgspec

SPARE = 64
"""Numbers at the front that nobody reads: what has no room counts there."""
_NUMBERS = 16_384
_TEXT_BYTES = 160 * 1024
_LENGTH, _END, _PROCESS = range(3)


class Series(msgspec.Struct, frozen=True, array_like=True):
    """What a row of numbers is: of which metric, for which values of its labels, and where."""

    name: str
    labels: tuple[str, ...]
    at: int
    size: int


class Nowhere:
    """Where a process counts that shows its numbers to nobody, as a command does."""

    numbers = memoryview(bytearray(8 * SPARE)).cast("d")

    def place(self, name: str, labels: tuple[str, ...], size: int) -> int:
        """Among the spare numbers, whatever it is."""
        return 0


class Memory:
    """The series of one process."""

    def __init__(self) -> None:
        self._facts: Array[c_size_t] = RawArray(c_size_t, 3)
        self._text: Array[c_char] = RawArray(c_char, _TEXT_BYTES)
        self._numbers: Array[c_double] = RawArray(c_double, _NUMBERS)
        self._facts[_END] = SPARE

    @property
    def numbers(self) -> "memoryview[float]":
        """All numbers, to be read and written."""
        return memoryview(self._numbers).cast("B").cast("d")

    @property
    def process_id(self) -> int | None:
        """The process that counts here, or did so last."""
        return self._facts[_PROCESS] or None

    def enter(self) -> None:
        """It is this process from now on."""
        self._facts[_PROCESS] = os.getpid()

    def place(self, name: str, labels: tuple[str, ...], size: int) -> int:
        """Where the numbers of a new series begin, which all who read are told; among the spare
        ones when there is no room.
        """
        at, begin = self._facts[_END], self._facts[_LENGTH]
        line = msgspec.json.encode(Series(name, labels, at, size)) + b"\n"
        if at + size > _NUMBERS or begin + len(line) > _TEXT_BYTES:
            return 0
        memoryview(self._text).cast("B")[begin : begin + len(line)] = line
        self._facts[_END] = at + size
        self._facts[_LENGTH] = begin + len(line)  # after the line itself: others read meanwhile
        return at

    def series(self) -> Iterator[Series]:
        """All there are, in the order in which they came."""
        text = bytes(memoryview(self._text).cast("B")[: self._facts[_LENGTH]])
        for line in text.splitlines():
            yield msgspec.json.decode(line, type=Series)
