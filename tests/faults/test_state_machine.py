"""Random operations by callers with different rights: every store answers what the model says.

One run drives SQLite, PostgreSQL and two nodes on one PostgreSQL database in step. A failure shows
the shortest sequence of operations that fails, and the seed: `pytest --hypothesis-seed=N` repeats
the run. `pytest -m long` makes a large one.
"""

import asyncio
import copy
import itertools
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.faults.model import Attributes, FaultTriple, Model, Refused, Verb
from tests.faults.nodes import Nodes, Reply, model_of_tenant, open_nodes
from tests.support.deployment import Deployment
from tests.support.postgres import Postgres

PEOPLE = (
    *("owner", "writer", "reader", "manager", "hidden", "plain", "disabled"),
    *("invited_writer", "outsider"),
)
CALLERS = (*PEOPLE, "owners-token", "writers-token", "organization-token")
MEMBERS = (*PEOPLE[:-1], "invited")

# Mostly those who may do something: else there would be little to do it to.
who = st.sampled_from(("owner", "owner", "writer", "organization-token")) | st.sampled_from(CALLERS)
workspace = st.sampled_from(("network", "network", "payments"))
team = st.sampled_from(("crew", "crew", "owners", "writers", "managers", "secret"))
linkage = st.sampled_from(("users", "organization-memberships"))
number = st.integers(0, 1000)
if_match = st.sampled_from((None, None, None, "now", "version#1", "*"))
attributes: dict[str, st.SearchStrategy[object]] = {
    "key": st.sampled_from(("A", "a", "b", "b", "ü", "", "a b")),
    "value": st.sampled_from(("1", '"eu"', "[1, 2]", '"grüß\\n"')),
    "description": st.sampled_from(("", "what it is for")),
    "category": st.sampled_from(("tool", "env")),
    "hcl": st.booleans(),
    "sensitive": st.booleans(),
}
_always = {name: attributes[name] for name in ("key", "value", "category")}
new = st.fixed_dictionaries(
    _always, optional={k: v for k, v in attributes.items() if k not in _always}
) | st.fixed_dictionaries({**_always, "description": attributes["description"]})
changes = st.fixed_dictionaries({}, optional=attributes)
keyed = st.booleans()

LACKS_RIGHT = ("401", "403", "404")


@dataclass(frozen=True)
class Kept:
    """A change that was made with a key: what the model makes of it, and what was answered."""

    expected: partial[Any]
    ask: Callable[[Nodes], Coroutine[Any, Any, Reply]]
    seen: str


class Lockstep(RuleBasedStateMachine):
    """Puts every operation to the model and to every store; all must answer the same."""

    deployments: ClassVar[Sequence[Sequence[Deployment]]]
    loop: ClassVar[asyncio.AbstractEventLoop]
    model_type: ClassVar[Callable[[], Model]] = model_of_tenant

    def __init__(self) -> None:
        super().__init__()
        self.model = type(self).model_type()
        self.stores: list[Nodes] = self._all(map(Nodes.settle, self.deployments))
        self.kept: list[Kept] = []
        self._keys = itertools.count(1)

    @initialize()
    def begin(self) -> None:
        given = {"key": "b", "value": "1", "description": "", "category": "tool"}
        for change in ({}, {"category": "env"}, {"key": "a", "sensitive": True}):
            self.create("owner", "network", given | change, keyed=False)
        self.create("owner", "payments", given, keyed=False)

    @rule(who=who, workspace=workspace)
    def list_variables(self, who: str, workspace: str) -> None:
        expected = partial(self.model.listed, who, workspace)
        self._agree(200, expected, lambda nodes: nodes.call(who, "GET", _vars(nodes, workspace)))

    @rule(who=who, workspace=workspace, number=number)
    def read(self, who: str, workspace: str, number: int) -> None:
        id_ = self._variable(number)
        expected = partial(self.model.read, who, workspace, id_)
        self._agree(
            200, expected, lambda nodes: nodes.call(who, "GET", _vars(nodes, workspace, id_))
        )

    @rule(who=who, workspace=workspace, given=new, keyed=keyed)
    def create(self, who: str, workspace: str, given: Attributes, keyed: bool) -> None:
        document = {"data": {"type": "vars", "attributes": given}}
        headers = self._key(keyed)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            return nodes.call(who, "POST", _vars(nodes, workspace), document, headers)

        self._agree(201, partial(self.model.create, who, workspace, given), ask, keyed)

    @rule(who=who, astray=number, number=number, given=changes, match=if_match, keyed=keyed)
    def update(
        self,
        who: str,
        astray: int,
        number: int,
        given: Attributes,
        match: str | None,
        keyed: bool,
    ) -> None:
        id_, key = self._variable(number), self._key(keyed)
        workspace, version = self._home(id_, astray), self._version(id_, match)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            data = {"type": "vars", "id": nodes.ids[id_], "attributes": given}
            path, headers = _vars(nodes, workspace, id_), _if_match(nodes, version)
            return nodes.call(who, "PATCH", path, {"data": data}, headers | key)

        expected = partial(self.model.update, who, workspace, id_, given, version)
        self._agree(200, expected, ask, keyed)

    @rule(who=who, astray=number, number=number, match=if_match)
    def delete(self, who: str, astray: int, number: int, match: str | None) -> None:
        id_ = self._variable(number)
        workspace, version = self._home(id_, astray), self._version(id_, match)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            path, headers = _vars(nodes, workspace, id_), _if_match(nodes, version)
            return nodes.call(who, "DELETE", path, headers=headers)

        self._agree(204, partial(self.model.delete, who, workspace, id_, version), ask)

    @rule(who=who, team=team, linkage=linkage)
    def list_members(self, who: str, team: str, linkage: str) -> None:
        expected = partial(self.model.members, who, team)
        self._agree(
            200, expected, lambda nodes: nodes.call(who, "GET", _linkage(nodes, team, linkage))
        )

    @rule(
        who=who,
        team=team,
        linkage=linkage,
        verb=st.sampled_from(("add", "remove")),
        people=st.lists(st.sampled_from((*MEMBERS, "owner", "outsider")), max_size=3),
        keyed=keyed,
    )
    def change_members(
        self, who: str, team: str, linkage: str, verb: Verb, people: list[str], keyed: bool
    ) -> None:
        headers = self._key(keyed)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            items = [{"type": linkage, "id": nodes.member_id(person, linkage)} for person in people]
            method = "POST" if verb == "add" else "DELETE"
            path = _linkage(nodes, team, linkage)
            return nodes.call(who, method, path, {"data": items}, headers)

        expected = partial(self.model.change, who, team, linkage, verb, people)
        self._agree(204, expected, ask, keyed and verb == "add")

    @rule(number=number)
    def repeat(self, number: int) -> None:
        """Sends again what was sent with a key, to whichever node's turn it is."""
        if not self.kept:
            return
        kept = self.kept[number % len(self.kept)]
        replies: list[Reply] = self._all(map(kept.ask, self.stores))
        lacking = [fault for fault in self._faults_of(kept.expected) if fault[0] in LACKS_RIGHT]
        if not lacking:
            assert {reply.seen for reply in replies} == {kept.seen}
            return
        for reply in replies:
            assert (str(reply.status), reply.faults) == (lacking[0][0], lacking)

    @rule(
        team=st.sampled_from(("writers", "readers", "crew")),
        grants=st.dictionaries(st.sampled_from(("network", "payments")), st.sampled_from((1, 2))),
    )
    def grant(self, team: str, grants: dict[str, int]) -> None:
        expected = partial(self.model.grant, team, grants)
        self._agree(204, expected, lambda nodes: nodes.grant(team, grants))

    @rule(person=st.sampled_from(MEMBERS), status=st.sampled_from(("active", "invited")))
    def set_status(self, person: str, status: str) -> None:
        expected = partial(self.model.set_status, person, status)
        self._agree(204, expected, lambda nodes: nodes.set_status(person, status))

    @rule(person=st.sampled_from(("owner", "writer", "manager", "disabled")))
    def disable_or_enable(self, person: str) -> None:
        verb = "enable" if person in self.model.disabled else "disable"
        expected = partial(getattr(self.model, verb), person)
        self._agree(204, expected, lambda nodes: getattr(nodes, verb)(person))

    @rule(who=st.sampled_from(("writer", "reader", "manager", "writers-token")))
    def revoke_or_issue(self, who: str) -> None:
        again = who in self.model.revoked
        if again and who in self.model.disabled:
            return  # the operator is refused a token that would be refused
        self._all(nodes.issue(who) if again else nodes.revoke(who) for nodes in self.stores)
        self.model.revoked ^= {who}
        # A key is the token's.
        self.kept = [kept for kept in self.kept if kept.expected.args[0] != who]

    def teardown(self) -> None:
        trails = self._all(nodes.trail() for nodes in self.stores)
        for trail in trails:
            for stream, actions in trail.items():
                assert actions == [action for name, action in self.model.trail if name == stream]

    def _agree(
        self,
        success: int,
        expected: partial[Any],
        ask: Callable[[Nodes], Coroutine[Any, Any, Reply]],
        keyed: bool = False,
    ) -> None:
        wanted: tuple[object, ...]
        try:
            wanted = (success, [], expected())
        except Refused as refused:
            wanted = (refused.status, refused.faults, None)
        replies: list[Reply] = self._all(map(ask, self.stores))
        for reply in replies:
            assert (reply.status, reply.faults, reply.data) == wanted
        # And all the rest of the answers, which the model does not know.
        assert len({reply.seen for reply in replies}) == 1, [reply.seen for reply in replies]
        if keyed and wanted[0] == success:
            self.kept.append(Kept(expected, ask, replies[0].seen))

    def _faults_of(self, expected: partial[Any]) -> Sequence[FaultTriple]:
        """What the model would refuse the operation for, if it were made now."""
        try:
            getattr(copy.deepcopy(self.model), expected.func.__name__)(*expected.args)
        except Refused as refused:
            return refused.faults
        return ()

    def _key(self, keyed: bool) -> dict[str, str]:
        """The header with a new key, or none."""
        return {"Idempotency-Key": f"key-{next(self._keys)}"} if keyed else {}

    def _all(self, works: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Does them on the event loop of the stores, which is another thread's."""

        async def together() -> list[Any]:
            return await asyncio.gather(*works)

        return asyncio.run_coroutine_threadsafe(together(), self.loop).result()

    def _variable(self, number: int) -> str:
        """Mostly one that is there; else the last one made, or `var#0`, which never was."""
        there = [*self.model.variables] * 4
        pool = [*there, f"var#{self.model.made}", "var#0"]
        return pool[number % len(pool)]

    def _home(self, id_: str, astray: int) -> str:
        """Mostly the variable's own workspace."""
        home: str = self.model.variables.get(id_, {}).get("workspace", "network")
        return home if astray % 8 else "payments"

    def _version(self, id_: str, match: str | None) -> str | None:
        now: str = self.model.variables.get(id_, {}).get("version-id", "version#1")
        return now if match == "now" else match


def _vars(nodes: Nodes, workspace: str, id_: str | None = None) -> str:
    path = nodes.tenant.vars_path(workspace)
    return path if id_ is None else f"{path}/{nodes.ids[id_]}"


def _linkage(nodes: Nodes, team: str, linkage: str) -> str:
    return nodes.tenant.linkage_path(team, linkage)


def _if_match(nodes: Nodes, version: str | None) -> dict[str, str]:
    if version is None:
        return {}
    return {"If-Match": "*" if version == "*" else f'"{nodes.ids.get(version, "none")}"'}


@pytest.fixture(scope="module")
async def deployments(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[list[Deployment]]]:
    """One node on SQLite, one on PostgreSQL, two on another database of PostgreSQL."""
    names = [f"machine-{uuid4()}" for _ in range(2)]
    for name in names:
        postgres.create_database(name)
    urls = [f"sqlite:///{tmp_path_factory.mktemp('machine')}/teamvars.db"]
    urls += [postgres.url(name) for name in names]
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(open_nodes(url, count))
            for url, count in zip(urls, (1, 1, 2), strict=True)
        ]
    for name in names:
        postgres.drop_database(name)


async def run_machine(
    request: pytest.FixtureRequest,
    deployments: list[list[Deployment]],
    config: settings,
    model_type: Callable[[], Model] = model_of_tenant,
) -> None:
    """Runs hypothesis beside the event loop on which the stores are."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    request.addfinalizer(structlog.reset_defaults)
    given = request.config.getoption("--hypothesis-seed")
    chosen = given or random.SystemRandom().randrange(2**32)
    print(f"pytest --hypothesis-seed={chosen}")  # noqa: T201 - shown when it fails

    class Bound(Lockstep):
        pass

    Bound.deployments = deployments
    Bound.loop = asyncio.get_running_loop()
    Bound.model_type = staticmethod(model_type)
    machine = seed(int(chosen))(Bound)
    await asyncio.to_thread(run_state_machine_as_test, machine, settings=config)


def at_most(examples: int, steps: int, **more: Any) -> settings:
    """How much to try."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(at_most(30, 35), id="short"),
        pytest.param(at_most(1500, 80), id="long", marks=pytest.mark.long),
    ],
)
async def test_every_store_answers_as_the_model_and_leaves_its_trail(
    request: pytest.FixtureRequest, deployments: list[list[Deployment]], config: settings
) -> None:
    await run_machine(request, deployments, config)
    for nodes in deployments:
        assert await nodes[-1].audit_holds()


def forgetful() -> Model:
    """A model that forgets that an invited member has no rights yet."""
    model = model_of_tenant()
    model.status |= {"invited_writer": "active"}
    return model


async def test_the_machine_notices_when_one_rule_is_missing(
    request: pytest.FixtureRequest, deployments: list[list[Deployment]]
) -> None:
    config = at_most(200, 30, phases=[Phase.generate], database=None)
    with pytest.raises(AssertionError):
        await run_machine(request, deployments, config, forgetful)
