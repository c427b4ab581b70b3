"""`run`: a command with the variables of a workspace.

In a job that proves what it is, they are sealed to that job and delivered, sensitive ones as well.
A person reads what people may read.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import click

from teamvars.cli import named
from teamvars.cli.client import terraform
from teamvars.cli.client.api import WORKSPACE_ID, Api, accounts, connect
from teamvars.cli.client.api.accounts import Machine
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.targets import JobTarget, Where, has_token, target_of_job
from teamvars.cli.client.contents import Owner, contents_of
from teamvars.cli.client.environments import (
    Rules,
    WorkspaceVariable,
    agreed,
    chosen,
    environment,
    steering,
)
from teamvars.cli.client.jobs import GITHUB, Asked, Here, Place, lacking, place
from teamvars.cli.client.options import (
    allow_missing_option,
    offered,
    placed,
    require_said,
    skip_invalid_keys_option,
)
from teamvars.cli.commands import SERVER_KEY, WORKSPACE
from teamvars.cli.exits import NOT_STARTED, UNAUTHENTICATED, Failure, Misuse, writing
from teamvars.cli.options import flag, json_flag, option, together, wants_json
from teamvars.cli.output import Row, note, show
from teamvars.cli.starting import Starter, Values, become, command_argument, own_environment
from teamvars.origins import origin

_FEWEST = 4
"""Characters: what is shorter is part of too much else."""


class Found(NamedTuple):
    """The variables of a workspace. `place`: where they were delivered to, by that `runner`; None:
    to nobody, a person has read them.
    """

    service: Address
    workspace: Owner
    variables: Sequence[WorkspaceVariable]
    place: Place | None = None
    runner: str | None = None


class Giving(NamedTuple):
    """How the command is to be given what was delivered."""

    tf_var: bool
    no_mask: bool


@click.command(cls=Starter)
@command_argument(shell_complete=offered("command"))
@option("--only", "Only variables like this.", multiple=True, metavar="GLOB")
@option("--with", "A dotenv file with values of sensitive variables.", "file", metavar="FILE")
@option("--allow-env", "Accept this name from the workspace.", multiple=True, metavar="NAME")
@allow_missing_option
@skip_invalid_keys_option
@flag("--explain", "Start nothing: show who would be handed which variable.")
@json_flag("With --explain, print JSON.")
@together(
    "giving",
    Giving,
    tf_var=flag("--tf-var", "Give terraform TF_VAR_… instead of a -var-file."),
    no_mask=flag("--no-mask", "Do not have GitHub mask values in its log."),
)
@placed("organization", "workspace")
def run(
    where: Where,
    command: Sequence[str],
    only: Sequence[str],
    file: str | None,
    allow_env: Sequence[str],
    allow_missing: bool,
    skip_invalid_keys: bool,
    explain: bool,
    giving: Giving,
) -> None:
    """Run a command with the variables in its environment.

    A job of an approved runner is handed all values, sealed to it alone: terraform gets its
    variables as a -var-file in memory. For a person they are called TF_VAR_…, and sensitive values
    are not handed out. The exit code is the command's; 125 means that it was not started.

    Example: teamvars run --allow-missing -- env
    """
    try:
        require_said({"with": file})
        rules = Rules(only, allow_env, allow_missing, skip_invalid_keys)
        if explain:
            show(*_explained(where, only))
            return
        if wants_json():
            raise Misuse("--json is for --explain: a command prints what it likes.")
        if not command:
            raise Failure("There is no command. Put it after --: teamvars run -- terraform plan")
        values = _environment(where, command, file, rules, giving)
    except Failure as failure:
        failure.code = NOT_STARTED
        raise
    except Exception as error:
        raise Failure(f"unexpected {origin(error)}", NOT_STARTED) from None
    become(command, values)


def _environment(
    where: Where, command: Sequence[str], file: str | None, rules: Rules, giving: Giving
) -> Values:
    # Only here: what reads files takes a while to load.
    given = named("teamvars.cli.client.files:dotenv")(file) if file is not None else {}
    found = _found(where, rules.only, giving)
    in_file = found.place is not None and not giving.tf_var
    rules = rules._replace(in_file=in_file, runner=found.runner)
    taken = agreed(found.service, found.workspace, steering(found.variables, rules))
    rules = rules._replace(allow_env=[*rules.allow_env, *taken])
    made = environment(found.variables, own_environment(), given, rules)
    made.faults += terraform.contradictions(
        [*chosen(found.variables, rules.only)], command, made.values
    )
    if made.faults:
        raise Failure("\n".join(made.faults))
    for text in made.notes:
        note(text)
    if _is_masked(found.place, giving):
        _mask(one.value for one in found.variables if one.sensitive and one.value is not None)
    return terraform.with_file(made.tools, command, made.values) if made.tools else made.values


def _is_masked(here: Place | None, giving: Giving) -> bool:
    """Whether the log here is told which values to hide."""
    return here is not None and here.name == GITHUB and not giving.no_mask


def _found(where: Where, only: Sequence[str], giving: Giving) -> Found:
    """The variables, delivered to this job if it is one, and says on stderr whose they are."""
    target = target_of_job(where)
    here = _job(target)
    if target is None or here is None:
        api = _as_person(where, target)
        contents = contents_of(api, effective=True)
        note(f"A person ({api.target.token.origin}): sensitive values are not handed out.")
        return Found(api.target.address, contents.owner, contents.variables)
    if _is_masked(here, giving):
        _require_log()  # before anything is delivered
    workspace = _workspace(where, target)
    # Only here: what opens a bundle takes a while to load.
    handed = named("teamvars.cli.client.deliveries:handed")(_asked(target, workspace, only), here)
    runner = handed.info.runner
    bound = "" if handed.is_bound else ", not bound to this job"
    note(f"{here.name}: delivered {workspace.name} by the runner {runner}{bound}.")
    return Found(target.address, workspace, handed.variables, here, runner)


def _explained(where: Where, only: Sequence[str]) -> tuple[object, Iterable[Row]]:
    """What a person is told of everybody who is handed something; a job, of itself alone."""
    target = target_of_job(where)
    here = _job(target)
    # Only here: what knows runners takes a while to load.
    if target is None or here is None or has_token(target.address):
        told = named("teamvars.cli.client.explaining:explained")(_as_person(where, target), only)
    else:
        asked = _asked(target, _workspace(where, target), only)
        told = named("teamvars.cli.client.explaining:explained_to_job")(asked, here)
    found: tuple[object, Iterable[Row]] = told
    return found


def _job(target: JobTarget | None) -> Place | None:
    """Where this runs as a job; None where a person has to say who they are."""
    if target is None:
        return None
    here = place(_here(target))
    return here if here is not None and _is_pinned(target) else None


def _here(target: JobTarget) -> Here:
    return Here(os.environ, target.address, target.travel)


def _asked(target: JobTarget, workspace: Owner, only: Sequence[str]) -> Asked:
    return Asked(target.address, target.travel, workspace.id, only, target.pins or "")


def _as_person(where: Where, target: JobTarget | None) -> Api:
    """The service, for whoever has logged in; where nobody has, it is told what else is missing."""
    try:
        return connect(where)
    except Failure as failure:
        is_logged_out = target is None or failure.code == UNAUTHENTICATED
        told = _missing(target) if is_logged_out and where.account is None else None
        if told is None:
            raise
        raise Failure(f"{failure}\n{told}") from None


def _missing(target: JobTarget | None) -> str | None:
    """What a job may lack to be one: a token of its issuer, or that its machine's key is for this
    service. `target`: None where nothing says which service.
    """
    if target is not None and (told := lacking(_here(target))):
        return told
    known = accounts.read(Machine).addresses
    if not known:
        return None
    what = "say which, with --address."
    if target is not None:
        what = (
            f"for {target.address} as well, run: teamvars runner init "
            f"--address {target.address} --server-key KEY"
        )
    return f"The key of this machine is for {' and '.join(known)}: {what}"


def _is_pinned(target: JobTarget) -> bool:
    """Whether it is known whose signature counts. Without it, what people are told goes on; fails
    where nobody has logged in.
    """
    if target.pins is None and not has_token(target.address):
        raise Failure(
            f"Nothing says with which key {target.address} signs what it delivers. Set "
            f"{SERVER_KEY} to what 'teamvars server-key show' prints on its host; a machine stores "
            "it with: teamvars runner init --server-key KEY"
        )
    return target.pins is not None


def _workspace(where: Where, target: JobTarget) -> Owner:
    """The workspace: a job names it by its id, since only people may look for names."""
    if target.workspace is not None and WORKSPACE_ID.fullmatch(target.workspace.value):
        return Owner(target.workspace.value, target.workspace.value)
    if not has_token(target.address):
        raise Failure(
            f"A job names its workspace by its id: set {WORKSPACE} to ws-…, as 'teamvars "
            "workspace list' shows it."
        )
    found = connect(where).workspace()
    return Owner(found["id"], found["attributes"]["name"])


def _require_log() -> None:
    """Fails where both streams are one pipe. GitHub's runner gives each its own, so it may be that
    somebody else reads this one, as with `2>&1 | tee`; without the `| tee` nobody can tell.
    """
    out, err = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    if stat.S_ISFIFO(err.st_mode) and os.path.samestat(out, err):
        raise Misuse(
            "Standard output and standard error are one pipe, so masks might go elsewhere than "
            "into the log, with the values: leave out 2>&1, or give --no-mask."
        )


def _mask(values: Iterable[str]) -> None:
    """Has the log of GitHub Actions show none of these values.

    The runner reads both streams. What goes into a file stays there: then nothing is said.
    """
    commands = [f"::add-mask::{_escaped(one)}\n" for one in _masked(values)]
    if not commands:
        return
    if stat.S_ISREG(os.fstat(sys.stderr.fileno()).st_mode):
        note("Values are not masked in the log: standard error goes into a file.")
        return
    with writing(sys.stderr):
        sys.stderr.flush()
        sys.stderr.buffer.write("".join(commands).encode())
        sys.stderr.buffer.flush()


def _masked(values: Iterable[str]) -> Iterator[str]:
    """Each value, and each line of one that has several, once."""
    found = (text for value in values for text in (value, *value.splitlines()))
    for text in dict.fromkeys(found):
        if len(text.strip()) >= _FEWEST:
            yield text


def _escaped(text: str) -> str:
    """As a command of the runner's has it: one line, which begins no other command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
