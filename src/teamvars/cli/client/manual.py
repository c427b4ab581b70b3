"""`manual`: the manual page, made of what `--help` says."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from teamvars.cli.exits import MEANINGS
from teamvars.cli.output import say
from teamvars.cli.variables import ADDRESS, ORGANIZATION, PROXY, TOKEN, WORKSPACE

_ENVIRONMENT = {
    ADDRESS: "The service, such as https://host:8443.",
    TOKEN: "The token; it is sent to that address, or to --address, alone.",
    ORGANIZATION: "The organization.",
    WORKSPACE: "The workspace.",
    PROXY: "As --proxy.",
    "SSL_CERT_FILE": "The certificates of authorities that are trusted.",
    "NO_COLOR": "If it is set, nothing is coloured.",
}
_FILES = {
    ".teamvars/link.toml": "Which workspace a folder is for.",
    "$XDG_CONFIG_HOME/teamvars": "Your settings and, where there is no keyring, tokens; "
    "~/.config without it.",
}


def manual(context: typer.Context) -> None:
    """Print the manual page: all commands with their options.

    To read it: teamvars manual | man -l -

    Example: teamvars manual
    """
    root: Any = context.find_root().command
    for line in _page(root, context):
        say(line)


def _page(root: Any, context: typer.Context) -> Iterator[str]:
    yield '.TH TEAMVARS 1 "" "" "teamvars"'
    yield from (".SH NAME", rf"teamvars \- {_roff(_sentence(root.help))}")
    yield from (
        ".SH SYNOPSIS",
        r"\fBteamvars\fR \fICOMMAND\fR [\fIOPTION\fR...] [\fIARGUMENT\fR...]",
    )
    yield ".SH COMMANDS"
    for words, command in _commands(root, "teamvars"):
        yield from _about(words, command, context)
    codes = {str(code): meaning for code, meaning in MEANINGS.items()}
    for heading, terms in (
        ("EXIT STATUS", codes),
        ("ENVIRONMENT", _ENVIRONMENT),
        ("FILES", _FILES),
    ):
        yield f".SH {heading}"
        for term, meaning in terms.items():
            yield from _term(term, meaning)


def _commands(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    """All commands below a group, each with its words, whole."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        own = f"{words} {name}"
        load = getattr(command, "load", None)
        if load is not None:
            yield own, load()
        if isinstance(command, TyperGroup):
            yield from _commands(command, own)


def _about(words: str, command: Any, context: typer.Context) -> Iterator[str]:
    own = typer.Context(command, info_name=words, parent=None)
    yield f'.SS "{_roff(" ".join([words, *command.collect_usage_pieces(own)]))}"'
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _roff(paragraph))
    for parameter in command.get_params(own):
        record = parameter.get_help_record(own)
        if record is not None and record[0] != "--help":
            yield from _term(*record)


def _term(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_roff(term)}\fR", _roff(meaning))


def _sentence(text: str | None) -> str:
    return (text or "").removesuffix(".")


def _roff(text: str) -> str:
    """The text as roff takes it: nothing in it is a request or an escape."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    plain = plain.replace("…", "...")  # which not every device of roff has
    return re.sub(r"^(?=[.'])", r"\\&", plain)
