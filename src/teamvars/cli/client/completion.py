"""`completion`: what a shell needs to complete words, and the words that are looked up for it."""

from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters, shell_complete

from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure

_VARIABLE = "_TEAMVARS_COMPLETE"


_SHELLS = ("bash", "zsh", "fish")


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print what makes a shell complete commands, options and names.

    For bash, put this line into ~/.bashrc, and the like for zsh and fish:

    source <(teamvars completion bash)

    Example: teamvars completion bash
    """
    if shell not in _SHELLS:
        raise Failure(f"It is one of {', '.join(_SHELLS)}.", USAGE)
    register()
    shell_complete(context.find_root().command, {}, "teamvars", _VARIABLE, f"source_{shell}")


def register() -> None:
    """Makes the program answer such shells; it takes a moment that other commands do not spend."""
    get_completion_inspect_parameters()
