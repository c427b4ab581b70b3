"""`keys wrap`: the same keyring, wrapped otherwise."""

from teamvars import wiring
from teamvars.cli.exits import Misuse
from teamvars.cli.operator.host import ending, load_settings
from teamvars.cli.options import command, option
from teamvars.cli.output import note
from teamvars.security import keyring
from teamvars.security.wrapping.adapters import adapter


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
