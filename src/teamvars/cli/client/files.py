"""`vars export`, and files that commands are given, read into what they say variables should be."""

import re
from pathlib import Path
from typing import NamedTuple

from teamvars.cli.asking import text_of
from teamvars.cli.client.api import Api
from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.contents import category_of, contents_of
from teamvars.cli.client.options import (
    allow_missing_option,
    category_option,
    connected,
    skip_invalid_keys_option,
)
from teamvars.cli.exits import INVALID, Failure, Misuse
from teamvars.cli.options import OneOf, argument, command, flag, option, together
from teamvars.cli.output import note, say_text
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, Item, ParsedFile, parse
from teamvars.variable_files.writing import Writing, write

prune_option = flag("--prune", "Delete what the file does not have, of its category.")

_WORD = re.compile(r"true|false|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_ENDINGS = {
    ".env": Format.DOTENV,
    ".tfvars": Format.TFVARS,
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
}


class Source(NamedTuple):
    """A file that a command is given, and what the command was told of it."""

    path: str
    form: Format | None
    category: str | None


source_options = together(
    "source",
    Source,
    path=argument("path", ".env, .tfvars, JSON or YAML; - is standard input.", metavar="FILE"),
    form=option("--format", "How it is written.", "form", type=OneOf(Format)),
    category=category_option,
)


def parsed(path: str, file_format: Format | None) -> ParsedFile:
    """What a file defines; its name tells the format unless it is given. Fails with all faults."""
    found = parse(file_format or _format(path), text_of(path))
    if found.faults:
        lines = [f"{path}:{one.line}:{one.column}: {one.detail}" for one in found.faults]
        raise Failure("\n".join(lines), INVALID)
    return found


def dotenv(path: str) -> dict[str, str]:
    """The values of an environment file by name."""
    return {item.key: item.value for item in parsed(path, Format.DOTENV).items}


def wanted_in(source: Source) -> tuple[Category, list[Wanted]]:
    """What a file says variables should be, all of the one category: its format's unless given."""
    of, found = category_of(source.category), parsed(source.path, source.form)
    of = of or found.category
    refused = [item for item in found.items if of is Category.ENV and not _is_text(item)]
    if refused:
        lines = [
            f"{source.path}:{one.line}:{one.column}: {one.key} is not a string, and an environment "
            "variable must be one."
            for one in refused
        ]
        raise Failure("\n".join(lines), INVALID)
    return of, [
        Wanted(item.key, of, item.value, of is Category.TOOL and item.hcl) for item in found.items
    ]


def _is_text(item: Item) -> bool:
    """Whether it is a text, or a number or bool, which is written like one."""
    return not item.hcl or _WORD.fullmatch(item.value) is not None


def _format(path: str) -> Format:
    name = Path(path).name
    if name == ".env" or name.startswith(".env."):
        return Format.DOTENV
    found = _ENDINGS.get(Path(name).suffix)
    if found is None:
        known = ", ".join(Format)
        raise Misuse(f"The format of {path} is unknown. Give --format, one of {known}.")
    return found


@command
@option("--format", "How to write it.", "form", required=True, type=OneOf(Writing))
@category_option
@allow_missing_option
@skip_invalid_keys_option
@option(
    "--interpolate/--no-interpolate",
    "Whether the reader of a dotenv file replaces what follows a '$', or reads escapes.",
    default=True,
)
@flag("--effective", "All that a run gets, from variable sets as well.")
@connected("organization", "workspace", "set")
def export(
    api: Api,
    form: Writing,
    category: str | None,
    allow_missing: bool,
    skip_invalid_keys: bool,
    interpolate: bool,
    effective: bool,
) -> None:
    """Print variables as a file.

    dotenv and shell take env variables, tfvars and JSON those of the tool; --category takes the
    others. In an environment, variables of the tool are called TF_VAR_…. A comment in the file
    names the sensitive ones that --allow-missing leaves out.

    Example: teamvars vars export --format shell --allow-missing
    """
    found = contents_of(api, effective=effective)
    of = category_of(category) or form.category
    chosen = found.in_category(of)
    if others := len(found.variables) - len(chosen):
        note(f"{others} of another category than {found.word(of)} are left out (--category).")
    missing = [one for one in chosen if one.value is None]
    written = write(
        form,
        [one for one in chosen if one.value is not None],
        interpolate=interpolate,
        missing=[one.key for one in missing],
    )
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
