"""`audit list`, `verify`, `head` and `export`."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.context import DIFFERENCES, USAGE, fail, note, run
from teamvars.domain.access import Caller
from teamvars.domain.audit import AuditEntry, AuditFilter, Head, Position

FOLLOW_SECONDS = 1.0

app = typer.Typer(help="The audit trail.", no_args_is_help=True)


@app.command("list")
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
    for entry in run(context, lambda services, _: services.audit.newest(limit, wanted)):
        typer.echo(_line(entry, cursor=f"{entry.at}/{entry.stream_id}/{entry.sequence}"))


@app.command("verify")
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
        typer.echo(f"{found.stream_id} entry {found.sequence}: {found.reason}")
    if breaks:
        raise typer.Exit(DIFFERENCES)
    note(f"{checked} streams hold.")
    if heads is None:
        note("A rollback of the whole database would show only against heads kept elsewhere.")


@app.command("head")
def head(context: typer.Context) -> None:
    """Print where each stream stands, one JSON object a line, to be kept elsewhere."""
    for one in run(context, lambda services, _: services.audit.heads()):
        line = {"stream": one.stream_id, "sequence": one.sequence, "link": one.link.hex()}
        typer.echo(json.dumps(line))


@app.command("export")
def export(
    context: typer.Context,
    follow: Annotated[bool, typer.Option(help="Go on with new entries until Ctrl-C.")] = False,
) -> None:
    """Print all entries, one JSON object a line, oldest first within each stream."""

    async def work(services: wiring.Services, _: Caller) -> None:
        known: dict[str, int] = {}
        while True:
            async for entry in services.audit.export(known):
                links = {"previous": entry.previous.hex(), "link": entry.link.hex()}
                typer.echo(_line(entry, key=entry.key_id, **links))
            if not follow:
                return
            await asyncio.sleep(FOLLOW_SECONDS)

    try:
        run(context, work)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _line(entry: AuditEntry, **more: str) -> str:
    fields = {
        "at": datetime.fromtimestamp(entry.at / 1_000_000, UTC).isoformat(),
        "stream": entry.stream_id,
        "sequence": entry.sequence,
        "actor": {"type": entry.actor_kind, "id": entry.actor_id},
        "token": entry.token_id,
        "request": entry.request_id,
        "action": entry.action,
        "subject": {"type": entry.subject_type, "id": entry.subject_id},
        "details": json.loads(entry.details),
        **more,
    }
    return json.dumps(fields, ensure_ascii=False)


def _position(cursor: str) -> Position:
    at, _, rest = cursor.partition("/")
    stream, _, sequence = rest.rpartition("/")
    if not (at.isdecimal() and stream and sequence.isdecimal()):
        fail("--before is the cursor of an entry that 'audit list' printed.", USAGE)
    return int(at), stream, int(sequence)


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
