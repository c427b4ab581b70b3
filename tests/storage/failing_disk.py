"""A disk for SQLite, in this process, that fails when it is told to, and loses its power."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

BLOCK = 4096


@dataclass(frozen=True)
class Fault:
    """Which calls on the log fail and how: the first of its kind is number 1.

    `is_done`: what was asked for is done all the same.
    """

    call: str
    error: type[apsw.Error]
    numbers: range
    is_done: bool = False

    def __str__(self) -> str:
        done = ", done all the same" if self.is_done else ""
        return f"{self.error.__name__} at {self.call} {self.numbers.start}{done}"


@dataclass
class _Image:
    """What of a file is on the disk, and which blocks are still in memory alone."""

    written: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set)


class FailingDisk(apsw.VFS):
    """SQLite's default file system while it is registered; its faults are those of the log.

    What a failed sync should have written is taken for written, as Linux does: it reaches the disk
    only if it is written again.
    """

    def __init__(self) -> None:
        super().__init__("failing", "unix", makedefault=True)
        self.images: dict[str, _Image] = {}
        self._fault: Fault | None = None
        self._calls = 0

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the driver's name
        if name is None:  # a temporary file, which nobody looks for after a crash
            return apsw.VFSFile("unix", name, flags)
        return _File(self, name, flags)

    def fail(self, fault: Fault) -> None:
        """From now on lets calls fail."""
        self._fault, self._calls = fault, 0

    def mend(self) -> None:
        """From now on lets none fail."""
        self._fault = None

    def due(self, call: str) -> Fault | None:
        """The fault of this call, if it has one."""
        if self._fault is None or self._fault.call != call:
            return None
        self._calls += 1
        return self._fault if self._calls in self._fault.numbers else None

    def after_kill(self, path: Path) -> list[str]:
        """The things that are there if every process is killed now."""
        return _things(self.copy(path))

    def after_power_cut(self, path: Path) -> list[str]:
        """The things that are there if the power fails now."""
        copied = self.copy(path)
        for file in _files(copied):
            file.write_bytes(self.images[str(file)].written)
        return _things(copied)

    def copy(self, path: Path) -> Path:
        """The store as a process finds it that begins after all others were killed now."""
        folder = path.parent / f"copy-{uuid4()}"
        folder.mkdir()
        for file in _files(path):
            (folder / file.name).write_bytes(file.read_bytes())
            self.images[str(folder / file.name)] = copy.deepcopy(self.images[str(file)])
        return folder / path.name


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        self._image = disk.images.setdefault(str(self._path), _Image())
        self._is_log = self._path.name.endswith("-wal")
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        fault = self._disk.due("write") if self._is_log else None
        if fault is None or fault.is_done:
            super().xWrite(data, offset)
            last = (offset + len(data) - 1) // BLOCK
            self._image.dirty.update(range(offset // BLOCK, last + 1))
        if fault is not None:
            raise fault.error("injected")

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        del self._image.written[size:]

    def xSync(self, flags: int) -> None:  # noqa: N802
        fault = self._disk.due("sync") if self._is_log else None
        if fault is None or fault.is_done:
            super().xSync(flags)
            self._write_down()
        self._image.dirty.clear()
        if fault is not None:
            raise fault.error("injected")

    def _write_down(self) -> None:
        content, written = self._path.read_bytes(), self._image.written
        written.extend(bytes(max(0, len(content) - len(written))))
        for block in self._image.dirty:
            part = slice(block * BLOCK, min((block + 1) * BLOCK, len(content)))
            written[part] = content[part]


@contextmanager
def failing_disk() -> Iterator[FailingDisk]:
    """The disk of whatever is opened inside."""
    disk = FailingDisk()
    try:
        yield disk
    finally:
        disk.unregister()


def _files(path: Path) -> list[Path]:
    """The files of a store that outlive its processes."""
    both = (path, path.with_name(f"{path.name}-wal"))
    return [file for file in both if file.exists()]


def _things(path: Path) -> list[str]:
    connection = apsw.Connection(str(path), vfs="unix")
    try:
        return [row[0] for row in connection.execute("SELECT id FROM things ORDER BY id")]
    finally:
        connection.close()
