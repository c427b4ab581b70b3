"""What operator commands need of a store: its services, and the mark of the keyring for it."""

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from teamvars import wiring
from teamvars.cli.exits import UNKNOWN_OUTCOME
from teamvars.cli.operator.host import ending, finish, load_settings, name_store, operator
from teamvars.cli.output import note
from teamvars.domain.access import Caller
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.errors import Kind, Refusal
from teamvars.security import keyring
from teamvars.services.installation import Installation
from teamvars.settings import Settings
from teamvars.storage.database import Database, NotReady
from teamvars.storage.engines import database_for
from teamvars.storage.engines.servers import is_lasting

T = TypeVar("T")

_LOOK = "What the command changes may have happened: look before you run it again."


def run(
    body: Callable[[wiring.Services, Caller], Coroutine[Any, Any, T]],
    *,
    interrupted: str | None = _LOOK,
) -> T:
    """Runs the function on a store that is ready to be served, as the operator. `interrupted`: what
    Ctrl-C tells of a change that was begun; None: nothing, as of a receipt alone.
    """
    config = load_settings()
    name_store(config)
    database = store_of(config)

    async def with_services() -> T:
        async with opened(config, database) as marking:
            marking.warn()
            keys, setup = wiring.keys_of(config), wiring.setup_of(config)
            all_services = wiring.services(database, keys, config.quota, setup=setup)
            await all_services.installation.require_ready(keys)
            return await body(all_services, operator())

    with nullcontext() if interrupted is None else telling_of_change(database, interrupted):
        return finish(with_services())


def store_of(config: Settings, *, create: bool = False) -> Database:
    """The store of a command that may change it, not yet opened."""
    with ending():
        return database_for(config.url, create=create)


@contextmanager
def telling_of_change(database: Database, interrupted: str = _LOOK) -> Iterator[None]:
    """Within it Ctrl-C says that something may have been changed, if a change was begun: what came
    of that the command has told nobody yet.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not database.has_written:
            raise
        note(f"teamvars: Interrupted. {interrupted}")
        # Not as a failure: whoever goes on after one would go on after Ctrl-C.
        sys.exit(UNKNOWN_OUTCOME)


def run_dated(body: Callable[[wiring.Services, Caller], Coroutine[Any, Any, T]]) -> tuple[T, int]:
    """As `run`, with what time it is by the store's clock, which says what has expired."""

    async def dated(services: wiring.Services, caller: Caller) -> tuple[T, int]:
        return await body(services, caller), services.database.now()

    return run(dated)


def is_over_soon(refusal: Refusal) -> bool:
    """Whether it tells of an outage of the store that may end while somebody waits."""
    cause = refusal.__cause__
    return refusal.kind is Kind.UNAVAILABLE and not (cause is not None and is_lasting(cause))


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

    def warn(self) -> None:
        """Says so on stderr."""
        if self.warning is not None:
            note(f"teamvars: {self.warning}")

    @property
    def finding(self) -> Finding:
        """What `doctor` says of it."""
        path = keyring.mark_path(self.keyring)
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


@asynccontextmanager
async def opened(config: Settings, database: Database) -> AsyncIterator[Marking]:
    """Opens the store of the settings, with what the keyring's mark says. Raises NotReady when the
    mark names a store, and this one is empty or not there.
    """
    marked = keyring.read_mark(config.keyring_path)
    async with AsyncExitStack() as until_closed:
        try:
            await until_closed.enter_async_context(database)
            installation = Installation(database)
            await installation.outstanding()  # refuses a part of a store, which is not an empty one
            if marked is not None and not await installation.is_initialised():
                raise NotReady(_ELSEWHERE)
        except Refusal as refusal:
            if marked is not None and _is_missing(refusal):
                raise NotReady(_ELSEWHERE) from refusal
            raise
        yield Marking(config.keyring_path, marked, await installation.lineage())


def _is_missing(refusal: Refusal) -> bool:
    """Whether the store is a file that is not there."""
    cause = refusal.__cause__
    # Without a name it is a socket, whose server may be there later.
    return isinstance(cause, FileNotFoundError) and bool(cause.filename)


async def marking_of(config: Settings) -> Marking:
    """The keyring's mark and the store, if it is there. Raises NotReady when the mark names a
    store, and the one of the settings is empty or not there.
    """
    try:
        async with opened(config, database_for(config.url)) as marking:
            return marking
    except Refusal as refusal:
        if not _is_missing(refusal):
            raise
        return Marking(config.keyring_path, None, None)


async def warn_of_mark(config: Settings) -> None:
    """Says on stderr when the store is another than the mark says. Raises as `marking_of`."""
    (await marking_of(config)).warn()


async def renew_mark(config: Settings, *, new_store: bool) -> str | None:
    """Marks the keyring for this store, unless it is marked for another and this is no `new_store`.
    Returns what somebody should know, if anything.
    """
    found = await marking_of(config)
    if found.lineage is None or found.lineage == found.marked:
        return None
    if found.warning is not None and not new_store:
        return found.warning
    try:
        keyring.write_mark(config.keyring_path, found.lineage)
    except OSError as error:
        path = keyring.mark_path(config.keyring_path)
        return f"{path} cannot be written: {error.strerror}. 'teamvars doctor' says what to do."
    return None
