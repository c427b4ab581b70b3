"""`audit list`, `verify`, `head` and `export`."""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.context import DIFFERENCES, ERROR, USAGE, fail, note, run, say
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, AuditFilter, Head, Position
from teamvars.domain.times import moment

FOLLOW_SECONDS = 1.0
_CURSOR = re.compile(r"(-?[0-9]{1,19})/(.+)/([0-9]{1,19})")
_MOST = 2**63 - 1  # what a column holds


def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many entries.")] = 50,
    stream: Annotated[str | None, typer.Option(help="Of this stream alone.")] = None,
    actor: Annotated[str | None, typer.Option(help="By this user, team, … alone.")] = None,
    action: Annotated[str | None, typer.Option(help="Such as variable.create.")] = None,
    subject: Annotated[str | None, typer.Option(help="To this variable, team, … alone.")] = None,
    before: Annotated[str | None, typer.Option(help="The cursor of the last entry seen.")] = None,
) -> None:
    """Show the newest entries, one JSON object a line."""
    position = None if before is None else _position(before)
    wanted = AuditFilter(stream, actor, action, subject, position)
    found = run(context, lambda services, _: services.audit.newest(limit, wanted))
    whole = [
        _print(entry, cursor=f"{entry.at}/{entry.stream_id}/{entry.sequence}") for entry in found
    ]
    if not all(whole):
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
        say(_json(line))
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
                touched += not _print(entry, key=entry.key_id, **links)
            if not follow:
                return
            await asyncio.sleep(FOLLOW_SECONDS)

    with suppress(KeyboardInterrupt):
        run(context, work)
    if touched:
        raise typer.Exit(ERROR)


def _print(entry: AuditEntry, **more: object) -> bool:
    """Prints an entry, and whatever of it can be shown when somebody has touched its row.

    Such a row is named on stderr, what cannot be shown is null, and what stands there instead is
    under `touched`. Returns whether the entry is whole.
    """
    faulty = entry.faulty()
    shown = entry._asdict() | dict.fromkeys(faulty)
    at = moment(entry.at)
    fields = {
        "at": at and at.isoformat(),
        "stream": shown["stream_id"],
        "sequence": shown["sequence"],
        "actor": {"type": shown["actor_kind"], "id": shown["actor_id"]},
        "token": shown["token_id"],
        "request": shown["request_id"],
        "action": shown["action"],
        "subject": {"type": shown["subject_type"], "id": shown["subject_id"]},
        "details": entry.read_details(),
        **more,
    }
    if faulty:
        note(
            f"teamvars: entry {entry.sequence} of stream {entry.stream_id} was touched: "
            f"{', '.join(faulty)}"
        )
        fields["touched"] = {name: getattr(entry, name) for name in faulty}
    say(_json(fields))
    return not faulty


def _json(fields: Mapping[str, object]) -> str:
    """A line of JSON; bytes are hexadecimal."""
    return json.dumps(fields, ensure_ascii=False, default=bytes.hex)


def _position(cursor: str) -> Position:
    found = _CURSOR.fullmatch(cursor)
    if found is None or abs(int(found[1])) > _MOST or int(found[3]) > _MOST:
        fail("--before is the cursor of an entry that 'audit list' printed.", USAGE)
    return int(found[1]), found[2], int(found[3])


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
