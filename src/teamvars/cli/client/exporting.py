"""`vars export`."""

from teamvars.cli.client.api import Api
from teamvars.cli.client.contents import category_of, contents_of
from teamvars.cli.client.options import (
    allow_missing_option,
    category_option,
    connected,
    skip_invalid_keys_option,
)
from teamvars.cli.exits import INVALID, Failure
from teamvars.cli.options import OneOf, command, option
from teamvars.cli.output import note, say_text
from teamvars.variable_files.writing import Writing, write


@command
@option("--format", "How to write it.", "form", required=True, type=OneOf(Writing))
@category_option
@allow_missing_option
@skip_invalid_keys_option
@option(
    "--interpolate/--no-interpolate",
    "Whether the reader of a dotenv file replaces what follows a '$'.",
    default=True,
)
@connected("organization", "workspace")
def export(
    api: Api,
    form: Writing,
    category: str | None,
    allow_missing: bool,
    skip_invalid_keys: bool,
    interpolate: bool,
) -> None:
    """Print variables as a file.

    dotenv and shell take env variables, tfvars and JSON those of the tool; --category takes the
    others. In an environment, variables of the tool are called TF_VAR_….

    Example: teamvars vars export --format shell --allow-missing
    """
    found = contents_of(api)
    of = category_of(category) or form.category
    chosen = [one for one in found.variables if one.category is of]
    if others := len(found.variables) - len(chosen):
        note(f"{others} of another category than {found.word(of)} are left out (--category).")
    missing = [one for one in chosen if one.value is None]
    written = write(form, [one for one in chosen if one.value is not None], interpolate=interpolate)
    invalid = [one for one in written.unwritten if one.by_key]
    unfit = [one for one in written.unwritten if not one.by_key]
    refused = []
    if missing and not allow_missing:
        names = ", ".join(one.key for one in missing)
        text = "Sensitive, so that nobody can read them (--allow-missing leaves them out)"
        refused.append(f"{text}: {names}")
    if not skip_invalid_keys:
        hint = "(--skip-invalid-keys leaves it out)"
        refused += [f"{one.key}: {one.detail} {hint}." for one in invalid]
    refused += [f"{one.key}: {one.detail}" for one in unfit]
    if refused:
        raise Failure("\n".join(refused), INVALID)
    for key in [*(one.key for one in missing), *(one.key for one in invalid)]:
        note(f"{key} is left out.")
    say_text(written.text)
