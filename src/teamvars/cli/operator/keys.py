"""`keys`: which there are, and changing them while nodes serve."""

from collections.abc import Mapping

from teamvars.cli.operator.context import run
from teamvars.cli.options import command, json_option
from teamvars.cli.output import Fields, show
from teamvars.services.keys import Key


@command
@json_option
def status() -> None:
    """List the keys, and what still needs each."""
    found = run(lambda services, _: services.keys.status())
    show([_fields(key) for key in found], [_cells(key) for key in found])


def _fields(key: Key) -> Fields:
    return {
        "purpose": key.purpose,
        "id": key.id,
        "active": key.is_active,
        "wraps": key.wraps,
        "needed": sum(key.needed.values()),
    }


def _cells(key: Key) -> tuple[str, ...]:
    state = "active" if key.is_active else "closed" if key.is_closed else "kept"
    return key.purpose, key.id, state, told(key.needed)


def told(needed: Mapping[str, int]) -> str:
    """What needs a key, in words."""
    return ", ".join(f"{what}: {count:,}" for what, count in needed.items())
