"""What a shell offers for a word that somebody is typing, looked up in the service.

Only plain names: some shells evaluate what they are given. Who cannot be asked, or not in time,
offers nothing.
"""

import io
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import click

from teamvars.cli.client.api import PROJECT, RUNNER, SET, TEAM, accounts, connect
from teamvars.cli.client.api.accounts import Settings
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.contents import all_contents, source_for
from teamvars.cli.exits import Failure

_SECONDS = 2
"""For all that is looked up: somebody waits at the keyboard."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:+@][A-Za-z0-9_.:+@ -]*")
"""What is neither code to a shell, but for blanks, nor an option to a command."""

_LISTED = {one.commands: one for one in (PROJECT, RUNNER, SET, TEAM)}
"""What an organization lists, by the kind of its names."""

_NO_GLOB = {ord(char): None for char in "*?[]/"}
_SAID = ("address", "organization", "workspace", "set", "account", "proxy")


def offers(kind: str, context: click.Context, incomplete: str) -> list[str]:
    """The words of a kind that begin with what was typed."""
    try:
        # What is said on the way would stand in the line that is being typed.
        with redirect_stderr(io.StringIO()), in_time(_SECONDS):
            found = [*_words(kind, context, incomplete)]
    except (Failure, LookupError, TypeError, AttributeError):  # as of an answer of something else
        return []
    begun = (word for word in found if word.startswith(incomplete))
    return sorted({word for word in begun if _PLAIN.fullmatch(word.replace(",", ""))})


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """In a `with` that fails once so much time has gone by, however many requests it makes."""

    def end(*_: object) -> None:
        raise Failure("It took too long.")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _words(kind: str, context: click.Context, incomplete: str) -> Iterator[str]:
    """All words of a kind."""
    if kind == "category":
        yield from ("env", "tool")
    elif kind == "account":
        yield from (name for name, one in accounts.read(Settings).accounts.items() if one.address)
    elif kind == "command":
        yield from _commands(context, incomplete)
    else:
        yield from _looked_up(kind, context, incomplete)


def _looked_up(kind: str, context: click.Context, incomplete: str) -> Iterator[str]:
    """What the service knows."""
    if kind == "source":
        kind = "set" if context.params.get("from_set") else "workspace"
    said: dict[str, Any] = {name: context.params.get(name) for name in _SAID}
    api = connect(Where(**said, timeout=str(_SECONDS)))
    if kind == "organization":
        yield from api.organizations()
    elif kind in _LISTED:
        yield from (one["attributes"]["name"] for one in _LISTED[kind].seen(api))
    elif kind == "workspace":
        # Behind a comma those that may follow.
        before, comma, _ = incomplete.rpartition(",")
        names = (one["attributes"]["name"] for one in api.workspaces())
        yield from (f"{before}{comma}{name}" for name in names)
    else:
        # Keys: of the workspaces or the set that the command is for, or of what it copies from.
        source = context.params.get("source")
        is_set = context.params.get("from_set", False)
        founds = all_contents(api) if source is None else [source_for(api, source, is_set=is_set)]
        yield from (variable.key for found in founds for variable in found.variables)


def _commands(context: click.Context, incomplete: str) -> Iterator[str]:
    """Programs; behind the first word the shell offers files, as it does by itself."""
    if context.params.get("command") or not incomplete:
        return
    for folder in os.get_exec_path():
        try:
            found = [*Path(folder).glob(f"{incomplete.translate(_NO_GLOB)}*")]
        except OSError:
            continue
        yield from (path.name for path in found if os.access(path, os.X_OK) and path.is_file())
