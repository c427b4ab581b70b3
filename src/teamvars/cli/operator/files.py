"""The files of an installation, and whether somebody else can get at them."""

from collections.abc import Iterator
from pathlib import Path

from teamvars.security.permissions import ExposedFiles, Exposure, Purpose, look
from teamvars.settings import Settings
from teamvars.storage.engines import is_sqlite


def exposures(config: Settings) -> list[Exposure]:
    """Every way in for somebody else, to what is there already."""
    # Several spellings of a path are one file, and the last says what it is most of all.
    once = {path.resolve(): (purpose, path) for purpose, path in _files(config)}
    return [exposure for purpose, path in once.values() for exposure in look(purpose, path)]


def require_closed(config: Settings) -> None:
    """Raises ExposedFiles, with all of them, where others can do more than they may."""
    refused = [exposure.text for exposure in exposures(config) if exposure.is_refused]
    if refused:
        raise ExposedFiles("\n".join(refused))


def database(config: Settings) -> Path:
    """The file of a SQLite store, which a link may lead to; SQLite puts its others beside it."""
    return Path(config.url.removeprefix("sqlite:///")).resolve()


def _files(config: Settings) -> Iterator[tuple[Purpose, Path]]:
    keyring = config.keyring_path
    yield Purpose.KEYRING_DIR, keyring.resolve().parent
    yield Purpose.KEYRING_DIR, keyring.parent
    if is_sqlite(config.url):
        named, real = Path(config.url.removeprefix("sqlite:///")), database(config)
        yield Purpose.DATABASE_DIR, real.parent
        yield Purpose.DATABASE_DIR, named.parent
        yield Purpose.DATABASE, named
        yield Purpose.DATABASE, real.with_name(f"{real.name}-wal")
        yield Purpose.DATABASE, real.with_name(f"{real.name}-shm")
    yield Purpose.DATA_DIR, config.data_dir
    yield Purpose.KEYRING, keyring
