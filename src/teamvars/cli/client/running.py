"""`run`: a command with the variables of a workspace in its environment."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import click

from teamvars.cli import named
from teamvars.cli.asking import agrees, is_terminal
from teamvars.cli.client.api import accounts, connect
from teamvars.cli.client.api.accounts import Settings
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.contents import Workspace, contents_of
from teamvars.cli.client.options import (
    allow_missing_option,
    offered,
    placed,
    skip_invalid_keys_option,
)
from teamvars.cli.commands import TOKEN
from teamvars.cli.exits import NOT_STARTED, Failure
from teamvars.cli.options import argument, option
from teamvars.cli.output import note
from teamvars.cli.starting import Starter, Values, become, own_environment
from teamvars.domain.key_names import is_steering
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import InvalidKey, Unfit, name_in_environment, text_of
from teamvars.origins import origin


class Rules(NamedTuple):
    """What the person who runs the command has said."""

    only: Sequence[str] = ()
    allow_env: Collection[str] = ()
    allow_missing: bool = False
    skip_invalid_keys: bool = False


class Environment:
    """The whole environment; `notes` say what is not in it, `faults` why there is none."""

    def __init__(self, own: Values, file: Values, rules: Rules) -> None:
        self.values = {name: value for name, value in own.items() if name != TOKEN}
        self.notes: list[str] = []
        self.faults: list[str] = []
        self._file = file
        self._rules = rules
        self._taken: set[str] = set()

    def take(self, variable: Variable) -> None:
        """Puts a variable into it, or says why not."""
        name = self.name_of(variable)
        if name is None:
            return
        if name in self._taken:
            self.faults.append(
                f"{name}: two variables have this name there (choose one with --only)."
            )
        self._taken.add(name)
        if is_steering(name) and name not in self._rules.allow_env:
            self.faults.append(
                f"{name} could make programs run or trust something else: --allow-env {name}"
            )
        elif variable.sensitive:
            self._fill_in(name)
        else:
            try:
                self.values[name] = text_of(variable)
            except Unfit as why:
                self.faults.append(f"{variable.key}: {why}.")

    def name_of(self, variable: Variable) -> str | None:
        """Its name there; says why it has none."""
        try:
            return name_in_environment(variable)
        except InvalidKey as why:
            skip = self._rules.skip_invalid_keys
            told = "is left out" if skip else f"{why} (--skip-invalid-keys leaves it out)"
            (self.notes if skip else self.faults).append(f"{variable.key}: {told}.")
            return None

    def _fill_in(self, name: str) -> None:
        """The value of a sensitive variable, which nobody can read from the service."""
        if name in self._file:
            self.values[name] = self._file[name]
        elif name not in self.values:
            told = f"{name} is sensitive, and neither in your environment nor in a file (--with)"
            if self._rules.allow_missing:
                self.notes.append(f"{told}.")
            else:
                self.faults.append(f"{told}; --allow-missing continues without it.")


def steering(variables: Sequence[Variable], rules: Rules) -> list[str]:
    """The names that somebody has to agree to, and that the rules do not allow."""
    made = Environment({}, {}, rules)
    named = [made.name_of(one) for one in _chosen(variables, rules)]
    return [name for name in named if name and is_steering(name) and name not in rules.allow_env]


def environment(
    variables: Sequence[Variable], own: Values, file: Values, rules: Rules
) -> Environment:
    """The caller's own environment, without the token, and over it the variables.

    The value of a sensitive one comes from the file, else from the caller's own environment.
    """
    made = Environment(own, file, rules)
    for pattern in rules.only:
        if not any(fnmatchcase(one.key, pattern) for one in variables):
            made.faults.append(f"--only {pattern}: there is no variable like this.")
    for variable in _chosen(variables, rules):
        made.take(variable)
    return made


def _chosen(variables: Sequence[Variable], rules: Rules) -> list[Variable]:
    return [
        one
        for one in variables
        if not rules.only or any(fnmatchcase(one.key, pattern) for pattern in rules.only)
    ]


@click.command(cls=Starter)
@argument(
    "command",
    "The command.",
    nargs=-1,
    required=True,
    metavar="-- CMD…",
    shell_complete=offered("command"),
)
@option("--only", "Only variables like this.", multiple=True, metavar="GLOB")
@option("--with", "A dotenv file with values of sensitive variables.", "file", metavar="FILE")
@option("--allow-env", "Accept this name from the workspace.", multiple=True, metavar="NAME")
@allow_missing_option
@skip_invalid_keys_option
@placed("organization", "workspace")
def run(
    where: Where,
    command: Sequence[str],
    only: Sequence[str],
    file: str | None,
    allow_env: Sequence[str],
    allow_missing: bool,
    skip_invalid_keys: bool,
) -> None:
    """Run a command with the variables in its environment.

    Variables of the tool are called TF_VAR_… there. The exit code is the command's; 125 means that
    it was not started.

    Example: teamvars run --allow-missing -- env
    """
    try:
        rules = Rules(only, allow_env, allow_missing, skip_invalid_keys)
        values = _environment(where, file, rules)
    except Failure as failure:
        raise Failure(str(failure), NOT_STARTED) from None
    except Exception as error:
        raise Failure(f"unexpected {origin(error)}", NOT_STARTED) from None
    become(command, values)


def _environment(where: Where, file: str | None, rules: Rules) -> Values:
    # Only here: what reads files takes a while to load.
    given = named("teamvars.cli.client.files:dotenv")(file) if file is not None else {}
    api = connect(where)
    found = contents_of(api)
    asked = steering(found.variables, rules)
    taken = agreed(api.target.address, Workspace(found.id, found.name), asked)
    rules = rules._replace(allow_env=[*rules.allow_env, *taken])
    made = environment(found.variables, own_environment(), given, rules)
    if made.faults:
        raise Failure("\n".join(made.faults))
    for text in made.notes:
        note(text)
    return made.values


def agreed(address: Address, workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Those of the names that may be taken. Asks about what was not agreed to before, on a
    terminal; a yes is kept."""
    if not names:
        return []
    key = f"{address} {workspace.id}"
    known = accounts.read(Settings).agreed_names.get(key, [])

    def asked(name: str) -> bool:
        question = (
            f"{name} of {workspace.name} can make programs run or trust something else. Accept it, "
            "now and whenever this workspace has it? [y/N] "
        )
        if not is_terminal() or not agrees(question):
            return False
        accounts.change(
            Settings, lambda settings: settings.agreed_names.setdefault(key, []).append(name)
        )
        return True

    return [name for name in names if name in known or asked(name)]
