"""Where canaries are let out, and every place where one could be found."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.postgres import PACKAGES, PROGRAMS
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import Tenant

SHARED = (Path("/dev/shm"), Path("/tmp"))  # noqa: S108 - to be searched
_LARGEST = 2**26


@dataclass(frozen=True)
class Aviary:
    """A served store, every folder that anything of it is written to, and a tenant."""

    served: ServedDeployment
    tenant: Tenant
    folders: list[Path]

    def files(self, since: float = 0) -> Iterator[tuple[Path, bytes]]:
        """What every file that was written since then holds now; the room that one has left is full
        of zeros.
        """
        for folder in self.folders:
            for path in folder.rglob("*"):
                with suppress(FileNotFoundError):
                    is_one = path.is_file() and not path.is_symlink()
                    if is_one and path.stat().st_mtime >= since:
                        yield path, path.read_bytes().rstrip(b"\0")

    def shared_files(self, since: float) -> Iterator[tuple[Path, bytes]]:
        """What files that were written since then hold where everybody may write."""
        for folder in SHARED:
            for path in folder.iterdir():
                with suppress(OSError):
                    said = path.lstat()
                    if path.is_file() and said.st_mtime >= since and said.st_size < _LARGEST:
                        yield path, path.read_bytes()

    def dump(self) -> bytes:
        """All rows, as a backup in SQL has them."""
        url = self.served.config.url
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                return "\n".join(connection.iterdump()).encode()
        command = [str(PACKAGES / PROGRAMS / "pg_dump"), url]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def trail(self) -> bytes:
        """What the trail tells."""
        host = self.served.host
        return (host.succeed("audit", "list").out + host.succeed("audit", "export").out).encode()


def processes() -> Iterator[tuple[int, str, bytes]]:
    """Of every process, by its id, what it was started with: its `environ` and its `cmdline`."""
    for path in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline"):
            with suppress(OSError):
                yield int(path.name), name, (path / name).read_bytes()
