"""`init` and `migrate`."""

import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import starmap

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.operator.context import (
    marking_of,
    renew_mark,
    store_of,
    telling_of_change,
    warn_of_mark,
)
from teamvars.cli.operator.host import (
    finish,
    load_settings,
    make_folder,
    name_store,
    operator,
    require_closed,
)
from teamvars.cli.options import command, flag, json_option
from teamvars.cli.output import note, show
from teamvars.security import keyring
from teamvars.security.keyring import Keyring, KeyringError, KeyringExists
from teamvars.services.installation import Filled, Installation, Outstanding
from teamvars.settings import Settings
from teamvars.storage.database import Database
from teamvars.storage.engines import database_for, described
from teamvars.storage.migrations import Migration


@command
@flag("--new-store", "Even if the keyring's mark names another store.")
def init(new_store: bool) -> None:
    """Make the data directory, the keyring, the schema and the keyring's mark. Safe to repeat."""
    config = load_settings()
    database = store_of(config, create=True)
    with telling_of_change(database):
        warning = finish(initialise(config, database, new_store=new_store))
    if warning is not None:
        note(f"teamvars: {warning}")
    note(
        f"Ready: {described(config.url)}. Keep a copy of the keyring {config.keyring_path} apart "
        "from the database's backups: without it no value can be read again."
    )


async def initialise(
    config: Settings, database: Database, *, new_store: bool = False
) -> str | None:
    """Makes what is missing, last of all the mark; returns a warning where that is not as it
    should be. Raises KeyringError rather than make a second keyring for a store, NotReady rather
    than a `new_store` that nobody has asked for, and ExposedFiles before it makes anything where
    others can write.
    """
    require_closed(config)
    if not new_store:
        await marking_of(config)
    make_folder(config.data_dir)
    async with database:
        installation = Installation(database)
        await installation.migrate()
        await _settle_account(database)
        await installation.initialise(await _keyring(config, installation), operator())
    return await renew_mark(config, new_store=new_store)


async def _keyring(config: Settings, installation: Installation) -> Keyring:
    # In this order: another 'init' has made the keyring once the store knows it.
    is_initialised = await installation.is_initialised()
    if not config.keyring_path.exists():
        if is_initialised:
            raise KeyringError(
                f"The database belongs to a keyring that is not at {config.keyring_path}. "
                "Restore it, or point TEAMVARS_KEYRING at it; no new one is made."
            )
        try:
            with suppress(KeyringExists):  # by now: another 'init' has made it
                keyring.save_new(
                    keyring.generate(), config.keyring_path, wiring.wrapping_of(config)
                )
        except OSError as error:
            text = f"The keyring {config.keyring_path} cannot be made: {error.strerror}."
            raise KeyringError(text) from None
    return wiring.keys_of(config)


@command
@flag("--contract", "Also remove what only nodes of older releases need.")
@json_option
def up(contract: bool) -> None:
    """Apply missing migrations, while nodes serve. Safe to stop and to repeat.

    With --contract nodes of older releases change nothing from then on.
    """
    config = load_settings()
    name_store(config)
    database = store_of(config, create=True)

    async def work() -> list[Migration]:
        await warn_of_mark(config)
        async with database:
            applied = await Installation(database).migrate(_progress(), contract=contract)
            await _settle_account(database)
            return applied

    make_folder(config.data_dir)
    with telling_of_change(database):
        applied = finish(work())
    shown = [{"number": one.number, "name": one.name} for one in applied]
    show(shown, [_cells("applied", one) for one in applied])
    note("The schema is up to date.")


async def _settle_account(database: Database) -> None:
    """Sets what a pooler lets no connection set, and says so."""
    done = await database.settle_account()
    for sql in done:
        note(sql)
    if done:
        note(
            "Sessions that the pooler has open keep what they began with. End them: RECONNECT in "
            "PgBouncer's console."
        )


@command
@json_option
def status() -> None:
    """List the migrations that are missing, unfinished or waiting for --contract."""
    left = _outstanding()
    states = {"missing": left.missing, "unfinished": left.unfinished, "waiting": left.contracts}
    rows = [(state, one) for state, migrations in states.items() for one in migrations]
    shown = [
        {"number": one.number, "name": one.name, "state": state, "admits": one.admits}
        for state, one in rows
    ]
    show(shown, starmap(_cells, rows))
    _note(left)


@command
def check() -> None:
    """Exit with 3 if migrations are missing or unfinished."""
    left = _outstanding()
    _note(left)
    if left.missing or left.unfinished:
        sys.exit(DIFFERENCES)


def _note(left: Outstanding) -> None:
    if left.missing:
        note("Migrations are missing. Run: teamvars migrate up")
    elif left.unfinished:
        note("Migrations are not finished. Run: teamvars migrate up")
    else:
        note("The schema is up to date.")
    if left.contracts:
        note(
            "Once no node of an older release runs: teamvars migrate up --contract. "
            "From then on such a node changes nothing."
        )


def _progress() -> Callable[[Filled], None]:
    """Says how far a backfill has come, at every tenth."""
    told: set[tuple[int, int]] = set()

    def tell(filled: Filled) -> None:
        number, name = filled.migration.number, filled.migration.name
        tenth = 10 * filled.rows // max(filled.all_rows, filled.rows)
        if (number, tenth) not in told:
            told.add((number, tenth))
            note(f"{number:03} {name}: {filled.rows:,} of {filled.all_rows:,} rows")

    return tell


def _cells(state: str, migration: Migration) -> tuple[str]:
    return (f"{state} {migration.number:03} {migration.name}",)


def _outstanding() -> Outstanding:
    config = load_settings()
    name_store(config)

    async def work() -> Outstanding:
        async with database_for(config.url) as database:
            return await Installation(database).outstanding()

    return finish(work())
