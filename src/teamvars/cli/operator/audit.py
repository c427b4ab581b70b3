"""`audit list` and `audit verify`."""

import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from teamvars.cli.operator.context import DIFFERENCES, note, run

app = typer.Typer(help="The audit trail.", no_args_is_help=True)


@app.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many entries.")] = 50,
) -> None:
    """Show the newest entries, one JSON object a line."""
    for entry in run(context, lambda services, _: services.audit.newest(limit)):
        at = datetime.fromtimestamp(entry.at / 1_000_000, UTC).isoformat()
        line = {
            "at": at,
            "stream": entry.stream_id,
            "sequence": entry.sequence,
            "actor": f"{entry.actor_kind} {entry.actor_id}",
            "token": entry.token_id,
            "request": entry.request_id,
            "action": entry.action,
            "subject": f"{entry.subject_type} {entry.subject_id}",
            "details": json.loads(entry.details),
        }
        typer.echo(json.dumps(line, ensure_ascii=False))


@app.command("verify")
def verify(context: typer.Context) -> None:
    """Prove that nobody has touched the trail; exit with 3 when somebody has."""
    checked, breaks = run(context, lambda services, _: services.audit.verify())
    for found in breaks:
        typer.echo(f"{found.stream_id} entry {found.sequence}: {found.reason}")
    if breaks:
        raise typer.Exit(DIFFERENCES)
    note(f"{checked} streams hold. Compare their heads with exported ones to rule out a rollback.")
