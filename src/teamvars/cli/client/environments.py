"""The environment of a command: the caller's own, and over it the variables of a workspace."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from teamvars.cli import named
from teamvars.cli.asking import agrees, is_terminal
from teamvars.cli.client.api import accounts
from teamvars.cli.client.api.accounts import Settings
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.contents import Owner
from teamvars.cli.client.jobs import is_id_token
from teamvars.cli.commands import TOKEN
from teamvars.cli.starting import Values
from teamvars.domain.key_names import Globs, is_steering
from teamvars.kernel.variables import (
    TOOL_PREFIX,
    Category,
    InvalidKey,
    Unfit,
    Variable,
    name_in_environment,
    text_of,
)


class WorkspaceVariable(Variable, Protocol):
    """A variable of a workspace, as it was read or delivered."""

    @property
    def sensitive(self) -> bool:
        """Whether nobody can read it from the service."""


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


K = TypeVar("K", bound=_Keyed)


class Rules(NamedTuple):
    """What the person who runs the command has said.

    `in_file`: variables of the tool whose value is known go into a file for it. `runner` is which
    one has delivered them; None: a person has read them.
    """

    only: Sequence[str] = ()
    allow_env: Collection[str] = ()
    allow_missing: bool = False
    skip_invalid_keys: bool = False
    in_file: bool = False
    runner: str | None = None


class Environment:
    """The whole environment, and the `tools`: variables that go into a file of the tool.

    `notes` say what is in neither, `faults` why there is none, and `missing` which sensitive
    variables nothing gives a value: one or the other.
    """

    def __init__(self, own: Values, file: Values, rules: Rules) -> None:
        # Without what proves somebody to the service: no command needs it.
        self.values = {
            name: one for name, one in own.items() if name != TOKEN and not is_id_token(name)
        }
        self.tools: list[Variable] = []
        self.notes: list[str] = []
        self.faults: list[str] = []
        self.missing: list[str] = []
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
        elif self._goes_into_file(variable):
            self.tools.append(variable)
        elif variable.value is None:
            self._fill_in(name)
        else:
            try:
                self.values[name] = text_of(variable)
            except Unfit as why:
                self.faults.append(f"{variable.key}: {why}.")

    def name_of(self, variable: Variable) -> str | None:
        """Its name there, also of what goes into a file instead; says why it has none."""
        try:
            if self._goes_into_file(variable):
                # Only here: what knows the language takes a while to load.
                name = named("teamvars.variable_files.writing:name_in_tfvars")(variable)
                return f"{TOOL_PREFIX}{name}"
            return name_in_environment(variable)
        except InvalidKey as why:
            skip = self._rules.skip_invalid_keys
            told = "is left out" if skip else f"{why} (--skip-invalid-keys leaves it out)"
            (self.notes if skip else self.faults).append(f"{variable.key}: {told}.")
            return None

    def _goes_into_file(self, variable: Variable) -> bool:
        is_known = variable.value is not None
        return self._rules.in_file and is_known and variable.category is Category.TOOL

    def _fill_in(self, name: str) -> None:
        """The value of a sensitive variable, which was not handed out."""
        if name in self._file:
            self.values[name] = self._file[name]
        elif name not in self.values:
            told = f"{name} is sensitive, and neither in your environment nor in a file (--with)"
            end = "." if self._rules.allow_missing else "; --allow-missing continues without it."
            self.missing.append(told + end)


def steering(variables: Sequence[WorkspaceVariable], rules: Rules) -> list[str]:
    """The names that somebody has to agree to, and that the rules do not allow."""
    made = Environment({}, {}, rules)
    named = [made.name_of(one) for one in chosen(variables, rules.only)]
    return [name for name in named if name and is_steering(name) and name not in rules.allow_env]


def environment(
    variables: Sequence[WorkspaceVariable], own: Values, file: Values, rules: Rules
) -> Environment:
    """The caller's own environment, without the token, and over it the variables.

    The value of a sensitive one that has none comes from the file, else from the caller's own
    environment.
    """
    made = Environment(own, file, rules)
    for pattern in rules.only:
        if not any(map(Globs([pattern]).match, (one.key for one in variables))):
            made.faults.append(f"--only {pattern}: there is no variable like this.")
    for variable in chosen(variables, rules.only):
        made.take(variable)
    if made.missing and rules.runner is not None:
        made.missing.append(
            f"The runner {rules.runner} is handed nothing sensitive. An owner changes that, and "
            f"the new version is approved: teamvars runner update {rules.runner} --sensitive"
        )
    (made.notes if rules.allow_missing else made.faults).extend(made.missing)
    return made


def chosen(variables: Sequence[K], only: Sequence[str]) -> Iterator[K]:
    """Those whose keys one of the patterns matches; all, without one."""
    globs = Globs(only)
    for one in variables:
        if not only or globs.match(one.key):
            yield one


def agreed(address: Address, workspace: Owner, names: Sequence[str]) -> list[str]:
    """Those of the names that may be taken. Asks about what was not agreed to before, on a
    terminal; a yes is kept."""
    if not names:
        return []
    key = f"{address} {workspace.id}"
    known = accounts.read_at_home(Settings).agreed_names.get(key, [])

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
