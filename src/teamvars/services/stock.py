"""What there is in the store that no request asks for, counted for whoever watches a node."""

from teamvars.metrics import Gauge
from teamvars.services.house import House, UseCases
from teamvars.storage import keys, memos

WAITING = Gauge("teamvars_messages_waiting", "Messages that wait to be sent.")
OVERDUE = Gauge(
    "teamvars_messages_overdue_seconds",
    "For how long the message has been due that is to be tried first.",
)
DATA_KEYS = Gauge(
    "teamvars_data_keys",
    "Data keys by the id of the master key that wraps them and by their generation.",
    ("master_key", "version"),
)


class Stock(UseCases):
    """Says how much there is, as of the last time it was counted."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._told: set[tuple[str, str]] = set()

    async def count(self) -> None:
        """Counts all of it. What is there no more is told as 0."""
        waiting, due_at = await self._database.read(memos.outbox)
        WAITING.set(waiting)
        OVERDUE.set(0 if due_at is None else max(0, self._clock() - due_at) / 1_000_000)
        found = await self._database.read(keys.data_keys_by_generation)
        self._told |= found.keys()
        for labels in self._told:
            DATA_KEYS.set(found.get(labels, 0), *labels)
