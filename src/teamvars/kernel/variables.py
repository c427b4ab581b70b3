"""A variable without its workspace: its key, value and category, what these may be, and what it is
in the environment of a process.
"""

import re
from enum import StrEnum
from typing import Protocol

MAX_KEY_CHARACTERS = 128
MAX_VALUE_BYTES = 256 * 1024

# White space of every script, '=', and the control and format-control blocks C0, DEL and C1.
FORBIDDEN_IN_KEY = r"\s=\x00-\x1f\x7f-\x9f"
_FORBIDDEN_IN_KEY = re.compile(f"[{FORBIDDEN_IN_KEY}]")

TOOL_PREFIX = "TF_VAR_"
"""How the tool finds its variables in an environment."""

_NAME_IN_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Category(StrEnum):
    """`tool`: a variable of the tool that runs in the workspace; `env`: an environment variable."""

    TOOL = "tool"
    ENV = "env"


class Variable(Protocol):
    """What a file or an environment needs of a variable; `value` is None when it is sensitive.

    `hcl`: the value of a `tool` variable is an expression of the configuration language.
    """

    @property
    def key(self) -> str:
        """Its key."""

    @property
    def value(self) -> str | None:
        """Its value, or code."""

    @property
    def category(self) -> Category:
        """Whose variable it is."""

    @property
    def hcl(self) -> bool:
        """Whether its value is code."""


def value_size(value: str) -> int:
    """The bytes of a value as they count against the limits."""
    return len(value.encode())


def key_faults(key: str) -> list[str]:
    """What keeps any variable from having this key, a sentence each."""
    faults = []
    if not 1 <= len(key) <= MAX_KEY_CHARACTERS:
        faults.append(f"A key has 1 to {MAX_KEY_CHARACTERS} characters.")
    if _FORBIDDEN_IN_KEY.search(key):
        faults.append("A key has no white space, no control characters and no '='.")
    return faults


def value_faults(value: str) -> list[str]:
    """What keeps any variable from having this value, a sentence each."""
    # A character is at most four bytes, so most values need not be encoded to be known to fit.
    if len(value) * 4 <= MAX_VALUE_BYTES or value_size(value) <= MAX_VALUE_BYTES:
        return []
    return [f"A value has at most {MAX_VALUE_BYTES} bytes of UTF-8."]


class Unfit(Exception):
    """A variable that has no form where it is to go; the message says why, and quotes nothing."""


class InvalidKey(Unfit):
    """It is its key that has none."""


def name_in_environment(variable: Variable) -> str:
    """Its name there. Refuses: a key that shells take for something else than a name.

    An environment would take nearly any; `$(id)` and `a;b` are keys, and what reads the names
    again, a shell above all, may carry out what it finds in them.
    """
    if not _NAME_IN_ENVIRONMENT.fullmatch(variable.key):
        raise InvalidKey("its key is not a shell name: letters, digits and _")
    return variable.key if variable.category is Category.ENV else TOOL_PREFIX + variable.key


def text_of(variable: Variable) -> str:
    """What it holds, as an environment can have it; code stays code. Refuses: NUL, no value."""
    if variable.value is None:
        raise Unfit("it is sensitive, and cannot be read")
    if "\0" in variable.value:
        raise Unfit("its value has a NUL character")
    return variable.value
