"""What contract §5 and §6 say: who is in which team, and what that gives them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.faults.model.refusals import FaultTriple, Refused

READ, WRITE, OWNER = 1, 2, 3
WORKSPACES = ("network", "payments")
Verb = Literal["add", "remove"]


@dataclass
class Team:
    """A team: who is in it and what it may do."""

    members: set[str] = field(default_factory=set)
    grants: dict[str, int] = field(default_factory=dict)
    manages: bool = False
    secret: bool = False


class Organization:
    """People and teams. Callers are users, `TEAM-token` and `organization-token`."""

    def __init__(
        self, status: Mapping[str, str], teams: Mapping[str, Team], disabled: Collection[str] = ()
    ) -> None:
        self.status = dict(status)
        self.teams = dict(teams)
        self.disabled = set(disabled)
        self.revoked: set[str] = set()
        self.trail: list[tuple[str, str]] = []

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
