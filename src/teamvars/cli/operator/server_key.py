"""`server-key show` and `rotate`: the key that signs what jobs are handed."""

from collections.abc import Callable

from msgspec.structs import replace

from teamvars import wiring
from teamvars.cli.exits import Failure
from teamvars.cli.operator.context import load_settings, run
from teamvars.cli.options import command
from teamvars.cli.output import note, say
from teamvars.domain.access import Caller
from teamvars.domain.keys import SERVER
from teamvars.security import keyring, server_keys
from teamvars.security.keyring import Keyring, KeyringError
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

    It names the former key as well, by which nodes that serve go on to sign until 'keys activate'.
    The audit trail has an entry before the keyring has the key.
    """

    async def noted(services: wiring.Services, caller: Caller) -> bool:
        # First the entry: a key that nobody knows of is worse than an entry of one that never came.
        former = None if before is None else before.active
        said = added.active, server_keys.thumbprint(added), former
        await services.audit.note_server_key(caller, *said)
        return await services.keys.is_served()

    def step(keys: Keyring) -> Keyring:
        held = keys.holding(SERVER, added)
        return held if waits else held.using(SERVER, added.active)

    config = load_settings()
    before = _of(config, lambda: wiring.keys_of(config)).server
    added = keyring.new_key(SERVER)
    waits = run(noted) and before is not None
    by = wiring.wrapping_of(config)
    after = _of(config, lambda: keyring.change(config.keyring_path, step, by)).server
    assert after is not None  # it was just added
    new = replace(after, active=added.active)
    say(server_keys.text(new, former=None if before is None else before.active))
    note(f"Copy {config.keyring_path} to every other node, and to where you keep it safe.")
    if before is not None:
        note("Give this to all clients first: it names the new key, and the former one after it.")
    if waits:
        note(f"Then have nodes sign by it: teamvars keys activate {added.active}")
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
