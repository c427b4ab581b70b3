"""How many values a job seals anew: `python -m bench.resealing [--values N] [--url URL]`.

It makes a store of so many values in a folder, or in the empty database of that URL, takes another
generation of data keys into use, and has everything sealed under it, as fast as that goes. What
counts are values for each second of this process's processor time: others may use the host.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.transfer import Bulk
from teamvars import settings, wiring
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.ids import new_id
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for

VARIABLES = 5000
"""Of each workspace; the last has what is left."""
CALLER = Caller(b"", new_id("req"), Actor.operator("bench"))


def main() -> None:
    """Prints what a job took, on one line for each clock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--url", help="of an empty database; else SQLite in a folder")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        url = wanted.url or f"sqlite:///{Path(folder) / 'teamvars.db'}"
        asyncio.run(_measure(url, wanted.values))


async def fill(tx: Transaction, keys: Keyring, counts: Mapping[str, int]) -> None:
    """Adds so many variables to each workspace."""
    await Bulk(tx, keys, CALLER).add_variables(counts)


async def _measure(url: str, values: int) -> None:
    keys, caller = keyring.generate(), CALLER
    config = settings.load(database_url=url)
    async with database_for(url, create=True) as database:
        services = wiring.services(database, keys, config.quota)
        await services.installation.migrate(contract=True)
        await services.installation.initialise(keys, caller)
        names = [f"w-{n}" for n in range(-(-values // VARIABLES))]
        entry = OrganizationEntry("bench", workspaces=tuple(names))
        applied = await services.directory.apply(caller, Directory((), (entry,)), Options())
        ids = applied.organizations["bench"].workspaces.values()
        for n, id_ in enumerate(ids):
            counts = {id_: min(VARIABLES, values - n * VARIABLES)}
            await database.write(partial(fill, keys=keys, counts=counts))
        await services.data_keys.activate(caller, await services.data_keys.add(caller))
        wall, processor = time.monotonic(), time.process_time()
        outcome = await services.rewraps.run(caller, lambda _: None)
        wall, processor = time.monotonic() - wall, time.process_time() - processor
        await services.code.close()
    print(f"{outcome.sealed:,} values, {len(outcome.broken)} did not open")
    for name, took in (("processor", processor), ("clock", wall)):
        print(f"{name:9}  {took:6.2f} s  {outcome.sealed / took:9,.0f} values a second")


if __name__ == "__main__":
    main()
