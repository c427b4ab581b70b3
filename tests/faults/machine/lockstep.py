"""A machine that puts every operation to the model and to several stores."""

import asyncio
import copy
import itertools
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.faults.machine.strategies import number
from tests.faults.model.model import Model
from tests.faults.model.refusals import FaultTriple, Refused
from tests.faults.nodes import Nodes, Reply, model_of_tenant
from tests.support.deployment import Deployment

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
        self.stores: list[Nodes] = self.all(map(Nodes.settle, self.deployments))
        self.kept: list[Kept] = []
        self._keys = itertools.count(1)

    @rule(number=number)
    def repeat(self, number: int) -> None:
        """Sends again what was sent with a key, to whichever node's turn it is."""
        if not self.kept:
            return
        kept = self.kept[number % len(self.kept)]
        replies: list[Reply] = self.all(map(kept.ask, self.stores))
        lacking = [fault for fault in self._faults_of(kept.expected) if fault[0] in LACKS_RIGHT]
        if not lacking:
            wanted = self._as_kept(kept.seen)
            assert {reply.seen for reply in replies} == {wanted}, (replies, wanted, kept)
            return
        for reply in replies:
            assert (reply.status, reply.faults) == (Refused(*lacking).status, lacking), reply

    def teardown(self) -> None:
        trails = self.all(nodes.trail() for nodes in self.stores)
        for trail in trails:
            for stream, actions in trail.items():
                assert actions == [action for name, action in self.model.trail if name == stream]

    def agree(
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
        replies: list[Reply] = self.all(map(ask, self.stores))
        for reply in replies:
            shown = reply.status, reply.faults, reply.data
            assert shown == wanted, differences(shown, wanted)
        # And all the rest of the answers, which the model does not know.
        assert len({reply.seen for reply in replies}) == 1, [reply.seen for reply in replies]
        if keyed and wanted[0] == success:
            self.kept.append(Kept(expected, ask, replies[0].seen))

    def _as_kept(self, seen: str) -> str:
        """That answer as a repeat shows it: values only of what is at the same version still."""
        head, body = seen.split(" {", 1)
        document = json.loads("{" + body)
        data = document.get("data", [])
        for variable in data if isinstance(data, list) else [data]:
            attributes = variable.get("attributes", {})
            now = self.model.variables.get(variable["id"], {})
            if "value" in attributes and now.get("version-id") != attributes["version-id"]:
                attributes["value"] = None
        return f"{head} {json.dumps(document)}"

    def _faults_of(self, expected: partial[Any]) -> Sequence[FaultTriple]:
        """What the model would refuse the operation for, if it were made now."""
        try:
            getattr(copy.deepcopy(self.model), expected.func.__name__)(*expected.args)
        except Refused as refused:
            return refused.faults
        return ()

    def key(self, keyed: bool) -> dict[str, str]:
        """The header with a new key, or none."""
        return {"Idempotency-Key": f"key-{next(self._keys)}"} if keyed else {}

    def all(self, works: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Does them on the event loop of the stores, which is another thread's."""

        async def together() -> list[Any]:
            return await asyncio.gather(*works)

        return asyncio.run_coroutine_threadsafe(together(), self.loop).result()


def differences(shown: Any, wanted: Any, at: str = "") -> list[str]:
    """Where an answer is another than the model's, a line each."""
    if isinstance(shown, list | tuple) and isinstance(wanted, list | tuple):
        shown, wanted = dict(enumerate(shown)), dict(enumerate(wanted))
    if isinstance(shown, Mapping) and isinstance(wanted, Mapping):
        return [
            line
            for name in sorted(shown.keys() | wanted.keys())
            for line in differences(shown.get(name), wanted.get(name), f"{at}/{name}")
        ]
    return [f"{at}: {shown!r}, and the model has {wanted!r}"] if shown != wanted else []


def vars_path(nodes: Nodes, workspace: str, id_: str | None = None) -> str:
    """The path of a workspace's variables, or of one of them."""
    path = nodes.tenant.vars_path(workspace)
    return path if id_ is None else f"{path}/{nodes.ids[id_]}"


def if_match_header(nodes: Nodes, version: str | None) -> dict[str, str]:
    """The condition that something is at that version still; one nobody was told is nobody's."""
    if version is None:
        return {}
    return {"If-Match": "*" if version == "*" else f'"{nodes.ids.get(version, "none")}"'}
