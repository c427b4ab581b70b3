"""`manual`: the manual page, made of what `--help` says."""

import re
from collections.abc import Iterator

import click

from teamvars.cli.commands import (
    ADDRESS,
    ID_TOKEN,
    ORGANIZATION,
    PROXY,
    SERVER_KEY,
    SOURCE,
    TOKEN,
    WORKSPACE,
)
from teamvars.cli.exits import MEANINGS
from teamvars.cli.options import command
from teamvars.cli.output import say
from teamvars.cli.program import LazyCommand, LazyGroup

_ENVIRONMENT = {
    ADDRESS: "The service, such as https://host:8443.",
    TOKEN: "The token; it is sent to that address, or to --address, alone.",
    ORGANIZATION: "The organization.",
    WORKSPACE: "The workspace.",
    PROXY: "As --proxy.",
    SERVER_KEY: "What 'teamvars server-key show' prints: the keys that sign deliveries.",
    ID_TOKEN: "A token of the job, good for one run; so is each variable of which this is the "
    "beginning.",
    f"{ID_TOKEN}_FILE": "The file that has such a token.",
    SOURCE: "The token with which 'migrate-from' reads from another service.",
    "SSL_CERT_FILE": "The certificates of authorities that are trusted.",
}
_FILES = {
    ".teamvars/link.toml": "Which workspace a folder is for.",
    "$XDG_CONFIG_HOME/teamvars": "Your settings and, where there is no keyring, tokens; "
    "~/.config without it.",
}


@command
def manual() -> None:
    """Print the manual page: all commands with their options.

    To read it: teamvars manual | man -l -

    Example: teamvars manual
    """
    for line in _page(click.get_current_context().find_root().command):
        say(line)


def _page(root: click.Command) -> Iterator[str]:
    yield '.TH TEAMVARS 1 "" "" "teamvars"'
    yield from (".SH NAME", rf"teamvars \- {_roff((root.help or '').removesuffix('.'))}")
    yield from (
        ".SH SYNOPSIS",
        r"\fBteamvars\fR \fICOMMAND\fR [\fIOPTION\fR...] [\fIARGUMENT\fR...]",
    )
    yield ".SH COMMANDS"
    for words, one in _commands(root, "teamvars"):
        yield from _about(words, one)
    codes = {str(code): meaning for code, meaning in MEANINGS.items()}
    for heading, terms in (
        ("EXIT STATUS", codes),
        ("ENVIRONMENT", _ENVIRONMENT),
        ("FILES", _FILES),
    ):
        yield f".SH {heading}"
        for term, meaning in terms.items():
            yield from _term(term, meaning)


def _commands(group: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """All commands below a group, each with its words, whole."""
    for name, one in group.commands.items() if isinstance(group, click.Group) else ():
        whole = f"{words} {name}"
        own = one.own if isinstance(one, LazyGroup) else one
        if isinstance(own, LazyCommand):
            yield whole, own.load()
        yield from _commands(one, whole)


def _about(words: str, command: click.Command) -> Iterator[str]:
    own = click.Context(command, info_name=words, show_default=True)
    yield f'.SS "{_roff(" ".join([words, *command.collect_usage_pieces(own)]))}"'
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _roff(paragraph))
    for parameter in command.get_params(own):
        record = parameter.get_help_record(own)
        if record is not None and record[0] != "--help":
            yield from _term(*record)


def _term(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_roff(term)}\fR", _roff(meaning))


def _roff(text: str) -> str:
    """The text as roff takes it: nothing in it is a request or an escape."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    plain = plain.replace("…", "...")  # which not every device of roff has
    return re.sub(r"^(?=[.'])", r"\\&", plain)
