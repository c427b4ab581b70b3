"""Values for a command on the service's own host."""

from collections.abc import Sequence
from contextlib import suppress

from teamvars.decisions import host_deliveries as decisions
from teamvars.decisions.host_deliveries import HostDraft
from teamvars.domain.access import Caller
from teamvars.domain.errors import Refusal
from teamvars.domain.generations import NOTHING_SEALED
from teamvars.domain.variables import Variable, damaged_value
from teamvars.security.sealing import SealBroken
from teamvars.services.house import UseCases

__all__ = ["HostDeliveries", "HostDraft"]


class HostDeliveries(UseCases):
    """What an operator's command is handed."""

    async def hand_out(self, caller: Caller, draft: HostDraft) -> Sequence[Variable]:
        """The variables with their values, sensitive ones too. The receipt is committed before any
        value is opened.

        Refuses: see `decisions.host_deliveries.hand_out`; damaged values.
        """
        bundle = await self._make(caller, decisions.hand_out, draft)
        key = self._tools.sealer.data_key(bundle.key)
        found: dict[str, Variable] = {}
        for stored in bundle.variables:
            variable = stored.variable
            with suppress(SealBroken):
                value = key.open(stored.sealed or NOTHING_SEALED, variable)
                found[variable.id] = variable.with_value(value)
        damaged = [one.variable for one in bundle.variables if one.variable.id not in found]
        if damaged:
            raise Refusal(*map(damaged_value, damaged))
        return list(found.values())
