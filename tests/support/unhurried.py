"""The time limits of the service, out of the way of what is not about them.

A busy host would reach them where only an order of events is tested.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from teamvars import fair_slots
from teamvars.services import idempotency
from teamvars.services.code.checker import CodeChecker, Limits
from teamvars.storage.engines import connections, poolers, servers, sqlite, sqlite_settlement
from teamvars.web.http import admission
from tests.support.patience import HANGS

LIMITS: tuple[tuple[ModuleType, str], ...] = (
    (connections, "_ACQUIRE_SECONDS"),
    (connections, "FRESH_SECONDS"),
    (fair_slots, "WAIT_SECONDS"),
    (admission, "WAIT_SECONDS"),
    (idempotency, "WAIT_SECONDS"),
    (servers, "CONNECT_SECONDS"),
    (sqlite, "LOCK_WAIT_SECONDS"),
    (sqlite_settlement, "WAIT_SECONDS"),
)


@contextmanager
def unhurried() -> Iterator[None]:
    """While this lasts, nothing in this process is refused because time has passed."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in LIMITS:
            patch.setattr(module, name, HANGS)
        patch.setattr(CodeChecker.__init__, "__defaults__", (Limits(seconds=HANGS),))
        for name in poolers.TIMEOUTS:
            patch.setitem(poolers.ALWAYS, name, f"{HANGS / 60:.0f}min")
        yield
