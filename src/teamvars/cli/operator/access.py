"""`access`: who may read and write the variables of a workspace, and through what."""

from typing import Annotated

import typer

from teamvars.cli.exits import USAGE
from teamvars.cli.operator.context import run
from teamvars.cli.output import fail, note, print_json, say_rows
from teamvars.domain.holders import Holder, Standing


def access(
    context: typer.Context,
    place: Annotated[str, typer.Argument(metavar="ORG/WORKSPACE", help="The workspace.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show who may read and write the variables of a workspace, and through which team.

    A line for each way: who is in two teams with grants has two, and the higher one counts.
    """
    organization, slash, name = place.partition("/")
    if not (organization and slash and name):
        fail("Say the workspace as ORG/WORKSPACE.", USAGE)
    found = run(context, lambda services, _: services.accounts.holders(organization, name))
    if as_json:
        holders = [_fields(holder) for holder in found.holders]
        path = f"{found.organization}/{found.workspace}"
        print_json({"workspace": path, "id": found.workspace_id, "holders": holders})
        return
    say_rows([_cells(holder) for holder in found.holders])
    if any(holder.standing is not Standing.ACTIVE for holder in found.holders):
        note("Who is invited has no rights before they accept; who is disabled has none.")


def _cells(holder: Holder) -> tuple[str, ...]:
    mark = "" if holder.standing is Standing.ACTIVE else holder.standing.value
    kind = holder.kind.replace("-", " ")
    return f"{kind} {holder.name}", holder.level.word, f"through {holder.through}", mark


def _fields(holder: Holder) -> dict[str, object]:
    return {
        "type": holder.kind,
        "id": holder.id,
        "name": holder.name,
        "access": holder.level.word,
        "through": holder.through,
        "standing": holder.standing.value,
    }
