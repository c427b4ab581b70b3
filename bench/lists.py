"""What a list that is not in memory takes of the processor, beyond one that is."""

import asyncio
import time
from collections.abc import Sequence

from bench.dataset import Dataset
from teamvars import settings, wiring
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller
from teamvars.security import keyring
from teamvars.security.tokens import hash_token
from teamvars.services.variables import Variables
from teamvars.storage.engines import database_for
from teamvars.web.dialects import STANDARD
from teamvars.web.variables.owners import OF_WORKSPACES
from teamvars.web.variables.routes import VariableRoutes
from tests.support.commands import Host

WORKSPACES = 200
"""More lists of 20 than one MiB holds: each is evicted before it is asked for again."""

_AT_A_TIME = 16


async def rendering_microseconds(host: Host, url: str, made: Dataset, rounds: int) -> float:
    """For each list of 20, its statement included; the quickest tenth of the rounds.

    Whatever else the machine does can only add to it.
    """
    config = settings.load(data_dir=host.data)
    keys = keyring.load(config.keyring_path)
    ids = [id_ for name, id_ in made.workspaces.items() if name.startswith("more-")]
    async with database_for(url) as database:
        times: list[list[float]] = []
        for mib in (1, config.cache_mib):
            setup = wiring.Setup(cache_mib=mib)
            services = wiring.services(database, keys, config.quota, setup=setup)
            await _list_all(services.variables, made.token, ids)
            taken = [await _list_all(services.variables, made.token, ids) for _ in range(rounds)]
            times.append(sorted(taken))
    rendered, cached = (each[rounds // 10] for each in times)
    return round((rendered - cached) / len(ids) * 1e6, 1)


async def _list_all(variables: Variables, token: str, ids: Sequence[str]) -> float:
    """Lists each workspace once; returns the seconds of processor time."""
    render = VariableRoutes(variables, STANDARD, OF_WORKSPACES)._render
    begun = time.process_time()
    for start in range(0, len(ids), _AT_A_TIME):
        some = ids[start : start + _AT_A_TIME]
        callers = ((Caller(hash_token(token), "bench"), ToWorkspace(id_)) for id_ in some)
        await asyncio.gather(*(variables.list(caller, to, render) for caller, to in callers))
    return time.process_time() - begun
