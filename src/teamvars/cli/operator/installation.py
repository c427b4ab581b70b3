"""`init` and `migrate`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from teamvars.cli.exits import DIFFERENCES
from teamvars.cli.operator import files, marking
from teamvars.cli.operator.context import finish, load_settings
from teamvars.cli.output import fail, note, print_json, say
from teamvars.security import keyring
from teamvars.security.keyring import Keyring, KeyringError
from teamvars.services.installation import Installation, Outstanding
from teamvars.services.upgrades import Filled
from teamvars.settings import Settings
from teamvars.storage.engines import database_for, described
from teamvars.storage.migrations import Migration

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def init(
    context: typer.Context,
    new_store: Annotated[
        bool, typer.Option("--new-store", help="Even if the keyring's mark names another store.")
    ] = False,
) -> None:
    """Make the data directory, the keyring, the schema and the keyring's mark. Safe to repeat."""
    config = load_settings(context)
    warning = finish(initialise(config, new_store=new_store))
    if warning is not None:
        note(f"teamvars: {warning}")
    note(
        f"Ready: {described(config.url)}. Keep a copy of the keyring {config.keyring_path} apart "
        "from the database's backups: without it no value can be read again."
    )


async def initialise(config: Settings, *, new_store: bool = False) -> str | None:
    """Makes what is missing, last of all the mark; returns a warning where that is not as it
    should be. Raises KeyringError rather than make a second keyring for a store, NotReady rather
    than a `new_store` that nobody has asked for, and ExposedFiles before it makes anything where
    others can write.
    """
    files.require_closed(config)
    if not new_store:
        await marking.look(config)
    _make_folder(config.data_dir)
    async with database_for(config.url, create=True) as database:
        installation = Installation(database, database.now)
        await installation.migrate()
        await installation.initialise(await _keyring(config, installation))
    return await marking.renew(config, new_store=new_store)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        fail(f"The data directory {path} cannot be made: {error.strerror}.")


async def _keyring(config: Settings, installation: Installation) -> Keyring:
    if not config.keyring_path.exists():
        if await installation.is_initialised():
            raise KeyringError(
                f"The database belongs to a keyring that is not at {config.keyring_path}. "
                "Restore it, or point TEAMVARS_KEYRING at it; no new one is made."
            )
        try:
            keyring.save_new(keyring.generate(), config.keyring_path)
        except OSError as error:
            text = f"The keyring {config.keyring_path} cannot be made: {error.strerror}."
            raise KeyringError(text) from None
    return keyring.load(config.keyring_path)


def up(
    context: typer.Context,
    contract: Annotated[
        bool,
        typer.Option("--contract", help="Also take away what only nodes of older releases need."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Apply the migrations that are missing, while nodes serve. Safe to stop and to repeat.

    With --contract nodes of older releases change nothing from then on.
    """
    config = load_settings(context)

    async def work() -> list[Migration]:
        warning = (await marking.look(config)).warning
        if warning is not None:
            note(f"teamvars: {warning}")
        async with database_for(config.url, create=True) as database:
            return await Installation(database, database.now).migrate(
                _progress(), contract=contract
            )

    _make_folder(config.data_dir)
    _print("applied", finish(work()), as_json=as_json)
    note("The schema is up to date.")


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """List the migrations that are missing, not finished, or wait for --contract."""
    left = _outstanding(context)
    states = {"missing": left.missing, "unfinished": left.unfinished, "waiting": left.contracts}
    if as_json:
        print_json(
            [
                {"number": one.number, "name": one.name, "state": state, "admits": one.admits}
                for state, migrations in states.items()
                for one in migrations
            ]
        )
    else:
        for state, migrations in states.items():
            _print(state, migrations, as_json=False)
    _note(left)


def check(context: typer.Context) -> None:
    """Exit with 3 when migrations are missing or not finished."""
    left = _outstanding(context)
    _note(left)
    if left.missing or left.unfinished:
        raise typer.Exit(DIFFERENCES)


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


def _print(what: str, migrations: list[Migration], *, as_json: bool) -> None:
    if as_json:
        print_json([{"number": one.number, "name": one.name} for one in migrations])
        return
    for migration in migrations:
        say(f"{what} {migration.number:03} {migration.name}")


def _outstanding(context: typer.Context) -> Outstanding:
    config = load_settings(context)

    async def work() -> Outstanding:
        async with database_for(config.url) as database:
            return await Installation(database, database.now).outstanding()

    return finish(work())
