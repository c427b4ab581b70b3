"""A server that hands out first and writes the receipt later, for controls."""

import asyncio
from itertools import cycle
from typing import Any

from teamvars import wiring
from teamvars.decisions import deliveries as decisions
from teamvars.services import deliveries as services
from teamvars.services.deliveries import Deliveries
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import AlteredHost
from tests.support.patience import HANGS

_SECONDS = cycle((0, HANGS))
"""How long it takes its time: some receipts are there at once, and some when nobody waits."""


class GenerousHost(AlteredHost):
    """A host whose server does so."""

    factory = "tests.faults.generous:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    deliver, later = Deliveries.deliver, set[asyncio.Task[Any]]()

    async def first(self: Any, caller: Any, workspace_id: str, draft: Any) -> Any:
        async def receipt() -> None:
            await asyncio.sleep(next(_SECONDS))
            await deliver(self, caller, workspace_id, draft)

        bundle = await self._house.changes.look(
            caller,
            lambda found: (
                decisions.deliver(
                    found,
                    workspace_id,
                    found.of(decisions.ValuesForJob(workspace_id)),
                    draft,
                    self._trust,
                ).answer
            ),
        )
        later.add(asyncio.create_task(receipt()))
        key = self._tools.sealer.data_key(bundle.handed.key)
        return services._sealed(bundle, key, self._signer)

    Deliveries.deliver = first  # type: ignore[method-assign]
    return wiring.worker()
