"""A server whose disk fails for moments, so that the outcome of commits is unknown."""

import random
import threading
import time

import apsw

from teamvars import wiring
from teamvars.storage.engines import sqlite_settlement
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import AlteredHost
from tests.storage.failing_disk import FailingDisk, Fault

_SYNCS = Fault("sync", apsw.IOError, range(1, 1_000_000))


class BrittleHost(AlteredHost):
    """A host whose server has that disk."""

    factory = "tests.faults.brittle:worker"


def worker() -> ASGIApp:
    """The application of a worker process."""
    sqlite_settlement.WAIT_SECONDS = 0.05
    threading.Thread(target=_break, args=(FailingDisk(),), daemon=True).start()
    return wiring.worker()


def _break(disk: FailingDisk) -> None:
    while True:
        time.sleep(random.uniform(0.1, 0.3))
        disk.fail(_SYNCS)
        time.sleep(random.uniform(0.05, 0.15))
        disk.mend()
