"""The adapters by the names that settings have for them."""

from teamvars.security.wrapping import Wrapping
from teamvars.security.wrapping.commands import Command
from teamvars.security.wrapping.transit import Transit


def adapter(text: str) -> Wrapping:
    """That of `command:…` or `transit:URL`. Raises ValueError, which does not quote it."""
    kind, _, rest = text.partition(":")
    if kind == "command":
        return Command.of(rest)
    if kind == "transit":
        return Transit.of(rest)
    raise ValueError("must be command:… or transit:URL")
