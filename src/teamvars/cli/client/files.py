"""Files that a command is given, read into what they say variables should be."""

import re
from pathlib import Path
from typing import Annotated

import typer

from teamvars.cli.client.inputs import text_of
from teamvars.cli.client.wanted import Wanted
from teamvars.cli.exits import INVALID, USAGE
from teamvars.cli.failures import Failure
from teamvars.domain.variables import Category
from teamvars.variable_files import Format, Item, ParsedFile, parse

File = Annotated[
    str, typer.Argument(metavar="FILE", help=".env, .tfvars, JSON or YAML; - is standard input.")
]
Written = Annotated[Format | None, typer.Option("--format", help="How it is written.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete what the file does not have, of its category.")
]

_WORD = re.compile(r"true|false|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_ENDINGS = {
    ".env": Format.DOTENV,
    ".tfvars": Format.TFVARS,
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
}


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


def wanted(
    path: str, file_format: Format | None, category: Category | None
) -> tuple[Category, list[Wanted]]:
    """What a file says variables should be, all of the one category: its format's unless given."""
    found = parsed(path, file_format)
    of = category or found.category
    refused = [item for item in found.items if of is Category.ENV and not _is_text(item)]
    if refused:
        lines = [
            f"{path}:{one.line}:{one.column}: {one.key} is no text, and an environment variable "
            "is nothing else."
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
        raise Failure(f"Nothing tells how {path} is written. Give --format.", USAGE)
    return found
