"""`keys` and `server-key`: which keys there are, changing them while nodes serve, having everything
under those in use, and wrapping the keyring.
"""

import sys
import time
from functools import partial

import click

from teamvars import wiring
from teamvars.cli.exits import CONFLICT, DIFFERENCES, Failure, Misuse
from teamvars.cli.operator.context import run
from teamvars.cli.operator.host import ending, load_settings
from teamvars.cli.options import OneOf, argument, command, flag, json_option, option
from teamvars.cli.output import Fields, note, say, show, telling
from teamvars.domain.keys import AUDIT, DATA, MASTER, SERVER, is_generation
from teamvars.security import keyring, server_keys
from teamvars.security.wrapping import adapter
from teamvars.services.data_keys import REWRAP_GOES_ON, Outcome, Progress, UnderWay
from teamvars.services.keys import File, Key, told

_SECONDS_BETWEEN = 5.0
"""How often it says how far `rewrap` is."""


@command
@json_option
def status() -> None:
    """List the keys, and what still needs each.

    An active key is in use, a kept one is good for what was made with it, and a closed one is a
    retired audit key, which verifies entries from its time.
    """
    found = run(lambda services, _: services.keys.status())
    show([_fields(key) for key in found], [_cells(key) for key in found])


@command
@argument("purpose", "What it is for.", type=OneOf([MASTER, AUDIT, SERVER, DATA]))
def add(purpose: str) -> None:
    """Add a key to the keyring, which is not in use yet, and print its id.

    Those for data are in the store: one of each organization, wrapped by a master key.
    """
    file = _file()
    key_id = run(lambda services, caller: services.keys.add(caller, purpose, file))
    with telling(f"Key {key_id} was added, and is not in use: teamvars keys activate {key_id}"):
        say(key_id)
    if purpose != DATA:
        file_name = load_settings().keyring_path
        note(f"Copy {file_name} to every other node, and to where you keep it safe.")
    note(f"Then run: teamvars keys activate {key_id}")


@command
@argument("key_id", "The id of a key.", metavar="ID")
def activate(key_id: str) -> None:
    """Use a key from now on; the former one of its purpose stays."""
    file = _file()
    run(lambda services, caller: services.keys.activate(caller, key_id, file))
    if is_generation(key_id):
        note(f"{key_id} is in use. For the values that are there: teamvars keys rewrap")
        return
    note(
        f"{key_id} is in use. Copy {load_settings().keyring_path} to every other node: each uses "
        "the former key until it has the file."
    )


@command
@argument("key_id", "The id of a key.", metavar="ID")
@flag("--leaked", "Void also what nobody can tell from forgeries: approvals made with it.")
def retire(key_id: str, leaked: bool) -> None:
    """Use a key no more. Refused while it is in use, or anything still needs it. While it signs or
    wraps anew it works a tenth of the time, and rests.
    """
    file = _file()
    run(lambda services, caller: services.keys.retire(caller, key_id, file, leaked=leaked))
    if is_generation(key_id):
        note(f"{key_id} is retired: no data key of it is left.")
        return
    note(
        f"{key_id} is retired. Copy {load_settings().keyring_path} to every other node, and "
        "destroy copies that still have it, once no backup needs them."
    )


@command
@option(
    "--from",
    "What wraps it now, command:… or transit:URL; without this it is plain.",
    "former",
    metavar="WRAP",
)
def wrap(former: str | None) -> None:
    """Write the keyring anew, wrapped as TEAMVARS_KEYRING_WRAP says; plain where that is not set.

    It is written only if what wraps it also opens it. Nodes that run go on as they are.
    """
    config = load_settings()
    by = wiring.wrapping_of(config)
    if former is None and by is None:
        raise Misuse("Set TEAMVARS_KEYRING_WRAP to what should wrap it, or say --from.")
    try:
        before = None if former is None else adapter(former)
    except ValueError as error:
        raise Misuse(f"--from: {error}") from None
    with ending(config.keyring_path):
        keyring.wrap(config.keyring_path, before, by)
    state = "plain" if by is None else f"wrapped by {by.id}"
    note(
        f"{config.keyring_path} is {state}. Copies of it from before are as they were: replace "
        "them, and destroy those that are plain."
    )


@command
@option(
    "--rate",
    "Seal at most N values a second. Otherwise it works a tenth of the time, and rests.",
    type=click.IntRange(min=1),
    metavar="N",
)
def rewrap(rate: int | None) -> None:
    """Put everything under the keys in use, while nodes serve: data keys, and what they seal.

    Safe to stop and to repeat; one at a time. No version of anything changes. Exit with 3 if a
    value does not open: it is left as it is, and named.
    """
    try:
        outcome = run(
            lambda services, caller: services.rewraps.run(caller, _Telling().tell, rate=rate),
            interrupted=REWRAP_GOES_ON,
        )
    except UnderWay:
        raise Failure("Another 'keys rewrap' is under way, and goes on alone.", CONFLICT) from None
    _end_with(outcome)


def _end_with(outcome: Outcome) -> None:
    say(f"sealed {outcome.sealed}")
    if not outcome.broken:
        note("Everything is under the keys in use: 'teamvars keys status' says what needs others.")
        return
    for text in outcome.broken:
        note(text)
    note(f"{len(outcome.broken)} did not open, and are as they were: see 'teamvars doctor --all'.")
    sys.exit(DIFFERENCES)


class _Telling:
    """Says how far it is and how long it may take, every few seconds, counted from the first page:
    a job may have waited before for the place of one that was killed.
    """

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None
        self._told = 0.0

    def tell(self, progress: Progress) -> None:
        """A line, unless there was one just now."""
        now = time.monotonic()
        if self._begun is None:
            self._begun, self._told = (now, progress.done), now
        if now - self._told < _SECONDS_BETWEEN:
            return
        self._told = now
        since, before = self._begun
        rate = (progress.done - before) / (now - since)
        left = f", {(progress.all - progress.done) / rate:,.0f} s left" if rate else ""
        note(f"{progress.done:,} of {progress.all:,} values, {rate:,.0f} a second{left}")


@command
def show_server_key() -> None:
    """Print the text for TEAMVARS_SERVER_KEY: the public part of the key in use."""
    config = load_settings()
    with ending():
        keys = wiring.keys_of(config).server
    if keys is None:
        raise Failure(
            f"{config.keyring_path} is of an older release and has no server key: no job is handed "
            "anything. To make one: teamvars server-key rotate"
        )
    say(server_keys.text(keys))


@command
def rotate() -> None:
    """Add a server key to the keyring and print the text for TEAMVARS_SERVER_KEY.

    It names the former key as well, by which nodes that serve go on to sign until 'keys activate'.
    The audit trail has an entry before the keyring has the key.
    """
    file = _file()
    added, former, waits = run(lambda services, caller: services.keys.rotate(caller, file))
    todo = f"keys retire {added.active}, then server-key rotate" if waits else "server-key show"
    with telling(f"Server key {added.active} was added, and is not shown: teamvars {todo}"):
        say(server_keys.text(added, *([] if former is None else [former])))
    note(f"Copy {load_settings().keyring_path} to every other node, and to where you keep it safe.")
    if former is not None:
        note("Give this to all clients first: it names the new key, and the former one after it.")
    if waits:
        note(f"Then have nodes sign by it: teamvars keys activate {added.active}")
    if former is not None:
        note("Then give clients what 'teamvars server-key show' prints: the new key alone.")


def _file() -> File:
    config = load_settings()
    return partial(keyring.change, config.keyring_path, by=wiring.wrapping_of(config))


def _fields(key: Key) -> Fields:
    return {
        "purpose": key.purpose,
        "id": key.id,
        "active": key.is_active,
        "wraps": key.wraps,
        "needed": sum(key.needed.values()),
        "lacking": key.is_lacking,
    }


def _cells(key: Key) -> tuple[str, ...]:
    return key.purpose, key.id, _state(key), told(key.needed)


def _state(key: Key) -> str:
    if key.is_lacking:
        return "not in this keyring"
    return "active" if key.is_active else "closed" if key.is_closed else "kept"
