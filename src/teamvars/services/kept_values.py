"""Values of workspaces in memory, sealed as in the store: a workspace is delivered more often than
it is changed.
"""

from msgspec.structs import replace

from teamvars.domain.effective import Holdings
from teamvars.recent import Recent

_VARIABLE_BYTES = 1024
"""What a variable takes beside its value, with Python's own need; and a workspace beside these."""


class KeptValues:
    """What workspaces have, as it was when all of it was last handed out. Whether that is what they
    still have is found out with the receipt: see `decisions.deliver`.
    """

    def __init__(self, max_bytes: int) -> None:
        self._kept: Recent[Holdings] = Recent(max_bytes)

    def find(self, workspace_id: str) -> Holdings | None:
        """What is kept of a workspace."""
        return self._kept.find(workspace_id)

    def keep(self, workspace_id: str, has: Holdings, keys: bytes) -> None:
        """Keeps what a workspace has, in place of what it had. All its values have opened under
        these wrapped data keys: one that is sealed anew moves no head, and its former seal opens
        only as long as there is the key.
        """
        values = sum(stored.value_bytes for stored in has.variables)
        size = _VARIABLE_BYTES * (1 + len(has.variables)) + values
        self._kept.keep(workspace_id, replace(has, keys=keys), size)
