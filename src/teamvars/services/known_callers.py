"""Who has lately been let in, and let write where: callers who need not be looked at beforehand."""

from collections import OrderedDict

from teamvars.domain.access import Caller

_MOST = 4096


class KnownCallers:
    """Callers who may come to what is costly at once; all others are looked at before.

    So nobody without the right comes to the queue of writers, and an honest caller's request costs
    no statement more. It grants nothing: every request reads the right again where it acts on it.
    """

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[bytes, str], None] = OrderedDict()

    def knows(self, caller: Caller, where: str) -> bool:
        """Whether the caller was let do it there when last seen."""
        place = caller.token_hash, where
        if place not in self._places:
            return False
        self._places.move_to_end(place)
        return True

    def note(self, caller: Caller, where: str) -> None:
        """Remembers a caller who may; the least recently seen is evicted."""
        self._places[caller.token_hash, where] = None
        if len(self._places) > _MOST:
            self._places.popitem(last=False)

    def forget(self, caller: Caller, where: str) -> None:
        """Has the caller looked at first the next time."""
        self._places.pop((caller.token_hash, where), None)
