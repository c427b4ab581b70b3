"""`backup create`, which needs little of the program: it begins at once, and copies files."""

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from teamvars.cli.exits import CONFLICT, DIFFERENCES, NOT_FOUND, Failure, Misuse
from teamvars.cli.operator.host import database_file, ending, load_settings, name_store
from teamvars.cli.options import argument, command, json_option, option
from teamvars.cli.output import show
from teamvars.domain.backups import Manifest
from teamvars.security.files import settle
from teamvars.services import backups
from teamvars.services.backups import BadBackup, BadKey
from teamvars.settings import Settings
from teamvars.signals import clearing_first
from teamvars.storage.engines import is_sqlite
from teamvars.versions import version

_OTHER_ENGINE = (
    "This is for SQLite. Back PostgreSQL up with its own tools, restore that beside, and check it: "
    "teamvars backup verify --database URL"
)


@command
@argument("file", "What to write; it must not be there yet.", type=Path)
@option(
    "--recipient",
    "Encrypt it to this recipient of age.",
    "recipients",
    multiple=True,
    metavar="AGE",
)
@json_option
def create(file: Path, recipients: Sequence[str]) -> None:
    """Copy the store to a file. It may be served and written to meanwhile; the keyring is not in
    the file.
    """
    config = settings_of_file()
    with bad_backups(file):
        to = [backups.recipient(text) for text in recipients]
    manifest = write_backup(config, file, to)
    said = f"{file}, {file.stat().st_size} bytes: {manifest.title}. The keyring is not in it."
    show(manifest, (), said=said)


def settings_of_file() -> Settings:
    """The settings of a store that is a file, which is named; ends the command for any other."""
    config = load_settings()
    if not is_sqlite(config.url):
        raise Failure(_OTHER_ENGINE)
    name_store(config)
    return config


def write_backup(config: Settings, file: Path, to: Sequence[object]) -> Manifest:
    """Makes the file, which is whole as soon as it is there; returns what it says of itself."""
    source = database_file(config)
    if not source.exists():
        raise Failure(f"There is no store at {source}, and nothing to back up.", NOT_FOUND)
    if file.exists() or file.is_symlink():
        raise _stays(file)
    with temporary_folder(file.parent) as folder:
        with (whole := folder / "whole").open("xb") as out:
            manifest = _write(out, source, to)
            out.flush()
            os.fsync(out.fileno())
        _publish(whole, file)
    return manifest


def _publish(whole: Path, file: Path) -> None:
    """Puts a backup in its place, where another may have come meanwhile."""
    try:
        file.hardlink_to(whole)  # which replaces nothing
    except FileExistsError:
        raise _stays(file) from None
    except OSError:  # as of a file system without links
        whole.replace(file)
    settle(file.parent)


def _stays(file: Path) -> Failure:
    return Failure(f"{file} is there already, and stays as it is.", CONFLICT)


def _write(out: BinaryIO, source: Path, to: Sequence[object]) -> Manifest:
    with backups.taken(source, version()) as (store, known):
        backups.write(out, store, _texts(known), to)
        manifest, _ = known()
    return manifest


def _texts(known: Callable[[], backups.Known]) -> Iterator[bytes]:
    """What a backup has beside the store."""
    manifest, heads = known()
    yield backups.lines(heads)
    yield msgspec.json.encode(manifest) + b"\n"


@contextmanager
def temporary_folder(where: Path | None = None) -> Iterator[Path]:
    """A folder there, else in TMPDIR, which is gone at the end, also when a signal is that. It is
    named before it is made, so that none comes too soon, or too late.
    """
    place = where or "TMPDIR"
    with ending(place), ExitStack() as made:
        folder = Path(where or tempfile.gettempdir()) / f".teamvars-{secrets.token_hex(8)}"
        made.enter_context(clearing_first(lambda: shutil.rmtree(folder, ignore_errors=True)))
        made.callback(_remove, folder)
        try:
            folder.mkdir(0o700)
        except OSError as error:
            error.filename = place  # not that of a folder which nobody has named
            raise
        yield folder


def _remove(folder: Path) -> None:
    """Removes it if it was made, also where somebody presses Ctrl-C once more meanwhile."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if folder.exists():
            shutil.rmtree(folder)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def bad_backups(where: Path) -> Iterator[None]:
    """Within it one is read, or written, there."""
    try:
        with ending(where):
            yield
    except BadBackup as bad:
        raise Failure(str(bad), DIFFERENCES) from None
    except BadKey as bad:
        raise Misuse(str(bad)) from None
