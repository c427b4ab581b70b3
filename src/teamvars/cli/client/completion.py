"""`completion`: what a shell needs to complete words, and the words that are looked up for it."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters, shell_complete

_VARIABLE = "_TEAMVARS_COMPLETE"


class Shell(StrEnum):
    """A shell that completes words."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(help="Your shell.")]
) -> None:
    """Print what makes a shell complete commands, options and names.

    For bash, put this line into ~/.bashrc; zsh and fish likewise:
    source <(teamvars completion bash)

    Example: teamvars completion bash
    """
    register()
    shell_complete(context.find_root().command, {}, "teamvars", _VARIABLE, f"source_{shell.value}")


def register() -> None:
    """Makes the program answer such shells; it takes a moment that other commands do not spend."""
    get_completion_inspect_parameters()
