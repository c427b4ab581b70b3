"""`init` and `migrate`."""

from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator import files
from teamvars.cli.operator.context import finish, load_settings
from teamvars.cli.output import DIFFERENCES, fail, note, print_json, say
from teamvars.security import keyring
from teamvars.security.keyring import Keyring, KeyringError
from teamvars.services.installation import Installation
from teamvars.settings import Settings
from teamvars.storage.engines import database_for, described
from teamvars.storage.migrations import Migration

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def init(context: typer.Context) -> None:
    """Make the data directory, the keyring and the schema. Safe to repeat."""
    config = load_settings(context)
    finish(initialise(config))
    note(
        f"Ready: {described(config.url)}. Keep a copy of the keyring {config.keyring_path} apart "
        "from the database's backups: without it no value can be read again."
    )


async def initialise(config: Settings) -> None:
    """Makes what is missing. Raises KeyringError rather than make a second keyring for a store,
    and ExposedFiles before it makes anything where others can write.
    """
    files.require_closed(config)
    _make_folder(config.data_dir)
    async with database_for(config.url, create=True) as database:
        installation = Installation(database, wiring.clock)
        await installation.migrate()
        await installation.initialise(await _keyring(config, installation))


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


def up(context: typer.Context, as_json: AsJson = False) -> None:
    """Apply the migrations that are missing; one node at a time."""
    config = load_settings(context)

    async def work() -> list[Migration]:
        async with database_for(config.url, create=True) as database:
            return await Installation(database, wiring.clock).migrate()

    _make_folder(config.data_dir)
    _print("applied", finish(work()), as_json=as_json)
    note("The schema is up to date.")


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """List the migrations that are missing."""
    missing = _pending(context)
    _print("missing", missing, as_json=as_json)
    if not missing:
        note("The schema is up to date.")


def check(context: typer.Context) -> None:
    """Exit with 3 when migrations are missing."""
    if _pending(context):
        note("Migrations are missing. Run: teamvars migrate up")
        raise typer.Exit(DIFFERENCES)


def _print(what: str, migrations: list[Migration], *, as_json: bool) -> None:
    if as_json:
        print_json([{"number": one.number, "name": one.name} for one in migrations])
        return
    for migration in migrations:
        say(f"{what} {migration.number:03} {migration.name}")


def _pending(context: typer.Context) -> list[Migration]:
    config = load_settings(context)

    async def work() -> list[Migration]:
        async with database_for(config.url) as database:
            return await Installation(database, wiring.clock).pending()

    return finish(work())
