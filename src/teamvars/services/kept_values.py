"""Values of workspaces in memory, sealed as in the store: a workspace is delivered more often than
it is changed.
"""

from collections import OrderedDict

from msgspec.structs import replace

from teamvars.domain.effective import Holdings

_VARIABLE_BYTES = 1024
"""What a variable takes beside its value, with Python's own need; and a workspace beside these."""


class KeptValues:
    """What workspaces have, as it was when all of it was last handed out. Whether that is what they
    still have is found out with the receipt: see `decisions.deliver`.

    The least recently used go once all take more than `max_bytes`; what alone would take more is
    not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._room = self._max_bytes = max_bytes
        self._kept: OrderedDict[str, Holdings] = OrderedDict()

    def find(self, workspace_id: str) -> Holdings | None:
        """What is kept of a workspace."""
        kept = self._kept.get(workspace_id)
        if kept is not None:
            self._kept.move_to_end(workspace_id)
        return kept

    def keep(self, workspace_id: str, has: Holdings, keys: bytes) -> None:
        """Keeps what a workspace has, in place of what it had. All its values have opened under
        these wrapped data keys: one that is sealed anew moves no head, and its former seal opens
        only as long as there is the key.
        """
        self._let_go(workspace_id)
        if (size := _size(has)) <= self._max_bytes:
            self._kept[workspace_id] = replace(has, keys=keys)
            self._room -= size
        while self._room < 0:
            self._let_go(next(iter(self._kept)))

    def _let_go(self, workspace_id: str) -> None:
        if (kept := self._kept.pop(workspace_id, None)) is not None:
            self._room += _size(kept)


def _size(has: Holdings) -> int:
    values = sum(stored.value_bytes for stored in has.variables)
    return _VARIABLE_BYTES * (1 + len(has.variables)) + values
