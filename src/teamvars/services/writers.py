"""Who has lately been found to be let write where."""

from collections import OrderedDict

from teamvars.domain.access import Caller

_MOST = 4096


class KnownWriters:
    """Callers who may be asked about with the lock at once; all others are looked at before.

    So nobody without the right comes to the queue of writers, and an honest writer's request costs
    no statement more. It grants nothing: every request reads the right again, with the lock.
    """

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[bytes, str], None] = OrderedDict()

    def knows(self, caller: Caller, workspace_id: str) -> bool:
        """Whether the caller was let write there when last seen."""
        place = caller.token_hash, workspace_id
        if place not in self._places:
            return False
        self._places.move_to_end(place)
        return True

    def note(self, caller: Caller, workspace_id: str) -> None:
        """Remembers a caller who may write there; the least recently seen is evicted."""
        self._places[caller.token_hash, workspace_id] = None
        if len(self._places) > _MOST:
            self._places.popitem(last=False)

    def forget(self, caller: Caller, workspace_id: str) -> None:
        """Has the caller looked at first the next time."""
        self._places.pop((caller.token_hash, workspace_id), None)
