"""Many variables at once: applies and copies."""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.faults.machine.lockstep import if_match_header
from tests.faults.machine.strategies import (
    changer,
    head,
    items,
    keyed,
    names,
    on_conflict,
    source,
    workspace,
)
from tests.faults.machine.variables import VariableRules
from tests.faults.model.organization import WORKSPACES
from tests.faults.model.variables import Name
from tests.faults.nodes import Nodes, Reply

dry_run = st.sampled_from((False, False, False, True))


class ApplyRules(VariableRules):
    """What callers make of a workspace with one request."""

    @rule(
        who=changer,
        workspace=workspace,
        items=items,
        prune=st.booleans(),
        dry_run=dry_run,
        match=head,
        keyed=keyed,
    )
    def apply(
        self,
        who: str,
        workspace: str,
        items: list[Any],
        prune: bool,
        dry_run: bool,
        match: str | None,
        keyed: bool,
    ) -> None:
        if match == "now":
            self.list_variables(who, workspace)
            match = self.model.shown_head(workspace)
        document = {"data": items, "meta": {"prune": prune, "dry-run": dry_run}}
        key = self.key(keyed)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            path, headers = _action(nodes, workspace, "apply"), if_match_header(nodes, match)
            return nodes.call(who, "POST", path, document, headers | key)

        expected = partial(self.model.apply, who, workspace, items, prune, dry_run, match)
        self.agree(200, expected, ask, keyed and not dry_run)

    @rule(
        who=changer,
        workspace=workspace,
        source=source,
        names=names,
        on_conflict=on_conflict,
        dry_run=dry_run,
        keyed=keyed,
    )
    def copy(
        self,
        who: str,
        workspace: str,
        source: str,
        names: Sequence[Name] | None,
        on_conflict: str,
        dry_run: bool,
        keyed: bool,
    ) -> None:
        if source in ("other", "same"):
            there = {workspace} if source == "same" else {*WORKSPACES} - {workspace}
            (source,) = there
        key = self.key(keyed)
        attributes: dict[str, object] = {"on-conflict": on_conflict}
        if names is not None:
            attributes["keys"] = [{"key": key, "category": category} for key, category in names]

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            linkage = {"type": "workspaces", "id": nodes.workspace_id(source)}
            data = {
                "type": "copies",
                "attributes": attributes,
                "relationships": {"source": {"data": linkage}},
            }
            document = {"data": data, "meta": {"dry-run": dry_run}}
            path = _action(nodes, workspace, "copy")
            return nodes.call(who, "POST", path, document, key)

        expected = partial(self.model.copy, who, workspace, source, names, on_conflict, dry_run)
        self.agree(200, expected, ask, keyed and not dry_run)


def _action(nodes: Nodes, workspace: str, action: str) -> str:
    return f"/workspaces/{nodes.tenant.workspaces[workspace]}/actions/{action}"
