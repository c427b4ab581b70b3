"""Many callers at once, through two nodes: some order of their requests explains every answer."""

import asyncio
import random
import time
from dataclasses import replace
from itertools import count, cycle
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.history import Operation, is_linearizable
from tests.support.deployment import Deployment
from tests.support.tenant import Tenant, build_tenant

CALLERS = 6
EACH = 25


class Recorder:
    """Asks for random things in one workspace and writes the history down."""

    def __init__(self, tenant: Tenant, seed: int) -> None:
        self.history: list[Operation] = []
        self._tenant = tenant
        self._random = random.Random(seed)
        self._known: dict[str, str] = {}

    async def work(self, deployment: Deployment) -> None:
        """A caller who speaks to one node."""
        tenant = replace(self._tenant, deployment=deployment)
        for _ in range(EACH):
            method = self._random.choice(
                ("GET", "GET", "POST", "PATCH", "PATCH", "PATCH", "DELETE")
            )
            if method == "GET" or (method != "POST" and not self._known):
                await self._list(tenant)
            elif method == "POST":
                await self._create(tenant)
            else:
                await self._change(tenant, method)

    async def _list(self, tenant: Tenant) -> None:
        begun = time.monotonic()
        versions = {one["id"]: _version(one) for one in await tenant.variables()}
        self._known |= versions
        self._note(Operation(begun, time.monotonic(), "GET", 200, versions=versions))

    async def _create(self, tenant: Tenant) -> None:
        begun = time.monotonic()
        made = await tenant.make_variable(key=f"key-{uuid4()}")
        self._known[made["id"]] = _version(made)
        ended = time.monotonic()
        self._note(Operation(begun, ended, "POST", 201, made["id"], version=_version(made)))

    async def _change(self, tenant: Tenant, method: str) -> None:
        id_ = self._random.choice(sorted(self._known)[-3:])
        expected = self._random.choice((None, self._known[id_]))
        headers = {"If-Match": f'"{expected}"'} if expected else {}
        attributes = {"description": str(uuid4())}
        document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
        path = f"{tenant.vars_path()}/{id_}"
        begun = time.monotonic()
        sent = document if method == "PATCH" else None
        answer = await tenant.call("owner", method, path, sent, headers)
        ended, status = time.monotonic(), answer.status_code
        version = _version(answer.json()["data"]) if status == 200 else ""
        if version:
            self._known[id_] = version
        self._note(Operation(begun, ended, method, status, id_, expected, version))

    def _note(self, operation: Operation) -> None:
        assert operation.status < 500, operation
        self.history.append(operation)


def _version(resource: dict[str, Any]) -> str:
    version: str = resource["attributes"]["version-id"]
    return version


async def record(nodes: list[Deployment], seed: int) -> list[Operation]:
    """What several callers met in a workspace of their own."""
    recorder = Recorder(await build_tenant(nodes[0]), seed)
    turns = cycle(nodes)
    await asyncio.gather(*(recorder.work(next(turns)) for _ in range(CALLERS)))
    return recorder.history


@pytest.mark.parametrize("rounds", [3, pytest.param(300, id="long", marks=pytest.mark.long)])
async def test_a_history_of_many_callers_on_two_nodes_is_linearizable(
    nodes: list[Deployment], rounds: int
) -> None:
    for _ in range(rounds):
        seed = random.SystemRandom().randrange(2**32)
        history = await record(nodes, seed)
        assert is_linearizable(history), f"seed {seed}: {history}"


async def test_one_answer_out_of_a_cache_makes_a_history_impossible(
    nodes: list[Deployment],
) -> None:
    history = await record(nodes, 1)
    lists = [one for one in history if one.method == "GET"]
    early, late = lists[0], lists[-1]
    assert early.versions != late.versions
    stale = replace(late, versions=early.versions)
    assert not is_linearizable([stale if one is late else one for one in history])


async def test_two_winners_of_one_version_make_a_history_impossible(
    nodes: list[Deployment],
) -> None:
    won: list[Operation] = []
    history: list[Operation] = []
    for seed in count():  # in a few of a hundred histories everybody came too late
        history = await record(nodes, seed)
        won = [one for one in history if one.method == "PATCH" and one.version and one.expected]
        if won:
            break
    again = replace(won[0], version=uuid4().hex)
    assert not is_linearizable([*history, again])


@pytest.mark.parametrize("rounds", [2, pytest.param(100, id="long", marks=pytest.mark.long)])
async def test_of_fifty_who_update_one_version_through_two_nodes_one_does(
    nodes: list[Deployment], rounds: int
) -> None:
    tenant = await build_tenant(nodes[0])
    callers = [replace(tenant, deployment=deployment) for deployment in nodes]
    for n in range(rounds):
        made = await tenant.make_variable(key=f"key-{n}")
        data = {"type": "vars", "id": made["id"], "attributes": {"description": "mine"}}
        headers = {"If-Match": f'"{_version(made)}"'}
        path = f"{tenant.vars_path()}/{made['id']}"
        answers = await asyncio.gather(
            *(
                callers[caller % len(nodes)].call("owner", "PATCH", path, {"data": data}, headers)
                for caller in range(50)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [200, *[412] * 49]
