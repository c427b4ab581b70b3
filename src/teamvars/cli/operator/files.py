"""The files of an installation, and whether somebody else can get at them."""

from pathlib import Path
from urllib.parse import urlsplit

from teamvars.security.permissions import ExposedFiles, Exposure, Purpose, look
from teamvars.settings import Settings


def exposures(config: Settings) -> list[Exposure]:
    """Every way in for somebody else, to what is there already."""
    return [found for path, purpose in _files(config).items() for found in look(purpose, path)]


def require_closed(config: Settings) -> None:
    """Raises ExposedFiles, with all of them, where others can do more than they may."""
    refused = [exposure.text for exposure in exposures(config) if exposure.is_refused]
    if refused:
        raise ExposedFiles("\n".join(refused))


def _files(config: Settings) -> dict[Path, Purpose]:
    """Each path once, for what it is most of all."""
    keyring = config.keyring_path
    files = {keyring.parent: Purpose.KEYRING_DIR, keyring.resolve().parent: Purpose.KEYRING_DIR}
    if urlsplit(config.url).scheme == "sqlite":
        database = Path(config.url.removeprefix("sqlite:///"))
        real = database.resolve()  # beside which SQLite puts its other files
        files |= {database.parent: Purpose.DATABASE_DIR, real.parent: Purpose.DATABASE_DIR}
        beside = [real.with_name(f"{real.name}{end}") for end in ("-wal", "-shm")]
        files |= dict.fromkeys([database, *beside], Purpose.DATABASE)
    return _once({**files, config.data_dir: Purpose.DATA_DIR, keyring: Purpose.KEYRING})


def _once(files: dict[Path, Purpose]) -> dict[Path, Purpose]:
    """Of several spellings of a path the last."""
    spelled = {path.resolve(): path for path in files}
    return {path: files[path] for path in spelled.values()}
