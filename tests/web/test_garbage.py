"""Whatever a request needed is let go of with its answer, and waits for no garbage collector.

The collector stops everybody while it looks for it: under a flood of refusals for 100 ms at a time.
And a body that was refused would stay in memory until then, with all the secrets in it.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import httpx
import pytest

from teamvars.security.tokens import RUNNER, new_token
from tests.support.exchanging import Job, job_in
from tests.support.jobs import job_token
from tests.support.tenant import Tenant, linkage_document, variable_document

TIMES = 3
TRIES = 3
"""What others leave who work in the same process meanwhile, they do not leave each time."""

Asks = Callable[[Job], Awaitable[httpx.Response]]

VARS, TEAM = "/workspaces/{network}/vars", "/teams/{crew}/relationships/users"


def asked(method: str, path: str, document: object = None, by: str = "owner") -> Asks:
    """A request by somebody of the tenant, in whose path a name stands for an id."""

    async def ask(job: Job) -> httpx.Response:
        tenant = job.tenant
        at = path.format(**tenant.workspaces, **tenant.teams, organization=tenant.organization)
        return await tenant.call(by, method, at, document)

    return ask


REQUESTS: dict[str, tuple[Asks, int]] = {
    "a list": (asked("GET", VARS), 200),
    "a taken key": (asked("POST", VARS, variable_document(key="region")), 422),
    "faults": (asked("POST", VARS, variable_document(category="x", key="")), 422),
    "no document": (asked("POST", VARS, "no document"), 422),
    "no path": (asked("GET", "/nothing"), 404),
    "no method": (asked("PUT", VARS, {}), 405),
    "not found": (asked("GET", VARS, by="other-organization-token"), 404),
    "forbidden": (asked("POST", VARS, variable_document(key="a"), by="reader"), 403),
    "a taken name": (
        asked(
            "POST",
            "/organizations/{organization}/workspaces",
            {"data": {"type": "workspaces", "attributes": {"name": "network"}}},
        ),
        422,
    ),
    "nobody": (asked("POST", TEAM, linkage_document("user-1111111111111111")), 404),
    "no token of a job": (asked("POST", "/workspaces/{network}/actions/deliver", {}), 401),
    "an unknown token of a job": (lambda job: job.deliver(new_token(RUNNER)), 401),
    "a job": (lambda job: job.exchange(), 200),
    "a job's token that has ended": (
        lambda job: job.exchange(subject_token=job_token(job.key.thumbprint, exp=1)),
        400,
    ),
    "a job that no runner means": (
        lambda job: job.exchange(subject_token=job_token(job.key.thumbprint, sub="other")),
        400,
    ),
}


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    return await job_in(tenant)


@contextmanager
def uncollected(left: list[str]) -> Iterator[None]:
    """Says what of ours waited for the collector at the end, and not before."""
    while gc.collect():
        pass
    gc.freeze()  # what is left is looked through once, not once for every test
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left += [name for each in gc.garbage if (name := ours(each)) is not None]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def ours(found: object) -> str | None:
    """What a frame or an object of the service is called; None: it is another's."""
    if isinstance(found, FrameType):
        name, code = found.f_globals.get("__name__", ""), found.f_code.co_name
        return f"{name}.{code}" if name.startswith("teamvars.") else None
    kind = type(found)
    return kind.__qualname__ if kind.__module__.startswith("teamvars.") else None


@pytest.mark.parametrize("name", REQUESTS)
async def test_an_answer_leaves_nothing_to_the_collector(job: Job, name: str) -> None:
    ask, status = REQUESTS[name]
    assert (await ask(job)).status_code == status
    windows: list[list[str]] = []
    while len(windows) < TRIES and [] not in windows:
        windows.append([])
        with uncollected(windows[-1]):
            for _ in range(TIMES):
                await ask(job)
            await asyncio.sleep(0)
    assert [] in windows


async def test_what_waits_for_the_collector_is_found() -> None:
    class Ring:
        """It has itself."""

        def __init__(self) -> None:
            self.me = self

    Ring.__module__ = "teamvars.control"
    left: list[str] = []
    with uncollected(left):
        Ring()
    assert len(left) == 1
