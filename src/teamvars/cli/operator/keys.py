"""`keys`: which there are, and changing them while nodes serve."""

from functools import partial

from teamvars import wiring
from teamvars.cli.operator.context import run
from teamvars.cli.operator.host import load_settings
from teamvars.cli.options import OneOf, argument, command, flag, json_option
from teamvars.cli.output import Fields, note, say, show, telling
from teamvars.domain.generations import is_generation
from teamvars.domain.keys import AUDIT, DATA, MASTER, SERVER
from teamvars.security import keyring
from teamvars.services.keys import File, Key, told


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
