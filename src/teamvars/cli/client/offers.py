"""What a shell offers for a word that somebody is typing, looked up in the service.

Only plain names: some shells evaluate what they are given. Who cannot be asked, or not in time,
offers nothing.
"""

import io
import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import typer

from teamvars.cli.client import reading, user_files
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.held import all_held, held, place_of
from teamvars.cli.client.place import Where
from teamvars.cli.client.user_files import Settings
from teamvars.cli.failures import Failure

_SECONDS = 2
"""For all that is looked up: somebody waits at the keyboard."""

_PLAIN = re.compile(r"[A-Za-z0-9_.:+@][A-Za-z0-9_.:+@-]*")
"""What is neither code to a shell nor an option to a command."""


def offers(kind: str, context: typer.Context, incomplete: str) -> list[str]:
    """The words of a kind that begin with what was typed."""
    try:
        # What is said on the way would stand in the line that is being typed.
        with redirect_stderr(io.StringIO()), in_time(_SECONDS):
            found = [*_KINDS[kind](context, incomplete)]
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


def _api(context: typer.Context) -> Api:
    said: dict[str, Any] = {name: context.params.get(name) for name in _SAID}
    return connect(Where(**said, timeout=str(_SECONDS)))


_SAID = ("address", "organization", "workspace", "account", "proxy")


def _workspaces(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Names; behind a comma those that may follow."""
    before, comma, _ = incomplete.rpartition(",")
    for one in reading.workspaces(_api(context)):
        yield f"{before}{comma}{one['attributes']['name']}"


def _organizations(context: typer.Context, _: str) -> list[str]:
    return reading.organizations(_api(context))


def _teams(context: typer.Context, _: str) -> Iterator[str]:
    api = _api(context)
    for one in api.pages(at("organizations", api.target.organization_name, "teams")):
        yield one["attributes"]["name"]


def _keys(context: typer.Context, _: str) -> Iterator[str]:
    """Those of the workspaces that the command is for, or of the one that it copies from."""
    api, source = _api(context), context.params.get("source")
    if source is None:
        founds = all_held(api)
    else:
        founds = [held(api, place_of(reading.workspace(api, source)))]
    for found in founds:
        yield from (variable.key for variable in found.variables)


def _categories(*_: object) -> tuple[str, ...]:
    return "env", "tool"


def _accounts(*_: object) -> Iterable[str]:
    return [name for name, one in user_files.read(Settings).accounts.items() if one.address]


def _commands(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Programs; behind the first word the shell offers files, as it does by itself."""
    if context.params.get("command") or not incomplete:
        return
    for folder in os.get_exec_path():
        try:
            found = [*Path(folder).glob(f"{incomplete.translate(_NO_GLOB)}*")]
        except OSError:
            continue
        yield from (path.name for path in found if os.access(path, os.X_OK) and path.is_file())


_NO_GLOB = {ord(char): None for char in "*?[]/"}

_KINDS: dict[str, Any] = {
    "account": _accounts,
    "category": _categories,
    "command": _commands,
    "key": _keys,
    "organization": _organizations,
    "team": _teams,
    "workspace": _workspaces,
}
