"""What a variable is called, and is, in the environment of a process."""

import re

from teamvars.domain.variables import Category, Variable

TOOL_PREFIX = "TF_VAR_"
"""How the tool finds its variables in an environment."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unfit(Exception):
    """A variable that has no form where it is to go; the message says why, and quotes nothing."""


class InvalidKey(Unfit):
    """It is its key that has none."""


def name_in_environment(variable: Variable) -> str:
    """Its name there. Refuses: a key that shells take for something else than a name.

    An environment would take nearly any; `$(id)` and `a;b` are keys, and what reads the names
    again, a shell above all, may carry out what it finds in them.
    """
    if not _NAME.fullmatch(variable.key):
        raise InvalidKey("its key is no name for a shell: letters, digits and _")
    return variable.key if variable.category is Category.ENV else TOOL_PREFIX + variable.key


def text_of(variable: Variable) -> str:
    """What it holds, as an environment can have it; code stays code. Refuses: NUL, no value."""
    if variable.value is None:
        raise Unfit("it is sensitive, and cannot be read")
    if "\0" in variable.value:
        raise Unfit("its value has a NUL character")
    return variable.value
