"""The file of values that another service shows to nobody: written to be filled in, and read."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from teamvars.cli.client.api import accounts
from teamvars.cli.exits import ERROR, INVALID, Failure
from teamvars.domain.names import fold
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

_MOST_BYTES = 24 * 1024 * 1024
Name = tuple[str, str, str, str]
"""Of a variable: its owner's type and folded name, its key and its category."""


class Entry(Discreet, frozen=True, forbid_unknown_fields=True):
    """A variable of a workspace or of a set. Its value is null until somebody fills it in."""

    type: str
    name: str
    key: str
    category: Category
    value: str | None = None

    @property
    def is_of(self) -> Name:
        """What it is found by."""
        return self.type, fold(self.name), self.key, self.category.value


class _Content(Discreet, frozen=True, forbid_unknown_fields=True):
    variables: list[Entry]


def read(path: Path) -> dict[Name, Entry]:
    """What the file says; nothing if there is none. Fails without quoting it."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", ERROR) from None
    if len(content) > _MOST_BYTES:
        raise Failure(f"{path} has more than {_MOST_BYTES} bytes.", INVALID)
    try:
        entries = msgspec.json.decode(content, type=_Content).variables
    except (ValueError, RecursionError):
        raise Failure(
            f"{path} is not such a file: JSON with 'variables', each of which has 'type', 'name', "
            "'key', 'category' and 'value', a text or null.",
            INVALID,
        ) from None
    found = {one.is_of: one for one in entries}
    if len(found) < len(entries):
        raise Failure(f"{path} names a variable twice.", INVALID)
    return found


def add(path: Path, missing: Iterable[Entry]) -> int:
    """Adds those that the file lacks, and says how many; what is filled in stays, however late.

    The file is whole at any time, and nobody else can read it.
    """
    there = read(path)
    more = {one.is_of: one for one in missing if one.is_of not in there}
    if not more:
        return 0
    content = _Content([*there.values(), *more.values()])
    try:
        accounts.replace_file(path, content)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}.", ERROR) from None
    return len(more)
