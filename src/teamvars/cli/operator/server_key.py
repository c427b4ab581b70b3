"""`server-key show` and `rotate`: the key that signs what jobs are handed."""

from collections.abc import Callable

from teamvars import wiring
from teamvars.cli.exits import Failure
from teamvars.cli.operator.context import load_settings, run
from teamvars.cli.options import command
from teamvars.cli.output import note, say
from teamvars.security import keyring, server_keys
from teamvars.security.keyring import SERVER, Keyring, KeyringError
from teamvars.settings import Settings


@command
def show() -> None:
    """Print the text for TEAMVARS_SERVER_KEY: the public part of the key in use."""
    config = load_settings()
    keys = _of(config, lambda: wiring.keys_of(config)).server
    if keys is None:
        raise Failure(
            f"{config.keyring_path} is of an older release and has no server key: no job is handed "
            "anything. To make one: teamvars server-key rotate; then restart each node."
        )
    say(server_keys.text(keys))


@command
def rotate() -> None:
    """Add a server key to the keyring and print the text for TEAMVARS_SERVER_KEY.

    It names the former key as well, by which nodes sign until they are restarted. The audit trail
    has an entry before the keyring has the key.
    """

    def step(keys: Keyring) -> Keyring:
        return keys.holding(SERVER, added).using(SERVER, added.active)

    config = load_settings()
    before = _of(config, lambda: wiring.keys_of(config)).server
    added = keyring.new_key(SERVER)
    # First the entry: a key that nobody knows of is worse than an entry of a key that never came.
    said = added.active, server_keys.thumbprint(added), None if before is None else before.active
    run(lambda services, caller: services.audit.note_server_key(caller, *said))
    by = wiring.wrapping_of(config)
    after = _of(config, lambda: keyring.change(config.keyring_path, step, by)).server
    assert after is not None  # it was just added
    say(server_keys.text(after, former=None if before is None else before.active))
    if before is not None:
        note("Give this to all clients first: it names the new key, and the former one after it.")
    note(
        f"Copy {config.keyring_path} to every other node, and to where you keep it safe; then "
        "restart each: a node takes the new key when it starts."
    )
    if before is not None:
        note("Then give clients what 'teamvars server-key show' prints: the new key alone.")


def _of(config: Settings, work: Callable[[], Keyring]) -> Keyring:
    try:
        return work()
    except KeyringError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        text = f"The keyring {config.keyring_path} cannot be written: {error.strerror}."
        raise Failure(text) from None
