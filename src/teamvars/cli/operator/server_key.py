"""`server-key show` and `rotate`: the key that signs what jobs are handed."""

from functools import partial

from teamvars import wiring
from teamvars.cli.exits import Failure
from teamvars.cli.operator.context import run
from teamvars.cli.operator.host import ending, load_settings
from teamvars.cli.options import command
from teamvars.cli.output import note, say, telling
from teamvars.security import keyring, server_keys
from teamvars.security.keyring import KeySet
from teamvars.settings import Settings


@command
def show() -> None:
    """Print the text for TEAMVARS_SERVER_KEY: the public part of the key in use."""
    config = load_settings()
    keys = _server_keys(config)
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
    config = load_settings()
    before = _server_keys(config)
    file = partial(keyring.change, config.keyring_path, by=wiring.wrapping_of(config))
    added, waits = run(lambda services, caller: services.keys.rotate(caller, file))
    todo = f"keys retire {added.active}, then server-key rotate" if waits else "server-key show"
    with telling(f"Server key {added.active} was added, and is not shown: teamvars {todo}"):
        say(server_keys.text(added, *([] if before is None else [before])))
    note(f"Copy {config.keyring_path} to every other node, and to where you keep it safe.")
    if before is not None:
        note("Give this to all clients first: it names the new key, and the former one after it.")
    if waits:
        note(f"Then have nodes sign by it: teamvars keys activate {added.active}")
    if before is not None:
        note("Then give clients what 'teamvars server-key show' prints: the new key alone.")


def _server_keys(config: Settings) -> KeySet | None:
    with ending():
        return wiring.keys_of(config).server
