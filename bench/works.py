"""The work: what the clients of each row ask for."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import httpx

from bench.dataset import SPREAD, Dataset
from bench.wrk import CONNECTIONS, NUMBER, LoadFailed, Plan, Request, fresh_number
from teamvars.web.http.negotiation import MEDIA_TYPE

_MIXED_REQUESTS = 50_000
"""Far more than there are lists in memory: they come again from the first, and a cache that had all
of them would never miss.
"""
_LINKAGE = "/api/v2/teams/{}/relationships/users"


@dataclass(frozen=True, slots=True)
class Work:
    """One row. `status` is what the first request must be answered with; `written` says that
    another client writes into the same workspace meanwhile. So many `connections` always have a
    request under way."""

    name: str
    text: str
    requests: Callable[[Dataset], list[Request]]
    status: int = 200
    written: bool = False
    conditional: bool = False
    connections: int = CONNECTIONS

    def plan(self, dataset: Dataset, url: str) -> Plan:
        """What is sent to the server there.

        Asks once before many do: load counts an answer of the wrong kind as readily as a right
        one. Raises LoadFailed when the answer is not the one it must be.
        """
        plan = Plan(self.requests(dataset), _headers(dataset))
        if self.conditional:
            tag = {"If-None-Match": self.ask(url, dataset).headers["ETag"]}
            plan = Plan(plan.requests, {**plan.headers, **tag})
        answer = _send(url, plan.requests[0], plan.headers)
        if answer.status_code != self.status:
            raise LoadFailed(f"{self.name}: {answer.status_code} {answer.text}")
        return plan

    def ask(self, url: str, dataset: Dataset) -> httpx.Response:
        """The answer to its first request."""
        return _send(url, self.requests(dataset)[0], _headers(dataset))


def variables_path(workspace_id: str) -> str:
    """The path of a workspace's variables."""
    return f"/api/v2/workspaces/{workspace_id}/vars"


def update(dataset: Dataset, workspace_id: str) -> Request:
    """One that changes a variable of the workspace."""
    id_ = dataset.variables[workspace_id]
    data = {"type": "vars", "id": id_, "attributes": {"value": f"changed to {NUMBER}"}}
    return Request("PATCH", f"{variables_path(workspace_id)}/{id_}", json.dumps({"data": data}))


def listing(name: str) -> Callable[[Dataset], list[Request]]:
    """One request: the list of the workspace with that name."""
    return lambda dataset: [Request("GET", variables_path(dataset.workspaces[name]))]


def _read(dataset: Dataset) -> list[Request]:
    workspace_id = dataset.workspaces["list-20"]
    return [Request("GET", f"{variables_path(workspace_id)}/{dataset.variables[workspace_id]}")]


def creates(*names: str, category: str = "tool") -> Callable[[Dataset], list[Request]]:
    """A request for each of the workspaces in turn, which makes a variable of that category."""
    attributes = {
        "key": f"created_{NUMBER}",
        "value": "eu-central-1",
        "description": "where it runs",
        "category": category,
    }
    body = json.dumps({"data": {"type": "vars", "attributes": attributes}})
    return lambda dataset: [
        Request("POST", variables_path(dataset.workspaces[name]), body) for name in names
    ]


def _updates(dataset: Dataset) -> list[Request]:
    return [update(dataset, dataset.workspaces[name]) for name in SPREAD]


def _members(dataset: Dataset) -> list[Request]:
    """Ten are added to each team and then removed again, so that every request changes a team."""
    body = json.dumps({"data": [{"type": "users", "id": id_} for id_ in dataset.recruits]})
    return [
        Request(method, _LINKAGE.format(crew), body)
        for method in ("POST", "DELETE")
        for crew in dataset.crews
    ]


def _mixed(dataset: Dataset) -> list[Request]:
    return _day(dataset, SPREAD)


def _mixed_wide(dataset: Dataset) -> list[Request]:
    many = [name for name in dataset.workspaces if name.startswith(("spread-", "more-"))]
    return _day(dataset, many)


def _day(dataset: Dataset, names: Sequence[str]) -> list[Request]:
    """In an order that is the same in every run."""
    chance = random.Random(6)
    requests = []
    for n in range(_MIXED_REQUESTS):
        workspace_id = dataset.workspaces[chance.choice(names)]
        path, die = variables_path(workspace_id), n % 50
        if die == 0:
            requests.append(update(dataset, workspace_id))
        elif die <= 4:
            requests.append(Request("GET", f"{path}/{dataset.variables[workspace_id]}"))
        else:
            requests.append(Request("GET", path))
    chance.shuffle(requests)
    return requests


def _headers(dataset: Dataset) -> dict[str, str]:
    return {"Authorization": f"Bearer {dataset.token}", "Accept": MEDIA_TYPE}


def _send(url: str, request: Request, headers: Mapping[str, str]) -> httpx.Response:
    typed = {**headers, **({"Content-Type": MEDIA_TYPE} if request.body else {})}
    body = request.body.replace(NUMBER, f"{fresh_number():010}")
    return httpx.request(request.method, url + request.path, content=body, headers=typed)


LIST = Work("list-20", "list of 20, warm", listing("list-20"))
LIST_WRITTEN = Work(
    "list-20-written", "list of 20, written 50 times a second", listing("list-20"), written=True
)
CREATE = Work("create", "create over 64 workspaces", creates(*SPREAD), 201)
CREATE_HOT = Work("create-hot", "create, all in one workspace", creates("hot"), 201)
MIXED = Work("mixed", "mixed day: 90 % list, 8 % read, 2 % write", _mixed)
MIXED_WIDE = Work("mixed-wide", "mixed day over every workspace", _mixed_wide)
MEMBERS = Work("members", "add 10 members (and remove them)", _members, 204)
WORKS = (
    LIST,
    LIST_WRITTEN,
    Work("list-500", "list of 500", listing("list-500")),
    Work("read", "read of one", _read),
    Work("unchanged", "conditional list (304)", listing("list-20"), 304, conditional=True),
    # Before anything is created: its workspaces have 20 variables each.
    MIXED,
    CREATE,
    CREATE_HOT,
    Work("update", "update over 64 workspaces", _updates),
    MEMBERS,
)
