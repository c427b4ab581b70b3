"""`run`: a command with the variables of a workspace in its environment.

This process becomes the command. So signals reach it, a terminal stops and resumes it, and its
exit code is its own, all without anything of ours between; and nothing of ours stays in memory.
"""

import errno
import os
import signal
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

import typer

from teamvars.cli.client.agreed_names import agreed
from teamvars.cli.client.api import connect
from teamvars.cli.client.environments import Rules, environment, steering
from teamvars.cli.client.held import Place, held
from teamvars.cli.client.options import AllowMissing, SkipInvalidKeys, offered, placed
from teamvars.cli.client.place import Where
from teamvars.cli.exits import NO_COMMAND, NOT_EXECUTABLE, NOT_STARTED
from teamvars.cli.failures import Failure
from teamvars.cli.lazy import named
from teamvars.cli.output import note
from teamvars.cli.texts import Command
from teamvars.origins import origin


class Starter(Command):
    """A command that starts another: options end where that one begins, with `--` or without."""

    allow_interspersed_args = False

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context; wrong usage is a fault of this command's own, too."""
        try:
            return super().make_context(info_name, args, *rest, **more)
        except typer.TyperException as error:
            raise Failure(
                f"{error}\nThe command that is to be run stands behind --, with its own options: "
                "teamvars run -- terraform plan -out plan",
                NOT_STARTED,
            ) from None


@placed("organization", "workspace")
def run(
    where: Where,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- CMD…", help="The command.", autocompletion=offered("command")),
    ],
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
        raise Failure(str(failure), NOT_STARTED) from None
    except Exception as error:
        raise Failure(f"unexpected {origin(error)}", NOT_STARTED) from None
    _become(command, values)


run.command_class = Starter  # type: ignore[attr-defined]


def _environment(where: Where, file: str | None, rules: Rules) -> Mapping[str, str]:
    # Only here: what reads files takes a while to load.
    given = named("teamvars.cli.client.files:dotenv")(file) if file is not None else {}
    api = connect(where)
    found = held(api)
    asked = steering(found.variables, rules)
    taken = agreed(api.target.address, Place(found.id, found.name), asked)
    rules = rules._replace(allow_env=[*rules.allow_env, *taken])
    own = {name.decode(*_TEXT): value.decode(*_TEXT) for name, value in os.environb.items()}
    made = environment(found.variables, own, given, rules)
    if made.faults:
        raise Failure("\n".join(made.faults))
    for text in made.notes:
        note(text)
    return made.values


_TEXT = ("utf-8", "surrogateescape")
"""How an environment is read and written, whatever the locale: byte for byte."""


def _become(command: list[str], values: Mapping[str, str]) -> NoReturn:
    """Turns this process into the command. Fails as shells do where there is none."""
    whole = {name.encode(*_TEXT): value.encode(*_TEXT) for name, value in values.items()}
    words = [*map(_bytes, command)]
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and what is ignored stays so in what a process becomes.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], words, whole)  # noqa: S606 - becoming another is its purpose
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last one: of an empty word
        raise Failure(f"There is no command '{command[0]}'.", NO_COMMAND) from None
    except OSError as error:
        if error.errno == errno.E2BIG:
            largest = max(values, key=lambda name: len(values[name]))
            raise Failure(
                f"This is more than an environment can hold; the largest is {largest}. --only "
                "leaves some out.",
                NOT_STARTED,
            ) from None
        text = f"{command[0]} cannot be run: {error.strerror}."
        raise Failure(text, NOT_EXECUTABLE) from None


def _bytes(word: str) -> bytes:
    """An argument as it was given: in the locale's letters, or in UTF-8 where it has none."""
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode()
