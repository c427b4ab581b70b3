"""`keys status`."""

from typing import Annotated

import typer

from teamvars import wiring
from teamvars.cli.operator.context import load_settings, run
from teamvars.cli.output import print_json, say
from teamvars.domain.access import Caller
from teamvars.security import keyring


def status(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the keys, and which are active, with how many data keys each master key wraps."""

    async def uses(services: wiring.Services, _: Caller) -> dict[str, int]:
        return await services.installation.key_uses()

    counted = run(context, uses)
    keys = keyring.load(load_settings(context).keyring_path)
    kept = (("master", keys.master), ("audit", keys.audit))
    rows = [
        {"purpose": purpose, "id": id_, "active": id_ == ring.active, "wraps": counted.get(id_, 0)}
        for purpose, ring in kept
        for id_ in ring.keys
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        state = "active" if row["active"] else "kept"
        wraps = f"  data keys: {row['wraps']}" if row["purpose"] == "master" else ""
        say(f"{row['purpose']:6}  {row['id']}  {state}{wraps}")
