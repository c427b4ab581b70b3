"""Applies: beside creates of as many variables, and what others feel of a large one."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import httpx

from bench.rounds import Effort, middle
from bench.subjects import Served
from bench.works import variables_path
from teamvars.web.http.negotiation import MEDIA_TYPE

FEW, MANY = 500, 5000
_WORKSPACE = "applied"
_BYSTANDERS_WORKSPACE = "list-20"
_QUIET_SECONDS = 1.0
_PAUSE_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Applied:
    """`faster`: how many times as fast an apply of `FEW` variables is as creates one after another.

    The others are ms, beside an apply of `MANY` and over quiet, in another workspace: the p99 of a
    list and of an update, and the longest update. `seconds` is what the apply took.
    """

    faster: float
    list_p99: float
    update_p99: float
    longest_update: float
    seconds: float


def measure(servers: Sequence[Served], effort: Effort) -> dict[str, Applied]:
    """By the server's name; medians of the rounds."""
    samples: dict[str, list[Applied]] = {}
    for number in range(1, effort.rounds + 1):
        for server in servers:
            samples.setdefault(server.name, []).append(_one(server))
        print(f"  round {number}/{effort.rounds}", flush=True)
    return {
        name: Applied(
            *(
                middle(getattr(each, field) for each in rounds) or 0.0
                for field in Applied.__dataclass_fields__
            )
        )
        for name, rounds in samples.items()
    }


def _one(server: Served) -> Applied:
    workspace_id = server.dataset.workspaces[_WORKSPACE]
    with _client(server) as client:
        apply = f"/api/v2/workspaces/{workspace_id}/actions/apply"

        def applied(number: int, value: str) -> float:
            return _seconds(lambda: client.post(apply, json=_document(number, value)))

        def create(number: int) -> None:
            document = {"data": _item(number, "created")}
            client.post(variables_path(workspace_id), json=document).raise_for_status()

        begun = time.perf_counter()
        for number in range(FEW):
            create(number)
        one_by_one = time.perf_counter() - begun
        applied(0, "")
        faster = one_by_one / applied(FEW, "applied")
        with _Bystanders(server) as quiet:
            time.sleep(_QUIET_SECONDS)
        with _Bystanders(server) as beside:
            seconds = applied(MANY, "of many")
        applied(0, "")
    return Applied(
        faster,
        (_p99(beside.lists) - _p99(quiet.lists)) * 1000,
        (_p99(beside.updates) - _p99(quiet.updates)) * 1000,
        (max(beside.updates) - max(quiet.updates)) * 1000,
        seconds,
    )


class _Bystanders:
    """One who reads and one who writes in another workspace; the seconds each request took."""

    def __init__(self, server: Served) -> None:
        self.lists: list[float] = []
        self.updates: list[float] = []
        self._server = server
        self._path = variables_path(server.dataset.workspaces[_BYSTANDERS_WORKSPACE])
        self._done = threading.Event()
        self._threads = [threading.Thread(target=one) for one in (self._read, self._write)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        with _client(self._server) as client:
            self._repeat(lambda: client.get(self._path), self.lists)

    def _write(self) -> None:
        dataset = self._server.dataset
        id_ = dataset.variables[dataset.workspaces[_BYSTANDERS_WORKSPACE]]
        document = {"data": {"type": "vars", "id": id_, "attributes": {"description": "again"}}}
        with _client(self._server) as client:
            self._repeat(lambda: client.patch(f"{self._path}/{id_}", json=document), self.updates)

    def _repeat(self, ask: Callable[[], httpx.Response], taken: list[float]) -> None:
        while not (self._done.is_set() and taken):
            taken.append(_seconds(ask))
            time.sleep(_PAUSE_SECONDS)


def _client(server: Served) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.dataset.token}", "Content-Type": MEDIA_TYPE}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60)


def _document(number: int, value: str) -> dict[str, object]:
    """An apply of so many variables, and nothing else."""
    return {"data": [_item(n, value) for n in range(number)], "meta": {"prune": True}}


def _item(number: int, value: str) -> dict[str, object]:
    attributes = {
        "key": f"key_{number}",
        "value": value,
        "description": "where it runs",
        "category": "env",
    }
    return {"type": "vars", "attributes": attributes}


def _seconds(ask: Callable[[], httpx.Response]) -> float:
    begun = time.perf_counter()
    ask().raise_for_status()
    return time.perf_counter() - begun


def _p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]
