"""A server that keeps no share for anybody: whoever comes is worked on at once."""

from teamvars import fair_slots, wiring
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import AlteredHost

_NO_LIMIT = 1_000_000


class UnfairHost(AlteredHost):
    """A host whose server is that."""

    factory = "tests.faults.unfair:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    fair_slots.ORGANIZATION_SHARE = _NO_LIMIT
    return wiring.worker()
