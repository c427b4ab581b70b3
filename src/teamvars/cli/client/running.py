"""`run`: a command with the variables of a workspace in its environment.

This process becomes the command. So signals reach it, a terminal stops and resumes it, and its
exit code is its own, all without anything of ours between; and nothing of ours stays in memory.
"""

import errno
import os
import signal
import sys
from collections.abc import Mapping
from typing import Annotated, NoReturn

import typer

from teamvars.cli.client.api import connect
from teamvars.cli.client.environments import Rules, environment
from teamvars.cli.client.held import held
from teamvars.cli.client.options import AllowMissing, SkipInvalidKeys, placed
from teamvars.cli.client.place import Where
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named
from teamvars.cli.output import note
from teamvars.origins import origin

OWN_FAILURE, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""As of `env`, `nice` and `timeout`."""


@placed("organization", "workspace")
def run(
    where: Where,
    command: Annotated[list[str], typer.Argument(metavar="-- CMD…", help="The command.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="GLOB", help="Variables like this alone.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--with", metavar="FILE", help="A dotenv file with values of sensitive ones."),
    ] = None,
    allow_env: Annotated[
        list[str] | None,
        typer.Option("--allow-env", metavar="NAME", help="Take such a name from the workspace."),
    ] = None,
    allow_missing: AllowMissing = False,
    skip_invalid_keys: SkipInvalidKeys = False,
) -> None:
    """Run a command with the variables in its environment.

    The tool's own are there as TF_VAR_…. The exit code is the command's; 125 says that it was not
    started.

    Example: teamvars run --allow-missing -- env
    """
    try:
        rules = Rules(only or (), allow_env or (), allow_missing, skip_invalid_keys)
        values = _environment(where, file, rules)
    except Failure as failure:
        raise Failure(str(failure), OWN_FAILURE) from None
    except Exception as error:
        raise Failure(f"unexpected {origin(error)}", OWN_FAILURE) from None
    _become(command, values)


def _environment(where: Where, file: str | None, rules: Rules) -> Mapping[str, str]:
    # Only here: what reads files takes a while to load.
    given = named("teamvars.cli.client.files:dotenv")(file) if file is not None else {}
    found = held(connect(where))
    made = environment(found.variables, os.environ, given, rules)
    if made.faults:
        raise Failure("\n".join(made.faults))
    for text in made.notes:
        note(text)
    return made.values


def _become(command: list[str], values: Mapping[str, str]) -> NoReturn:
    """Turns this process into the command. Fails as shells do where there is none."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and what is ignored stays so in what a process becomes.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, values)  # noqa: S606 - becoming another is its purpose
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last one: of an empty word
        raise Failure(f"There is no command '{command[0]}'.", NOT_FOUND) from None
    except OSError as error:
        if error.errno == errno.E2BIG:
            largest = max(values, key=lambda name: len(values[name]))
            raise Failure(
                f"This is more than an environment can hold; the largest is {largest}. --only "
                "leaves some out.",
                OWN_FAILURE,
            ) from None
        text = f"{command[0]} cannot be run: {error.strerror}."
        raise Failure(text, NOT_EXECUTABLE) from None
