"""Files that a command is given, read into what they say variables should be."""

import re
from pathlib import Path
from typing import NamedTuple

from teamvars.cli.asking import text_of
from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.contents import category_of
from teamvars.cli.client.options import category_option
from teamvars.cli.exits import INVALID, Failure, Misuse
from teamvars.cli.options import OneOf, argument, flag, option, together
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, Item, ParsedFile, parse

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
        raise Misuse(f"The format of {path} is unknown. Give --format.")
    return found
