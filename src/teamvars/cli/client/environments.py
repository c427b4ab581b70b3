"""The environment of a command that is run with the variables of a workspace."""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from teamvars.cli.commands import TOKEN
from teamvars.domain.key_names import is_steering
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import InvalidKey, Unfit, name_in_environment, text_of


class Rules(NamedTuple):
    """What the person who runs the command has said."""

    only: Sequence[str] = ()
    allow_env: Collection[str] = ()
    allow_missing: bool = False
    skip_invalid_keys: bool = False


class Environment(NamedTuple):
    """The whole environment; `notes` say what is not in it, `faults` why there is none."""

    values: Mapping[str, str]
    notes: Sequence[str]
    faults: Sequence[str]


def steering(variables: Sequence[Variable], rules: Rules) -> list[str]:
    """The names that somebody has to agree to, and that the rules do not allow."""
    made = _Making({}, {}, rules)
    named = [made.name_of(one) for one in _chosen(variables, rules)]
    return [name for name in named if name and is_steering(name) and name not in rules.allow_env]


def environment(
    variables: Sequence[Variable],
    own: Mapping[str, str],
    file: Mapping[str, str],
    rules: Rules,
) -> Environment:
    """The caller's own environment, without the token, and over it the variables.

    The value of a sensitive one comes from the file, else from the caller's own environment.
    """
    made = _Making(own, file, rules)
    for pattern in rules.only:
        if not any(fnmatchcase(one.key, pattern) for one in variables):
            made.faults.append(f"--only {pattern}: there is no variable like this.")
    for variable in _chosen(variables, rules):
        made.take(variable)
    return Environment(made.values, made.notes, made.faults)


def _chosen(variables: Sequence[Variable], rules: Rules) -> list[Variable]:
    return [
        one
        for one in variables
        if not rules.only or any(fnmatchcase(one.key, pattern) for pattern in rules.only)
    ]


class _Making:
    """An environment that is being made."""

    def __init__(self, own: Mapping[str, str], file: Mapping[str, str], rules: Rules) -> None:
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
            self._put(name, variable)

    def name_of(self, variable: Variable) -> str | None:
        """Its name there; says why it has none."""
        try:
            return name_in_environment(variable)
        except InvalidKey as why:
            skip = self._rules.skip_invalid_keys
            told = "is left out" if skip else f"{why} (--skip-invalid-keys leaves it out)"
            (self.notes if skip else self.faults).append(f"{variable.key}: {told}.")
            return None

    def _put(self, name: str, variable: Variable) -> None:
        try:
            self.values[name] = text_of(variable)
        except Unfit as why:
            self.faults.append(f"{variable.key}: {why}.")

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
