"""The model: what contract §4 to §6 says of one organization, without storage, HTTP or time.

People, teams and workspaces go by their names, what the service assigns by its number: `var#1`,
`version#1`. Every operation returns what must be answered; `trail` is what the audit must say.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

READ, WRITE, OWNER = 1, 2, 3
FaultTriple = tuple[str, str, str | None]
Attributes = Mapping[str, Any]
Verb = Literal["add", "remove"]


class Refused(Exception):
    """The answer is a refusal with these faults: status, code, pointer."""

    def __init__(self, *faults: FaultTriple) -> None:
        self.faults = list(faults)
        statuses = {status for status, _, _ in faults}
        self.status = int(statuses.pop()) if len(statuses) == 1 else 422


@dataclass
class Team:
    """A team: who is in it and what it may do."""

    members: set[str] = field(default_factory=set)
    grants: dict[str, int] = field(default_factory=dict)
    manages: bool = False
    secret: bool = False


class Model:
    """One organization. Callers are users, `TEAM-token` and `organization-token`."""

    def __init__(
        self, status: Mapping[str, str], teams: Mapping[str, Team], disabled: Collection[str] = ()
    ) -> None:
        self.status = dict(status)
        self.teams = dict(teams)
        self.disabled = set(disabled)
        self.variables: dict[str, dict[str, Any]] = {}
        self.revoked: set[str] = set()
        self.made = self.versions = 0
        self.trail: list[tuple[str, str]] = []

    def listed(self, who: str, workspace: str) -> list[Attributes]:
        self._need(who, workspace, READ)
        found = [one for one in self.variables.values() if one["workspace"] == workspace]
        return [_shown(one) for one in sorted(found, key=lambda one: (one["key"], one["category"]))]

    def read(self, who: str, workspace: str, id_: str) -> Attributes:
        self._need(who, workspace, READ)
        return _shown(self._variable(workspace, id_))

    def create(self, who: str, workspace: str, given: Attributes) -> Attributes:
        self._need(who, workspace, WRITE)
        faults = _key_faults(given)
        if "description" not in given:
            faults.append(("422", "missing_member", "/data/attributes/description"))
        defaults: Attributes = {"value": "", "hcl": False, "sensitive": False}
        variable = {"id": f"var#{self.made + 1}", "workspace": workspace, **defaults, **given}
        self._put(variable, faults)
        self.made += 1
        self.trail.append((workspace, "variable.create"))
        return _shown(variable)

    def update(
        self, who: str, workspace: str, id_: str, given: Attributes, if_match: str | None
    ) -> Attributes:
        before = self._writable(who, workspace, id_, if_match)
        permanent = before["sensitive"] and given.get("sensitive") is False
        fault: FaultTriple = ("422", "sensitive_is_permanent", "/data/attributes/sensitive")
        by_name = {"key": _key_faults(given), "sensitive": [fault] * permanent}
        variable = {**before, **given}
        self._put(variable, [fault for name in given for fault in by_name.get(name, [])])
        self.trail.append((workspace, "variable.update"))
        return _shown(variable)

    def delete(self, who: str, workspace: str, id_: str, if_match: str | None) -> None:
        self._writable(who, workspace, id_, if_match)
        del self.variables[id_]
        self.trail.append((workspace, "variable.delete"))

    def members(self, who: str, team: str) -> list[str]:
        self._see(who, team)
        return sorted(self.teams[team].members)

    def change(self, who: str, team: str, linkage: str, verb: Verb, people: Sequence[str]) -> None:
        self._see(who, team)
        manages = any(self.teams[name].manages for name in self._acting(who))
        if not self._owns(who) and (team == "owners" or not manages):
            raise Refused(("403", "forbidden", None))
        owners = self._active_owners(self.status)
        ends = verb == "remove" and team == "owners" and owners <= set(people)
        faults: list[FaultTriple] = []
        for n, person in enumerate(people):
            if person not in self.status:
                faults.append(("404", "not_found", f"/data/{n}/id"))
            elif verb == "add" and linkage == "users" and self.status[person] == "invited":
                faults.append(("422", "invitation_not_accepted", f"/data/{n}/id"))
            elif ends and person in owners:
                faults.append(("422", "last_owner", f"/data/{n}/id"))
        if faults:
            raise Refused(*faults)
        members, named = self.teams[team].members, set(people)
        after = members | named if verb == "add" else members - named
        if after != members:
            self.teams[team].members = after
            self.trail.append((team, f"member.{verb}"))

    def grant(self, team: str, grants: Mapping[str, int]) -> None:
        before = self.teams[team].grants
        changed = [space for space, level in grants.items() if before.get(space) != level]
        self.trail += [(team, "grant.put") for _ in changed]
        self.trail += [(team, "grant.remove")] if before.keys() - grants.keys() else []
        self.teams[team].grants = dict(grants)

    def set_status(self, person: str, status: str) -> None:
        after = {**self.status, person: status}
        if self._active_owners(self.status) and not self._active_owners(after):
            raise Refused(("422", "last_owner", None))
        self.status = after

    def disable(self, person: str) -> None:
        if self._active_owners(self.status) == {person}:
            raise Refused(("422", "last_owner", None))
        self.disabled.add(person)

    def enable(self, person: str) -> None:
        self.disabled.discard(person)

    def _active_owners(self, status: Mapping[str, str]) -> set[str]:
        owners = self.teams["owners"].members
        return {one for one in owners - self.disabled if status[one] == "active"}

    def _acting(self, who: str) -> set[str]:
        """The teams whose rights the caller has."""
        if who in self.revoked | self.disabled:
            raise Refused(("401", "unauthenticated", None))
        if who.endswith("-token"):
            return {who.removesuffix("-token")} & self.teams.keys()
        in_ = {name for name, team in self.teams.items() if who in team.members}
        return in_ if self.status.get(who) == "active" else set()

    def _owns(self, who: str) -> bool:
        return "owners" in self._acting(who) or who == "organization-token"

    def _level(self, who: str, workspace: str) -> int:
        acting = self._acting(who)
        levels = (self.teams[team].grants.get(workspace, 0) for team in acting)
        return OWNER if self._owns(who) else max(levels, default=0)

    def _need(self, who: str, workspace: str, level: int) -> None:
        if self._level(who, workspace) < READ:
            raise Refused(("404", "not_found", None))
        if self._level(who, workspace) < level:
            raise Refused(("403", "forbidden", None))

    def _see(self, who: str, team: str) -> None:
        acting = self._acting(who)
        inside = bool(acting) or self.status.get(who) == "active"
        seen = inside and (team in acting or not self.teams[team].secret)
        if not self._owns(who) and not seen:
            raise Refused(("404", "not_found", None))

    def _variable(self, workspace: str, id_: str) -> dict[str, Any]:
        variable = self.variables.get(id_)
        if variable is None or variable["workspace"] != workspace:
            raise Refused(("404", "not_found", None))
        return variable

    def _writable(self, who: str, workspace: str, id_: str, if_match: str | None) -> dict[str, Any]:
        self._need(who, workspace, READ)
        variable = self._variable(workspace, id_)
        self._need(who, workspace, WRITE)
        if if_match not in (None, "*", variable["version-id"]):
            raise Refused(("412", "precondition_failed", None))
        return variable

    def _put(self, variable: dict[str, Any], faults: list[FaultTriple]) -> None:
        if faults:
            raise Refused(*faults)
        place = ("workspace", "key", "category")
        for other in self.variables.values():
            taken = all(other[name] == variable[name] for name in place)
            if taken and other["id"] != variable["id"]:
                raise Refused(("422", "key_taken", "/data/attributes/key"))
        self.versions += 1
        variable["version-id"] = f"version#{self.versions}"
        self.variables[variable["id"]] = variable


def _key_faults(given: Attributes) -> list[FaultTriple]:
    key = given.get("key", "key")
    good = key and not set(" =\n") & set(key)
    return [] if good else [("422", "invalid_value", "/data/attributes/key")]


def _shown(variable: Attributes) -> Attributes:
    value = None if variable["sensitive"] else variable["value"]
    return {name: x for name, x in {**variable, "value": value}.items() if name != "workspace"}
