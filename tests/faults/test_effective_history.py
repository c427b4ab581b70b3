"""What a workspace gets while sets, projects and workspaces change, through two nodes: some order
of the requests explains every answer, and none is of a moment that was over when it was asked for.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, cycle
from typing import Any

import pytest

from tests.domain.test_effective import Described, oracle
from tests.faults.history import State, is_linearizable
from tests.support.deployment import Deployment
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document
from tests.web.test_project_sets import at_projects, make_owned
from tests.web.test_projects import make, moved
from tests.web.test_variable_sets import as_global, make_set, put, vars_of

EACH = 6
"""Changes of a caller, who changes what no other does."""
READERS, LOOKS = 3, 20
SETS = "all", "first", "own", "second"
"""One that is global at times, one of the project `shop`, and two others of the organization."""
BRIEF = "brief"
"""One that is made and deleted."""

Shown = tuple[Mapping[str, str], Mapping[tuple[str, str], str] | None]
"""The value that counts of each key; and of everything that reaches the workspace, by the name of
the set, which is empty for its own, and the key. None: not shown.
"""


def gets(state: State) -> Shown:
    """What the workspace gets in a state, as the oracle says."""
    values = {
        (owner, key): value
        for name, value in state.items()
        for kind, owner, key in [name.split("/")]
        if kind == "value"
    }
    reaching = [_described(state, name, values) for name in (*SETS, BRIEF)]
    own = frozenset(key for owner, key in values if not owner)
    counted = {key: values[owner, key] for key, owner in oracle(own, reaching).items()}
    owners = {""} | {one.name for one in reaching if one.ways}
    return counted, {name: value for name, value in values.items() if name[0] in owners}


def _described(state: State, name: str, values: Mapping[tuple[str, str], str]) -> Described:
    place = state["place//"]
    at = {"workspace": f"at/{name}/network", "project": f"at/{name}/{place}"}
    ways = {way for way, said in at.items() if said in state}
    ways |= {"global"} if name == "all" and "global/all/" in state else set()
    keys = frozenset(key for owner, key in values if owner == name)
    is_priority = f"priority/{name}/" in state
    return Described(name, is_priority, name == "own", frozenset(ways), keys)


@dataclass(frozen=True)
class Change:
    """A request that changes something, and was answered as fits some states, or all."""

    begun: float
    ended: float
    added: Mapping[str, str]
    gone: frozenset[str] = frozenset()
    place: str | None = None

    def applied_to(self, state: State) -> State | None:
        """The state after it; None where the workspace would have to be in another project."""
        if self.place not in (None, state.get("place//")):
            return None
        left = {name: value for name, value in state.items() if name not in self.gone}
        return left | dict(self.added)


@dataclass(frozen=True)
class Look:
    """A request that shows what the workspace gets."""

    begun: float
    ended: float
    shown: Shown

    def applied_to(self, state: State) -> State | None:
        """The same state; None where it would have shown something else."""
        counted, every = gets(state)
        return state if self.shown in ((counted, every), (counted, None)) else None


class Recorder:
    """Changes what the workspace `network` gets, and writes the history down."""

    def __init__(self, tenant: Tenant, seed: int) -> None:
        self.history: list[Change | Look] = []
        self.tenant = tenant
        self._random = random.Random(seed)
        self._values = map(str, count())
        self._projects: dict[str, str] = {}
        self._sets: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    async def begin(self) -> None:
        """Makes what is changed later, before anybody else asks for anything."""
        tenant = self.tenant
        shop = await make(tenant)
        self._projects = {"shop": shop, "default": tenant.project}
        own = await tenant.make_variable("a", value="own", category="env")
        self._paths["value//a"] = f"{tenant.vars_path()}/{own['id']}"
        state = {"value//a": "own", "place//": "default", "global/all/": ""}
        for name in SETS:
            if name == "own":
                id_ = await make_owned(tenant, shop, name)
            else:
                id_ = await make_set(tenant, name, **as_global(is_=name == "all"))
            self._sets[name] = id_
            variable = await put(tenant, id_, "a", name, category="env")
            self._paths[f"value/{name}/a"] = f"{vars_of(id_)}/{variable['id']}"
            state[f"value/{name}/a"] = name
        for name in ("own", "first"):
            assert (await at_projects(tenant, self._sets[name], shop)).is_success
            state[f"at/{name}/shop"] = ""
        self.history.append(Change(0.0, 0.0, state))

    def changes(self) -> list[Callable[[Tenant], Awaitable[object]]]:
        """What each caller who changes something does, again and again. Of many at once there would
        be more orders than anybody can try.
        """
        of_sets = self._attachment, self._priority, self._more, self._everywhere, self._brief
        of_projects = self._own, self._move, self._project
        some = *self._random.sample(of_sets, 2), *self._random.sample(of_projects, 2)
        return [self.change_value, *some]

    async def change_value(self, tenant: Tenant, name: str = "") -> None:
        """Gives a variable a value that none had before."""
        name, value = name or self._random.choice(sorted(self._paths)), next(self._values)
        document = {"data": {"type": "vars", "attributes": {"value": value}}}
        document["data"]["id"] = self._paths[name].rpartition("/")[2]
        begun, _ = await self._ask(tenant, "PATCH", self._paths[name], document)
        self._note(begun, {name: value})

    async def _attachment(self, tenant: Tenant) -> None:
        method = self._random.choice(("POST", "DELETE"))
        named = linkage_document(tenant.workspaces["network"], type_="workspaces")
        path = f"/varsets/{self._sets['second']}/relationships/workspaces"
        begun, _ = await self._ask(tenant, method, path, named)
        self._put(begun, "at/second/network", method == "POST")

    async def _own(self, tenant: Tenant) -> None:
        """Attaches the project's set to the workspace, which has to be in the project then."""
        named = linkage_document(tenant.workspaces["network"], type_="workspaces")
        path = f"/varsets/{self._sets['own']}/relationships/workspaces"
        begun, status = await self._ask(tenant, "POST", path, named, refused=422)
        added, place = ({"at/own/network": ""}, "shop") if status == 204 else ({}, "default")
        self._note(begun, added, place=place)

    async def _priority(self, tenant: Tenant) -> None:
        name, is_ = self._random.choice(("own", "second")), self._random.random() < 0.5
        id_ = self._sets[name]
        document = {"data": {"type": "varsets", "id": id_, "attributes": {"priority": is_}}}
        begun, _ = await self._ask(tenant, "PATCH", f"/varsets/{id_}", document)
        self._put(begun, f"priority/{name}/", is_)

    async def _move(self, tenant: Tenant) -> None:
        name = self._random.choice(("shop", "default"))
        path = f"/projects/{self._projects[name]}/relationships/workspaces"
        begun, _ = await self._ask(tenant, "POST", path, moved(tenant.workspaces["network"]))
        ended = frozenset({"at/own/network"} if name == "default" else ())
        self._note(begun, {"place//": name}, ended)

    async def _more(self, tenant: Tenant) -> None:
        """Makes a variable in a set and deletes it again."""
        path, value = vars_of(self._sets["second"]), next(self._values)
        document = variable_document(key="b", value=value, category="env")
        begun = time.monotonic()
        made = await tenant.call("owner", "POST", path, document)
        assert made.status_code == 201, made.text
        self._put(begun, "value/second/b", True, value)
        begun, _ = await self._ask(tenant, "DELETE", f"{path}/{made.json()['data']['id']}")
        self._put(begun, "value/second/b", False)

    async def _everywhere(self, tenant: Tenant) -> None:
        id_, is_ = self._sets["all"], self._random.random() < 0.5
        document = {"data": {"type": "varsets", "id": id_, "attributes": {"global": is_}}}
        begun, _ = await self._ask(tenant, "PATCH", f"/varsets/{id_}", document)
        self._put(begun, "global/all/", is_)

    async def _project(self, tenant: Tenant) -> None:
        method, begun = self._random.choice(("POST", "DELETE")), time.monotonic()
        answer = await at_projects(
            tenant, self._sets["first"], self._projects["shop"], method=method
        )
        assert answer.is_success, answer.text
        self._put(begun, "at/first/shop", method == "POST")

    async def _brief(self, tenant: Tenant) -> None:
        """Makes a set with a variable, and deletes it again."""
        begun, value = time.monotonic(), next(self._values)
        id_ = await make_set(tenant, BRIEF, "network")
        self._put(begun, f"at/{BRIEF}/network", True)
        begun = time.monotonic()
        await put(tenant, id_, "a", value, category="env")
        self._put(begun, f"value/{BRIEF}/a", True, value)
        begun, _ = await self._ask(tenant, "DELETE", f"/varsets/{id_}")
        self._note(begun, {}, frozenset({f"at/{BRIEF}/network", f"value/{BRIEF}/a"}))

    async def look(self, tenant: Tenant, what: str = "") -> Look:
        """Asks for what counts, or also for what that comes before."""
        what = what or self._random.choice(("all-vars", "effective-vars"))
        path = f"/workspaces/{tenant.workspaces['network']}/{what}"
        begun = time.monotonic()
        answer = await tenant.call("reader", "GET", path)
        ended = time.monotonic()
        assert answer.status_code == 200, answer.text
        said = [one["attributes"] for one in answer.json()["data"]]
        counted = {one["key"]: one["value"] for one in said}
        every = dict(_candidates(said)) if what == "effective-vars" else None
        look = Look(begun, ended, (counted, every))
        self.history.append(look)
        return look

    async def _ask(
        self, tenant: Tenant, method: str, path: str, document: Any = None, refused: int = 0
    ) -> tuple[float, int]:
        begun = time.monotonic()
        answer = await tenant.call("owner", method, path, document)
        assert answer.is_success or answer.status_code == refused, answer.text
        return begun, answer.status_code

    def _put(self, begun: float, name: str, is_: bool, value: str = "") -> None:
        self._note(begun, {name: value} if is_ else {}, frozenset(() if is_ else (name,)))

    def _note(
        self,
        begun: float,
        added: Mapping[str, str],
        gone: frozenset[str] = frozenset(),
        place: str | None = None,
    ) -> None:
        self.history.append(Change(begun, time.monotonic(), added, gone, place))


def _candidates(said: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], str]]:
    for winner in said:
        for one in (winner, *winner["overrides"]):
            source = one["source"]
            owner = source["name"] if source["type"] == "varsets" else ""
            yield (owner, winner["key"]), one["value"]


async def record(nodes: list[Deployment], seed: int) -> Recorder:
    """What several callers met in an organization of their own."""
    recorder = Recorder(await build_tenant(nodes[0]), seed)
    await recorder.begin()
    tenants = cycle([replace(recorder.tenant, deployment=node) for node in nodes])

    async def work(act: Callable[[Tenant], Awaitable[object]], times: int) -> None:
        tenant = next(tenants)
        for _ in range(times):
            await act(tenant)

    changes = [work(act, EACH) for act in recorder.changes()]
    await asyncio.gather(*changes, *(work(recorder.look, LOOKS) for _ in range(READERS)))
    return recorder


@pytest.mark.parametrize("rounds", [2, pytest.param(200, id="long", marks=pytest.mark.long)])
async def test_what_a_workspace_gets_is_of_one_moment_whatever_changes_meanwhile(
    nodes: list[Deployment], rounds: int
) -> None:
    for _ in range(rounds):
        seed = random.SystemRandom().randrange(2**32)
        history = (await record(nodes, seed)).history
        assert is_linearizable(history), f"seed {seed}: {history}"


async def test_one_list_of_before_a_change_makes_a_history_impossible(
    nodes: list[Deployment],
) -> None:
    recorder = await record(nodes, 1)
    assert is_linearizable(recorder.history)
    early = await recorder.look(recorder.tenant, "effective-vars")
    await recorder.change_value(recorder.tenant, "value//a")
    late = await recorder.look(recorder.tenant, "effective-vars")
    assert is_linearizable(recorder.history)
    stale = replace(late, shown=early.shown)
    assert not is_linearizable([stale if one is late else one for one in recorder.history])
