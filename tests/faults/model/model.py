"""The operations of the model, on one organization.

People, teams and workspaces go by their names, what the service assigns by its number: `var#1`,
`version#1`, and `head#1` for a workspace as it is after so many changes. Every operation returns
what must be answered; `trail` is what the audit must say.
"""

from collections.abc import Sequence
from typing import Any

from tests.faults.model.changes import KEY_TAKEN, Changes
from tests.faults.model.organization import READ, WORKSPACES, WRITE, Organization
from tests.faults.model.refusals import FaultTriple, Refused
from tests.faults.model.variables import DEFAULTS, Attributes, Name, faults, missing, name_of, shown

MOST_VARIABLES = 5
"""Of a workspace."""
FULL: FaultTriple = ("422", "workspace_full", "/data")
STALE: FaultTriple = ("412", "precondition_failed", None)
ABSENT: FaultTriple = ("404", "not_found", None)
SOURCE = "/data/relationships/source/data/id"

_AT = "/data/attributes"


class Model(Organization):
    """One organization and its variables."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.variables: dict[str, dict[str, Any]] = {}
        self.made = self.versions = 0
        self._heads: dict[tuple[str, int], str] = {}

    def listed(self, who: str, workspace: str) -> tuple[str, list[Attributes]]:
        self._need(who, workspace, READ)
        there = self._there(workspace)
        return self._show_head(workspace), [shown(there[name]) for name in sorted(there)]

    def read(self, who: str, workspace: str, id_: str) -> Attributes:
        self._need(who, workspace, READ)
        return shown(self._variable(workspace, id_))

    def create(self, who: str, workspace: str, given: Attributes) -> Attributes:
        self._need(who, workspace, WRITE)
        full = len(self._there(workspace)) >= MOST_VARIABLES
        found = faults(given, None, _AT) + missing(given, "description", at=_AT)
        variable = {"id": f"var#{self.made + 1}", "workspace": workspace, **DEFAULTS, **given}
        self._put(variable, [FULL] * full + found)
        self.made += 1
        self.trail.append((workspace, "variable.create"))
        return shown(variable)

    def update(
        self, who: str, workspace: str, id_: str, given: Attributes, if_match: str | None
    ) -> Attributes:
        before = self._writable(who, workspace, id_, if_match)
        variable = {**before, **given}
        self._put(variable, faults(given, before, _AT))
        self.trail.append((workspace, "variable.update"))
        return shown(variable)

    def delete(self, who: str, workspace: str, id_: str, if_match: str | None) -> None:
        self._writable(who, workspace, id_, if_match)
        del self.variables[id_]
        self.trail.append((workspace, "variable.delete"))

    def apply(
        self,
        who: str,
        workspace: str,
        items: Sequence[Any],
        prune: bool,
        dry_run: bool,
        if_match: str | None,
    ) -> tuple[str, Attributes]:
        self._need(who, workspace, WRITE)
        if if_match not in (None, "*", self.shown_head(workspace)):
            raise Refused(STALE)
        changes = Changes(self._there(workspace))
        changes.apply_items(items)
        if prune:
            changes.prune()
        return self._carry_out(changes, workspace, dry_run)

    def copy(
        self,
        who: str,
        workspace: str,
        source: str,
        names: Sequence[Name] | None,
        on_conflict: str,
        dry_run: bool,
    ) -> tuple[str, Attributes]:
        self._need(who, workspace, WRITE)
        changes = Changes(self._there(workspace))
        wanted = changes.named(names)
        if source == workspace:
            raise Refused(*changes.faults, ("422", "invalid_value", SOURCE))
        if source not in WORKSPACES or self._level(who, source) < READ:
            raise Refused(*changes.faults, ("404", "not_found", SOURCE))
        changes.copy(self._there(source), wanted, on_conflict, is_owner=self._owns(who))
        copied = [outcome for outcome, _, _ in changes.outcomes if outcome != "unchanged"]
        answer = self._carry_out(changes, workspace, dry_run)
        if not dry_run:
            self.trail += [(source, "variable.copy") for _ in copied]
        return answer

    def shown_head(self, workspace: str) -> str:
        """The head of the workspace as somebody was told it; `head#0` if nobody was."""
        return self._heads.get(self._moment(workspace), "head#0")

    def _show_head(self, workspace: str) -> str:
        return self._heads.setdefault(self._moment(workspace), f"head#{len(self._heads) + 1}")

    def _moment(self, workspace: str) -> tuple[str, int]:
        return workspace, sum(stream == workspace for stream, _ in self.trail)

    def _carry_out(self, changes: Changes, workspace: str, dry_run: bool) -> tuple[str, Attributes]:
        there = len(changes.there)
        full = changes.growth > 0 and there + changes.growth > MOST_VARIABLES
        if full or changes.faults:
            raise Refused(*[FULL] * full, *changes.faults)
        results = [
            self._carry_out_one(outcome, variable, workspace, names, dry_run)
            for outcome, variable, names in changes.outcomes
        ]
        return self._show_head(workspace), {"dry-run": dry_run, "results": results}

    def _carry_out_one(
        self, outcome: str, variable: Attributes, workspace: str, names: list[str], dry_run: bool
    ) -> Attributes:
        told = {"key": variable["key"], "category": variable["category"]}
        told |= {"outcome": outcome, "changed": names}
        after = {"id": None, "version-id": None, **variable}
        if dry_run and outcome == "updated":
            after["version-id"] = None
        if not dry_run and outcome != "unchanged":
            self.trail.append((workspace, f"variable.{outcome.removesuffix('d')}"))
            if outcome == "deleted":
                del self.variables[after["id"]]
            else:
                if outcome == "created":
                    self.made += 1
                    after |= {"id": f"var#{self.made}", "workspace": workspace}
                self.versions += 1
                after["version-id"] = f"version#{self.versions}"
                self.variables[after["id"]] = after
        return {**told, "id": after["id"], "version-id": after["version-id"]}

    def _there(self, workspace: str) -> dict[Name, dict[str, Any]]:
        everything = self.variables.values()
        return {name_of(one): one for one in everything if one["workspace"] == workspace}

    def _variable(self, workspace: str, id_: str) -> dict[str, Any]:
        variable = self.variables.get(id_)
        if variable is None or variable["workspace"] != workspace:
            raise Refused(ABSENT)
        return variable

    def _writable(self, who: str, workspace: str, id_: str, if_match: str | None) -> dict[str, Any]:
        self._need(who, workspace, READ)
        variable = self._variable(workspace, id_)
        self._need(who, workspace, WRITE)
        if if_match not in (None, "*", variable["version-id"]):
            raise Refused(STALE)
        return variable

    def _put(self, variable: dict[str, Any], found: list[FaultTriple]) -> None:
        if found:
            raise Refused(*found)
        other = self._there(variable["workspace"]).get(name_of(variable))
        if other is not None and other["id"] != variable["id"]:
            raise Refused(("422", KEY_TAKEN, f"{_AT}/key"))
        self.versions += 1
        variable["version-id"] = f"version#{self.versions}"
        self.variables[variable["id"]] = variable
