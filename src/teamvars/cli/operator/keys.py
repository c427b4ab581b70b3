"""`keys status`."""

import typer

from teamvars import wiring
from teamvars.cli.operator.context import load_settings, run, say
from teamvars.domain.access import Caller
from teamvars.security import keyring


def status(context: typer.Context) -> None:
    """List the keys, and which are active, with how many data keys each master key wraps."""

    async def uses(services: wiring.Services, _: Caller) -> dict[str, int]:
        return await services.installation.key_uses()

    counted = run(context, uses)
    keys = keyring.load(load_settings(context).keyring_path)
    for key_id in keys.master.keys:
        state = "active" if key_id == keys.master.active else "kept"
        say(f"master  {key_id}  {state}  wraps {counted.get(key_id, 0)} data keys")
    for key_id in keys.audit.keys:
        state = "active" if key_id == keys.audit.active else "kept"
        say(f"audit   {key_id}  {state}")
