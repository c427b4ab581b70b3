"""`migrate-from hcp`: what an organization of HCP Terraform holds, made here."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from teamvars.cli import asking
from teamvars.cli.client import unread_values
from teamvars.cli.client.api import Api
from teamvars.cli.client.api.addresses import address
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import Given, Target, Token, sendable
from teamvars.cli.client.changes import NOTHING, How, carried_out, how_options, number, require_none
from teamvars.cli.client.holdings import Holdings
from teamvars.cli.client.moves import Mover, Plan, faults, filled, plan, stated, told
from teamvars.cli.client.options import connected, require_said
from teamvars.cli.commands import SOURCE
from teamvars.cli.exits import (
    DIFFERENCES,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    UNAUTHENTICATED,
    Failure,
    Misuse,
)
from teamvars.cli.options import command, flag, option, together
from teamvars.cli.output import aligned, note, show, telling
from teamvars.domain.names import escaped

_REFUSED = {
    UNAUTHENTICATED: "does not take the token. It may have expired",
    FORBIDDEN: "does not let the token read that. It has to be one of an owner",
    NOT_FOUND: "has no such organization, or does not show it to the token",
}


class Source(NamedTuple):
    """Where to read from, and how to go about it."""

    source_address: str
    source_organization: str | None
    source_token_file: str | None
    secrets: str | None
    invite: bool


source_options = together(
    "source",
    lambda **said: _source(**said),
    source_address=option(
        "--source-address",
        "The service to move from.",
        default="https://app.terraform.io",
    ),
    source_organization=option(
        "--source-organization", "What the organization is called there, if not as here."
    ),
    source_token_file=option(
        "--source-token-file",
        f"The file that has the token for there, - for standard input; else {SOURCE} has it.",
        metavar="FILE",
    ),
    secrets=option(
        "--secrets",
        "The file of values that cannot be read there: made for you to fill in, then read.",
        metavar="FILE",
    ),
    invite=flag("--invite", "Invite its members by e-mail as well, into the same teams."),
)


def _source(**said: Any) -> Source:
    require_said({name.replace("_", "-"): value for name, value in said.items()})
    return Source(**said)


@command
@source_options
@how_options
@connected("organization")
def hcp(api: Api, source: Source, how: How) -> None:
    """Move in from HCP Terraform, or from its like.

    It reads projects, workspaces, teams, their access, variable sets and variables of an
    organization there, shows what it would make and change here, and asks. Nothing is deleted, here
    or there, and a second run does nothing. The organization has to be here already.

    Example: teamvars migrate-from hcp --source-address app.terraform.io --source-token-file -
    """
    name, other = api.organization, _other(api, source)
    file = Path(source.secrets) if source.secrets else None
    values = unread_values.read(file) if file else {}
    note(f"Reading {other.target.title}.")
    with _spoken(other):
        there = stated(Holdings(other, other.organization, with_members=source.invite), note)
    here = Holdings(api, name, with_members=source.invite)
    stating = filled(there, values)
    if found := faults(stating, here):
        raise Failure("\n".join([*found, "Nothing was changed."]), INVALID)
    planned = plan(stating, here, api)
    _tell(planned, how)
    _tell_missing(planned, file)
    if not planned.steps and not planned.variables:
        note(NOTHING)
    elif not how.dry_run:
        asking.confirm(f"Do this in {name} on {api.target.address}?", yes=how.yes)
        _carry_out(api, here, planned)
    show(_fields(planned), told(planned) if how.dry_run else ())
    if how.dry_run and (planned.steps or planned.variables):
        sys.exit(DIFFERENCES)


def _other(api: Api, source: Source) -> Api:
    """The service to read from. Its token goes to that address alone."""
    if source.source_token_file is None:
        given, origin = os.environ.get(SOURCE, ""), SOURCE
    else:
        given, origin = asking.text_of(source.source_token_file), "--source-token-file"
    if not given.strip():
        raise Misuse(f"There is no token to read with: set {SOURCE}, or --source-token-file.")
    option = "--source-address"
    return Api(
        Target(
            address(source.source_address, option),
            option,
            Token(sendable(given.strip(), origin), origin),
            Given(source.source_organization or api.organization, "--source-organization"),
            travel=api.target.travel,
        )
    )


@contextmanager
def _spoken(other: Api) -> Iterator[None]:
    """In a `with` that reads from the other service: says what is wrong there, not here."""
    where = other.target.address
    try:
        yield
    except ApiError as error:
        if error.code not in _REFUSED:
            raise
        raise Failure(f"{where} {_REFUSED[error.code]}.", error.code) from None
    except (LookupError, TypeError, ValueError, AttributeError):
        text = f"{where} does not answer as HCP Terraform does. Nothing was changed."
        raise Failure(text) from None


def _tell(planned: Plan, how: How) -> None:
    """What is about to happen, for whoever is asked, and what of the other service is not here."""
    if not how.dry_run:
        for line in aligned([*told(planned)]):
            note(line)
    for said in planned.unsaid:
        note(f"Not offered here, and left out: {escaped(said)}.")
    for said in planned.kept:
        note(f"Only here, and kept: tags of {escaped(said)}.")
    note(f"As they should be already: {planned.left}.")


def _tell_missing(planned: Plan, file: Path | None) -> None:
    """Names the variables that cannot be made, in the file if there is one to be."""
    if not planned.missing:
        return
    count = number(len(planned.missing), "sensitive variable")
    if file is None:
        for one in planned.missing:
            note(f"?  {escaped(one.name)}  {escaped(one.key)}  {one.category}")
        note(f"{count} cannot be read there, nor made here. To fill in values: --secrets FILE")
        return
    added = unread_values.add(file, planned.missing)
    note(f"{count} cannot be read there. Fill in {file} ({added} new), and run this again.")


def _carry_out(api: Api, here: Holdings, planned: Plan) -> None:
    """Everything, in order; variables of each workspace and set whole or not at all."""
    api.announce()
    mover = Mover(api, here)
    with telling("What was made before stays. Run the command again to do the rest."):
        for count, step in enumerate(planned.steps, 1):
            mover.carry_out(step)
            note(f"{count} of {len(planned.steps)}: {escaped(' '.join(step.told[:3]))}")
        work = [mover.work(one) for one in planned.variables]
        _, failures = carried_out(api, work, How())
        require_none(failures, f"{len(work)} workspaces and sets")


def _fields(planned: Plan) -> dict[str, Any]:
    """The plan for programs, without values."""
    return {
        "steps": [
            dict(zip(("sign", "type", "name", "changed"), one.told, strict=True))
            for one in planned.steps
        ],
        "variables": [
            {"type": thing.type, "name": thing.name, "key": one.key, "outcome": one.outcome.value}
            for thing, _, changes in planned.variables
            for one in changes
        ],
        "missing": [
            {"type": one.type, "name": one.name, "key": one.key, "category": one.category.value}
            for one in planned.missing
        ],
        "unsaid": planned.unsaid,
        "kept": planned.kept,
        "left": planned.left,
    }
