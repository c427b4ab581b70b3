"""A file for an editor that no disk ever sees, and that is gone afterwards."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from teamvars.cli.exits import ERROR, Failure, Misuse
from teamvars.signals import clearing_up, heeding

_IN_MEMORY = frozenset(("tmpfs", "ramfs"))
_SECONDS = 5.0
"""For an editor that is told to end."""


class Scratch:
    """In a `with`: one file, 0600 in a folder of its own, 0700, in memory unless a disk is allowed.

    The folder goes with all that an editor has put beside the file, also when this process is told
    to end.
    """

    def __init__(self, name: str, *, allow_disk: bool) -> None:
        self._name = name
        self._parent = next(_folders_in_memory(), None)
        if self._parent is None and not allow_disk:
            raise Misuse(
                "There is no file system in memory here, and a disk keeps deleted data. "
                "--allow-disk uses a disk anyway."
            )

    def __enter__(self) -> Self:
        with _making(), ExitStack() as made:
            made.enter_context(clearing_up())
            folder = tempfile.TemporaryDirectory(
                prefix="teamvars-", dir=self._parent, ignore_cleanup_errors=True
            )
            self._folder = Path(made.enter_context(folder))
            self._made = made.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()

    def edit(self, text: str) -> str:
        """What the person makes of the text.

        Editors end a file with a newline: where the text had none at its end, one does not count.
        """
        path = self._folder / self._name
        with _making():
            path.touch(mode=0o600)
            path.write_bytes(text.encode())
        words = _editor()
        # Ctrl-C is the editor's while it runs.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = _ended([*words, str(path)])
        except OSError as error:
            text = f"The editor {words[0]} cannot be run: {error.strerror}. Set EDITOR."
            raise Failure(text, ERROR) from None
        finally:
            signal.signal(signal.SIGINT, before)
        if code:
            raise Failure(f"The editor ended with {code}; what it left was not sent.", ERROR)
        try:
            edited = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            raise Failure("The file is gone, or not UTF-8; it was not sent.", ERROR) from None
        return edited if text.endswith("\n") else edited.removesuffix("\n")


@contextmanager
def _making() -> Iterator[None]:
    """In a `with` that makes the file. Ends the command where that fails, as in a full memory."""
    try:
        yield
    except OSError as error:
        raise Failure(f"There is no file to edit: {error.strerror}.") from None


def _editor() -> list[str]:
    """The words of the command that `$VISUAL` or `$EDITOR` is."""
    given = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    try:
        return shlex.split(given or "vi")
    except ValueError:
        raise Misuse("VISUAL or EDITOR is not a command: a quotation mark is not closed.") from None


def _ended(words: list[str]) -> int:
    """The exit code of the editor. It is told to end where this process is, and has some time to
    leave the terminal as it was.
    """
    editor, told = None, list[int]()
    try:
        # Until it is known here, it could not be told.
        with heeding(lambda number, _: told.append(number)):
            editor = subprocess.Popen(words, preexec_fn=_mind_interrupts)
        if told:
            signal.raise_signal(told[0])
        return editor.wait()
    except BaseException:
        if editor is not None:
            editor.terminate()
            with suppress(subprocess.TimeoutExpired):
                editor.wait(_SECONDS)
            editor.kill()
            editor.wait()
        raise


def _mind_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _folders_in_memory() -> Iterator[Path]:
    """Folders that lie in memory and that this user can write to."""
    for text in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108 - looked at below
        if text and os.access(text, os.W_OK | os.X_OK) and _kind(text) in _IN_MEMORY:
            yield Path(text)


def _kind(folder: str) -> str:
    """The kind of the file system that a folder is on; empty where the host does not tell."""
    real, longest, kind = os.path.realpath(folder), -1, ""
    try:
        mounts = Path("/proc/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for mount in mounts:
        _, where, found, *_ = mount.split(" ")
        inside = real == where or real.startswith(where.rstrip("/") + "/")
        if inside and len(where) >= longest:
            longest, kind = len(where), found
    return kind
