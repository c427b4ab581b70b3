"""`audit list` and `export`."""

import asyncio
import re
import sys
from contextlib import suppress
from datetime import datetime
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.exits import ERROR, USAGE
from teamvars.cli.operator.audit_entries import names_in, print_entry, print_table
from teamvars.cli.operator.context import run
from teamvars.cli.output import fail, note
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, AuditQuery, Position
from teamvars.domain.names import is_safe
from teamvars.domain.times import microseconds

FOLLOW_SECONDS = 1.0
_CURSOR = re.compile(r"(-?[0-9]{1,19})/(.+)/([0-9]{1,19})")
_MOST = 2**63 - 1  # what a column holds
_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(r"([0-9]{1,6})([wdhms])")


def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many entries.")] = 50,
    actor: Annotated[
        str | None,
        typer.Option(help="By this user, organization, ORG/TEAM, id or operator:ACCOUNT alone."),
    ] = None,
    action: Annotated[str | None, typer.Option(help="Such as variable.create.")] = None,
    request: Annotated[
        str | None,
        typer.Option(help="Only of the request with this X-Request-Id, as in the log."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="To what has this name, key or id alone.")
    ] = None,
    workspace: Annotated[str | None, typer.Option(help="In or to this ORG/WORKSPACE.")] = None,
    team: Annotated[str | None, typer.Option(help="In or to this ORG/TEAM.")] = None,
    organization: Annotated[
        str | None, typer.Option(help="In or to this organization and all that is in it.")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="Of the stream with this id alone.")] = None,
    since: Annotated[
        str | None, typer.Option(help="From then on: 2d, 12h, 30m, or 2030-12-31T23:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before then, written as --since.")] = None,
    before: Annotated[str | None, typer.Option(help="The cursor of the last entry seen.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print lines of JSON on a terminal too.")
    ] = False,
) -> None:
    """Show the newest entries: a table on a terminal, else one JSON object a line."""
    texts = {
        "actor": actor,
        "action": action,
        "request": request,
        "subject": subject,
        "workspace": workspace,
        "team": team,
        "organization": organization,
        "stream": stream,
    }
    for name, text in texts.items():
        if text is not None and not is_safe(text):
            fail(f"--{name} has a character that does something instead of being seen.", USAGE)
    query = AuditQuery(
        **texts,
        since=_moment("--since", since),
        until=_moment("--until", until),
        before=None if before is None else _position(before),
    )
    found, names = run(context, lambda services, _: services.audit.find(limit, query))
    if as_json or not sys.stdout.isatty():
        shown = [
            print_entry(entry, names=names_in(entry, names), cursor=_cursor(entry))
            for entry in found
        ]
        is_whole = all(shown)
    else:
        is_whole = print_table(found, names)
        if len(found) == limit:
            note(f"There may be older ones: --before {_cursor(found[-1])}")
    if not is_whole:
        raise typer.Exit(ERROR)


def export(
    context: typer.Context,
    follow: Annotated[bool, typer.Option(help="Go on with new entries until Ctrl-C.")] = False,
) -> None:
    """Print all entries, one JSON object a line, oldest first within each stream."""

    touched = 0

    async def work(services: wiring.Services, _: Caller) -> None:
        nonlocal touched
        known: dict[str, int] = {}
        while True:
            async for entry in services.audit.export(known):
                links = {"previous": entry.previous, "link": entry.link}
                touched += not print_entry(entry, version=entry.version, key=entry.key_id, **links)
            if not follow:
                return
            await asyncio.sleep(FOLLOW_SECONDS)

    with suppress(KeyboardInterrupt):
        run(context, work)
    if touched:
        raise typer.Exit(ERROR)


def _cursor(entry: AuditEntry) -> str:
    return f"{entry.at}/{entry.stream_id}/{entry.sequence}"


def _moment(option: str, said: str | None) -> int | None:
    """When that is, in µs UTC: so long ago, or a time of ISO 8601, which is UTC without a zone."""
    if said is None:
        return None
    if found := _DURATION.fullmatch(said):
        return wiring.clock() - int(found[1]) * _SECONDS[found[2]] * 1_000_000
    try:
        return microseconds(datetime.fromisoformat(said))
    except ValueError:
        fail(f"{option} is a duration such as 2d, 12h or 30m, or a time of ISO 8601.", USAGE)


def _position(cursor: str) -> Position:
    found = _CURSOR.fullmatch(cursor)
    if not found or max(abs(int(found[1])), int(found[3])) > _MOST or not is_safe(cursor):
        fail("--before is the cursor of an entry that 'audit list' printed.", USAGE)
    return Position(int(found[1]), found[2], int(found[3]))
