"""`backup verify`, `restore` and `drill`."""

import os
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from teamvars import wiring
from teamvars.cli.exits import CONFLICT, DIFFERENCES, Failure, Misuse
from teamvars.cli.operator.audit import accepted_option, read_heads
from teamvars.cli.operator.backing_up import (
    bad_backups,
    settings_of_file,
    temporary_folder,
    write_backup,
)
from teamvars.cli.operator.context import warn_of_mark
from teamvars.cli.operator.host import (
    database_file,
    database_path,
    ending,
    finish,
    load_settings,
    make_folder,
    name_store,
    require_closed,
)
from teamvars.cli.options import argument, command, json_option, option
from teamvars.cli.output import note, show
from teamvars.domain.audit import Head
from teamvars.domain.backups import NEWER, Manifest
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.security.files import settle
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import Sealer
from teamvars.services import backups, proving
from teamvars.services.audit_verification import Place
from teamvars.services.backups import BadBackup
from teamvars.settings import Settings
from teamvars.storage.database import Database
from teamvars.storage.engines import database_for
from teamvars.storage.engines.outages import tells_of_damage

_BESIDE = ("-wal", "-shm", "-journal")
"""How the files end that SQLite keeps beside a store."""

identity_option = option(
    "--identity", "A file with the identity of age that it is encrypted to.", type=Path
)
heads_option = option(
    "--heads", "A file with the output of 'audit head', kept elsewhere.", type=Path
)
file_argument = argument("file", "What 'backup create' wrote.", type=Path)


class Unpacked(NamedTuple):
    """A backup in a folder of its own."""

    store: Path
    heads: bytes
    manifest: Manifest


@command
@argument("file", "What 'backup create' wrote.", type=Path, required=False)
@option("--database", "Verify this store instead, such as a restored PostgreSQL.", metavar="URL")
@identity_option
@heads_option
@accepted_option
@json_option
def verify(
    file: Path | None,
    database: str | None,
    identity: Path | None,
    heads: Path | None,
    accepted: Collection[Place],
) -> None:
    """Read everything in a backup, and prove its trail. Every value is opened; exit with 3 if
    anything is not as it should be. It takes as much room in TMPDIR as the store.
    """
    if (file is None) == (database is None):
        raise Misuse("Say either FILE or --database URL.")
    kept = _kept(heads)
    if file is None:
        config = load_settings(database_url=database)
        name_store(config)
        _end_with(_examined(config, _keys(config), kept, accepted), is_strict=True)
        return
    config = load_settings()
    keys = _keys(config)
    with temporary_folder() as folder:
        unpacked = _unpack(file, folder, identity)
        note(f"Verifying a {unpacked.manifest.title}.")
        found = _examined(config, keys, kept, accepted, unpacked)
    _end_with(found, is_strict=True)


@command
@file_argument
@identity_option
@heads_option
@accepted_option
@json_option
def restore(
    file: Path, identity: Path | None, heads: Path | None, accepted: Collection[Place]
) -> None:
    """Put a backup where there is no store. Everything in it is verified before; what --heads knows
    and the backup does not have is said.
    """
    config = settings_of_file()
    place, kept = database_file(config), _kept(heads)
    with ending():
        require_closed(config)
    keys = _keys(config)
    _require_empty(place)
    make_folder(database_path(config).parent)  # not what a link to nothing would lead to
    with temporary_folder(place.parent) as folder:
        unpacked = _unpack(file, folder, identity)
        note(f"Restoring a {unpacked.manifest.title}.")
        found = _examined(config, keys, kept, accepted, unpacked)
        if not _has_problem(found):
            _put(unpacked.store, place)
            note(f"Restored to {place}.")
    _end_with(found, is_strict=False)
    finish(warn_of_mark(config))


@command
@argument(
    "file", "What 'backup create' wrote; without it one is made now.", required=False, type=Path
)
@identity_option
@accepted_option
@json_option
def drill(file: Path | None, identity: Path | None, accepted: Collection[Place]) -> None:
    """Restore a backup into TMPDIR, verify it and remove it. Says how long that took, and what it
    lacks of the store. It takes as much room there as two stores.
    """
    config = settings_of_file()
    keys = _keys(config)
    with temporary_folder() as folder:
        begun = time.monotonic()
        kept, is_new = _heads(config), file is None
        if file is None:
            file = folder / "backup"
            write_backup(config, file, ())
        made = time.monotonic()
        (there := folder / "restored").mkdir()
        unpacked = _unpack(file, there, identity)
        restored = time.monotonic()
        found = _examined(config, keys, kept, accepted, unpacked)
        verified = time.monotonic()
    times = (
        f"made in {made - begun:.1f} s, unpacked in {restored - made:.1f} s, "
        f"verified in {verified - restored:.1f} s"
    )
    _end_with([*found, Finding(Severity.OK, "times", times)], is_strict=is_new)
    note(f"Drilled with a {unpacked.manifest.title}.")


def _keys(config: Settings) -> Keyring:
    """What opens the store: without it nothing is read or unpacked."""
    with ending():
        return wiring.keys_of(config)


def _unpack(file: Path, folder: Path, identity: Path | None) -> Unpacked:
    """The members of a backup, each in its place."""
    with bad_backups(folder), file.open("rb") as source:
        by = [] if identity is None else backups.identities(identity.read_text(errors="replace"))
        backups.unpack(source, folder, by)
        heads, text = ((folder / name).read_bytes() for name in (backups.HEADS, backups.MANIFEST))
        try:
            manifest = msgspec.json.decode(text, type=Manifest)
        except (ValueError, RecursionError):
            raise BadBackup("The backup has no manifest that this release reads.") from None
        return Unpacked(folder / backups.STORE, heads, manifest)


def _examined(
    config: Settings,
    keys: Keyring,
    kept: Sequence[Head],
    passed: Collection[Place],
    unpacked: Unpacked | None = None,
) -> list[Finding]:
    """What is found in the store, or in a backup, which is brought to the schema of this release
    and the keys of now before.
    """
    url = config.url if unpacked is None else f"sqlite:///{unpacked.store}"

    async def gone_through(database: Database) -> list[Finding]:
        services = wiring.services(database, keys, config.quota, setup=wiring.setup_of(config))
        if unpacked is not None:
            if found := await proving.moved(database, unpacked.heads):
                return found
            await services.installation.migrate()
            await services.installation.adopt(keys)
        await services.installation.require_ready(keys)
        return await proving.examine(database, Sealer(keys), services.audit, kept, passed)

    async def work() -> list[Finding]:
        if unpacked and (found := await proving.altered(unpacked.store, unpacked.manifest)):
            return found
        database = database_for(url)
        try:
            await database.open()
            return await gone_through(database)
        except Exception as error:
            # Reading everything says more of what is damaged than what came upon it first.
            if not (tells_of_damage(error) and (found := await proving.damage(database))):
                raise
            return found
        finally:
            await database.close()

    return finish(work())


def _heads(config: Settings) -> list[Head]:
    """Where the streams of the store stand now."""

    async def work() -> list[Head]:
        async with database_for(config.url) as database:
            return await backups.heads(database)

    return finish(work())


def _kept(path: Path | None) -> list[Head]:
    return [] if path is None else read_heads(path)


def _end_with(found: Sequence[Finding], *, is_strict: bool) -> None:
    """Shows what was found; ends with 3 for a problem, and if `is_strict` for what is newer too."""
    show(found, ((f"{one.severity:8} {one.subject}: {one.text}",) for one in found))
    is_short = is_strict and any(one.subject == NEWER for one in found)
    if is_short or _has_problem(found):
        sys.exit(DIFFERENCES)


def _has_problem(found: Sequence[Finding]) -> bool:
    return any(one.severity is Severity.PROBLEM for one in found)


def _require_empty(place: Path) -> None:
    """Refuses a place where a store is, or what SQLite would take for the last writes of one."""
    for path in (place, *(place.with_name(place.name + end) for end in _BESIDE)):
        if path.exists():
            raise _taken(path)


def _taken(path: Path) -> Failure:
    text = f"{path} is there already: a backup is restored to an empty place only."
    return Failure(text, CONFLICT)


def _put(store: Path, place: Path) -> None:
    if store.with_name(f"{store.name}-wal").exists():
        raise Failure(f"{place}: what was verified could not be written to one file. Is it full?")
    with store.open("rb") as file:
        os.fsync(file.fileno())
    try:
        place.hardlink_to(store)  # which replaces nothing
    except FileExistsError:
        raise _taken(place) from None
    settle(place.parent)
