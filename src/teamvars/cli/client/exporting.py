"""`vars export`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from teamvars.cli.client.api import connect
from teamvars.cli.client.held import category_of, held
from teamvars.cli.client.options import AllowMissing, CategoryWord, SkipInvalidKeys, placed
from teamvars.cli.client.place import Where
from teamvars.cli.client.printing import say_text
from teamvars.cli.exits import INVALID
from teamvars.cli.failures import Failure
from teamvars.cli.output import note
from teamvars.domain.variables import Variable
from teamvars.variable_files.writing import Unwritten, Writing, write


@placed("organization", "workspace")
def export(
    where: Where,
    form: Annotated[Writing, typer.Option("--format", help="How to write it.")],
    category: CategoryWord = None,
    allow_missing: AllowMissing = False,
    skip_invalid_keys: SkipInvalidKeys = False,
    interpolate: Annotated[
        bool,
        typer.Option(
            "--interpolate/--no-interpolate",
            help="Whether the reader of a dotenv file replaces what follows a '$'.",
        ),
    ] = True,
) -> None:
    """Print variables as a file.

    These are env ones as dotenv or shell, the tool's own as tfvars or JSON; --category takes the
    others. In an environment the tool's own are called TF_VAR_….

    Example: teamvars vars export --format shell --allow-missing
    """
    found = held(connect(where))
    of = category_of(category) or form.category
    chosen = [one for one in found.variables if one.category is of]
    if others := len(found.variables) - len(chosen):
        note(f"{others} of another category than {found.word(of)} are not in it (--category).")
    missing = [one for one in chosen if one.value is None]
    written = write(form, [one for one in chosen if one.value is not None], interpolate=interpolate)
    invalid = [one for one in written.unwritten if one.by_key]
    unfit = [one for one in written.unwritten if not one.by_key]
    refused = [
        *_refused_missing([] if allow_missing else missing),
        *_refused_keys([] if skip_invalid_keys else invalid),
        *_lines(unfit),
    ]
    if refused:
        raise Failure("\n".join(refused), INVALID)
    for key in (*(one.key for one in missing), *(one.key for one in invalid)):
        note(f"{key} is left out.")
    say_text(written.text)


def _refused_missing(missing: Sequence[Variable]) -> list[str]:
    if not missing:
        return []
    names = ", ".join(one.key for one in missing)
    return [f"Sensitive, so that nobody can read them (--allow-missing leaves them out): {names}"]


def _refused_keys(invalid: Sequence[Unwritten]) -> list[str]:
    return [f"{line} (--skip-invalid-keys leaves it out)." for line in _lines(invalid)]


def _lines(unwritten: Sequence[Unwritten]) -> list[str]:
    return [f"{one.key}: {one.detail}" for one in unwritten]
