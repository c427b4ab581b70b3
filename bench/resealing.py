"""What sealing anew takes: `python -m bench.resealing [--values N] [--postgres]`.

It makes a store of so many values in a folder, or in a PostgreSQL of its own, takes another
generation of data keys into use, and has everything sealed under it: once as fast as that goes, and
once beside others, as `keys rewrap` does it unasked. What counts is the processor time of a value,
here and in PostgreSQL's processes, and the share of a core that both take, as others use the host.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from bench.machine import cpu_seconds
from bench.transfer import Bulk
from teamvars import settings, wiring
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.directory import Directory, OrganizationEntry
from teamvars.domain.ids import new_id
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.services.data_keys import Outcome
from teamvars.services.directory_files.files import Options
from teamvars.storage.database import Transaction
from teamvars.storage.engines import database_for
from tests.support.postgres import LocalPostgres

VARIABLES = 5000
"""Of each workspace; the last has what is left."""
MICRO = 1_000_000
CALLER = Caller(b"", new_id("req"), Actor.operator("bench"))


ANY = 10**9
"""Values a second, which no host reaches."""


def main() -> None:
    """Prints what each of the two jobs took, on one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--postgres", action="store_true")
    wanted = parser.parse_args()
    with ExitStack() as stack:
        if not wanted.postgres:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="teamvars-bench-"))
            asyncio.run(_measure(f"sqlite:///{folder}/teamvars.db", wanted.values, None))
            return
        postgres = stack.enter_context(LocalPostgres(durable=True))
        postgres.create_database("resealing")
        asyncio.run(_measure(postgres.url("resealing"), wanted.values, postgres.pid))


async def fill(tx: Transaction, keys: Keyring, counts: Mapping[str, int]) -> None:
    """Adds so many variables to each workspace."""
    await Bulk(tx, keys, CALLER).add_variables(counts)


async def _measure(url: str, values: int, store: int | None) -> None:
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
        print(f"{values:,} values     a second  µs of the job  of PostgreSQL  of one core")
        for what, rate in (("as fast as it can", ANY), ("beside others", None)):
            await services.data_keys.activate(caller, await services.data_keys.add(caller))
            begun, before = time.monotonic(), _spent(store)
            outcome = await services.rewraps.run(caller, lambda _: None, rate=rate)
            assert outcome == Outcome(values, []), outcome
            took = time.monotonic() - begun
            ours, its = (now - then for now, then in zip(_spent(store), before, strict=True))
            print(
                f"{what:18} {values / took:9,.0f} {ours / values * MICRO:14.1f} "
                f"{its / values * MICRO:14.1f} {(ours + its) / took:12.0%}",
                flush=True,
            )
        await services.code.close()


def _spent(store: int | None) -> tuple[float, float]:
    """The processor time of this process and of the store's, in seconds."""
    return time.process_time(), 0.0 if store is None else cpu_seconds(store)


if __name__ == "__main__":
    main()
