"""The environment of a command that is run with the variables of a workspace."""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from teamvars.cli.variables import TOKEN
from teamvars.domain.environment import InvalidKey, Unfit, name_in_environment, text_of
from teamvars.domain.variables import Category, Variable

_DANGEROUS = (
    *("PATH", "LD_*", "DYLD_*", "BASH_ENV", "ENV", "IFS", "PYTHON*", "NODE_OPTIONS", "PERL5*"),
    *("GIT_*", "TEAMVARS_*"),
)
"""Names that make a program run or load something else, and those of this one."""


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


def environment(
    variables: Sequence[Variable],
    own: Mapping[str, str],
    file: Mapping[str, str],
    rules: Rules,
) -> Environment:
    """The caller's own environment, without the token, and over it the variables.

    The value of a sensitive one comes from the file, else from the caller's own environment.
    """
    values = {name: value for name, value in own.items() if name != TOKEN}
    notes: list[str] = []
    faults: list[str] = []
    taken: set[str] = set()
    for variable in variables:
        if rules.only and not any(fnmatchcase(variable.key, pattern) for pattern in rules.only):
            continue
        try:
            name = name_in_environment(variable)
        except InvalidKey as why:
            skip = rules.skip_invalid_keys
            told = "is left out" if skip else f"{why} (--skip-invalid-keys leaves it out)"
            (notes if skip else faults).append(f"{variable.key}: {told}.")
            continue
        if name in taken:
            faults.append(f"{name}: two variables are called so there (--only takes one of them).")
        taken.add(name)
        if variable.sensitive:
            _fill_in(name, values, file, rules, notes, faults)
            continue
        if _is_dangerous(variable) and variable.key not in rules.allow_env:
            faults.append(f"{name} could make the command run something else: --allow-env {name}")
            continue
        try:
            values[name] = text_of(variable)
        except Unfit as why:
            faults.append(f"{variable.key}: {why}.")
    return Environment(values, notes, faults)


def _fill_in(
    name: str,
    values: dict[str, str],
    file: Mapping[str, str],
    rules: Rules,
    notes: list[str],
    faults: list[str],
) -> None:
    """The value of a sensitive variable, which nobody can read from the service."""
    if name in file:
        values[name] = file[name]
    elif name not in values:
        told = f"{name} is sensitive, and neither in your environment nor in a file (--with)"
        if rules.allow_missing:
            notes.append(f"{told}.")
        else:
            faults.append(f"{told}; --allow-missing goes on without it.")


def _is_dangerous(variable: Variable) -> bool:
    return variable.category is Category.ENV and any(
        fnmatchcase(variable.key, pattern) for pattern in _DANGEROUS
    )
