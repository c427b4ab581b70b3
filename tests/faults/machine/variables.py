"""Single variables: read, created, changed and deleted."""

from collections.abc import Coroutine
from functools import partial
from typing import Any

from hypothesis.stateful import rule

from tests.faults.machine.lockstep import Lockstep, if_match_header, vars_path
from tests.faults.machine.strategies import changes, if_match, keyed, new, number, who, workspace
from tests.faults.model.variables import Attributes
from tests.faults.nodes import Nodes, Reply


class VariableRules(Lockstep):
    """What callers do with single variables."""

    @rule(who=who, workspace=workspace)
    def list_variables(self, who: str, workspace: str) -> None:
        expected = partial(self.model.listed, who, workspace)
        self.agree(200, expected, lambda nodes: nodes.call(who, "GET", vars_path(nodes, workspace)))

    @rule(who=who, workspace=workspace, number=number)
    def read(self, who: str, workspace: str, number: int) -> None:
        id_ = self._variable(number)
        expected = partial(self.model.read, who, workspace, id_)
        self.agree(
            200, expected, lambda nodes: nodes.call(who, "GET", vars_path(nodes, workspace, id_))
        )

    @rule(who=who, workspace=workspace, given=new, keyed=keyed)
    def create(self, who: str, workspace: str, given: Attributes, keyed: bool) -> None:
        document = {"data": {"type": "vars", "attributes": given}}
        headers = self.key(keyed)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            return nodes.call(who, "POST", vars_path(nodes, workspace), document, headers)

        self.agree(201, partial(self.model.create, who, workspace, given), ask, keyed)

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
        id_, key = self._variable(number), self.key(keyed)
        workspace, version = self._home(id_, astray), self._version(id_, match)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            data = {"type": "vars", "id": nodes.ids[id_], "attributes": given}
            path, headers = vars_path(nodes, workspace, id_), if_match_header(nodes, version)
            return nodes.call(who, "PATCH", path, {"data": data}, headers | key)

        expected = partial(self.model.update, who, workspace, id_, given, version)
        self.agree(200, expected, ask, keyed)

    @rule(who=who, astray=number, number=number, match=if_match)
    def delete(self, who: str, astray: int, number: int, match: str | None) -> None:
        id_ = self._variable(number)
        workspace, version = self._home(id_, astray), self._version(id_, match)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            path, headers = vars_path(nodes, workspace, id_), if_match_header(nodes, version)
            return nodes.call(who, "DELETE", path, headers=headers)

        self.agree(204, partial(self.model.delete, who, workspace, id_, version), ask)

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
