"""Whether the store of the settings is the one that the keyring's mark names."""

from pathlib import Path

import msgspec

from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.errors import Refusal
from teamvars.security import marks
from teamvars.services.installation import Installation, NotReady
from teamvars.settings import Settings
from teamvars.storage.database import Database
from teamvars.storage.engines import database_for

_ELSEWHERE = (
    "This keyring belongs to a store that is not here: restore it, or is a disk not mounted? "
    "To begin a new, empty store with this keyring: teamvars init --new-store"
)


class Marking(msgspec.Struct, frozen=True):
    """What the mark of a keyring says, and which store this is; None where nothing says it."""

    keyring: Path
    marked: str | None
    lineage: str | None

    @property
    def warning(self) -> str | None:
        """That the store is another than the keyring's mark says."""
        if self.marked is None or self.lineage in (None, self.marked):
            return None
        return (
            f"This is store {self.lineage}, and the keyring's mark names {self.marked}. If this is "
            "the right one from now on: teamvars init --new-store"
        )

    @property
    def finding(self) -> Finding:
        """What `doctor` says of it."""
        path = marks.path_of(self.keyring)
        if self.warning is not None:
            return Finding(Severity.ADVICE, "mark", self.warning)
        if self.marked is not None:
            return Finding(Severity.OK, "mark", f"{path} names this store")
        text = (
            f"{path}, which says what store the keyring is for, is not there or cannot be read. "
            "Without it a keyring beside an empty database looks new. Run: teamvars init. Where "
            f"that cannot write, put a file there with this line: {self.lineage}"
        )
        return Finding(Severity.ADVICE, "mark", text)


async def look(config: Settings) -> Marking:
    """The keyring's mark and the store. Raises NotReady when the mark names a store, and the one
    of the settings is empty or not there.
    """
    marked = marks.read(config.keyring_path)
    try:
        async with database_for(config.url) as database:
            return await _look_at(database, config.keyring_path, marked)
    except Refusal as refusal:
        cause = refusal.__cause__
        # Without a name it is a socket, whose server may be there later.
        if not (isinstance(cause, FileNotFoundError) and cause.filename):
            raise
    if marked is not None:
        raise NotReady(_ELSEWHERE)
    return Marking(config.keyring_path, None, None)


async def renew(config: Settings, *, new_store: bool) -> str | None:
    """Marks the keyring for this store, unless it is marked for another and this is no `new_store`.
    Returns what somebody should know, if anything.
    """
    found = await look(config)
    if found.lineage is None or found.lineage == found.marked:
        return None
    if found.warning is not None and not new_store:
        return found.warning
    try:
        marks.write(config.keyring_path, found.lineage)
    except OSError as error:
        path = marks.path_of(config.keyring_path)
        return f"{path} cannot be written: {error.strerror}. 'teamvars doctor' says what to do."
    return None


async def _look_at(database: Database, keyring: Path, marked: str | None) -> Marking:
    installation = Installation(database, database.now)
    await installation.outstanding()  # refuses a part of a store, which is not an empty one
    if marked is not None and not await installation.is_initialised():
        raise NotReady(_ELSEWHERE)
    return Marking(keyring, marked, await installation.lineage())
