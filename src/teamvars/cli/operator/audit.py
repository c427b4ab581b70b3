"""`audit list`, `verify`, `head` and `export`."""

import asyncio
import json
import re
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.audit_entries import as_line, names_in, print_entry, print_table
from teamvars.cli.operator.context import run
from teamvars.cli.output import DIFFERENCES, ERROR, USAGE, fail, note, say
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, AuditQuery, Head, Position
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


def verify(
    context: typer.Context,
    heads: Annotated[
        Path | None, typer.Option(help="What 'audit head' printed once, kept elsewhere.")
    ] = None,
) -> None:
    """Prove that nobody has touched the trail; exit with 3 when somebody has."""
    kept = [] if heads is None else _read_heads(heads)
    checked, breaks = run(context, lambda services, _: services.audit.verify(kept))
    for found in breaks:
        say(f"{found.stream_id} entry {found.sequence}: {found.reason}")
    if breaks:
        raise typer.Exit(DIFFERENCES)
    note(f"{checked} streams hold.")
    if heads is None:
        note("A rollback of the whole database would show only against heads kept elsewhere.")


def head(context: typer.Context) -> None:
    """Print where each stream stands, one JSON object a line, to be kept elsewhere."""
    is_whole = True
    for one in run(context, lambda services, _: services.audit.heads()):
        line = {"stream": one.stream_id, "sequence": one.sequence, "link": one.link}
        if not isinstance(one.link, bytes):
            note(f"teamvars: the row of stream {one.stream_id} was touched: link")
            is_whole = False
        say(as_line(line))
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


def _read_heads(path: Path) -> list[Head]:
    try:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [
            Head(line["stream"], int(line["sequence"]), bytes.fromhex(line["link"]))
            for line in lines
        ]
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError):
        fail(f"{path} is not what 'audit head' prints.", USAGE)
