"""What other processes are there, as Linux tells it."""

from contextlib import suppress
from pathlib import Path

from tests.support.patience import wait_until


def children(parent: int, word: str) -> list[int]:
    """The ids of a process's children that have the word in their command line."""
    return [pid for pid in _all() if parent_of(pid) == parent and word in command(pid)]


def command(pid: int) -> str:
    """The command line, its words parted by spaces; empty when the process has gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def environment(pid: int) -> str:
    """What it found in its environment."""
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")


def parent_of(pid: int) -> int:
    """The id of the process that started it; 0 when it has gone."""
    with suppress(OSError):
        return int(_stat(pid)[1])
    return 0


def processor_ticks(pid: int) -> int:
    """The processor time it has used, in hundredths of a second on most machines."""
    user, system = _stat(pid)[11:13]
    return int(user) + int(system)


def niceness(pid: int) -> int:
    """How much it lets others go first; 0 when it has gone."""
    with suppress(OSError):
        return int(_stat(pid)[16])
    return 0


def is_there(pid: int) -> bool:
    """Whether it still runs; one that has ended and was not yet taken notice of does not."""
    with suppress(OSError):
        return _stat(pid)[0] != "Z"
    return False


def wait_until_gone(pid: int) -> None:
    """Returns when it has ended."""
    wait_until(lambda: not is_there(pid))


def _all() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """State, parent and so on: what follows the name, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
