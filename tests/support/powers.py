"""What everybody in an organization may do, and whether somebody gained what its giver had not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from teamvars.domain.access import Level, level_of
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.team_access import Grant
from teamvars.domain.teams import ALL_RIGHTS, Right, Rights, Team, whole

SETS = "sets of "
"""Before the id of a project: the sets of it."""


@dataclass(frozen=True)
class Power:
    """The rights of somebody, and their levels by workspace, and by project in all of it: what is
    in it, and what comes; and in the sets of a project.
    """

    is_owner: bool = False
    rights: Rights = frozenset()
    levels: Mapping[str, Level] = field(default_factory=dict)

    def level(self, id_: str) -> Level:
        if self.is_owner:
            return Level.OWNER
        everywhere = level_of(self.rights)
        if id_.startswith(SETS):
            changes_all = {Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS} <= self.rights
            everywhere = Level.MANAGE if changes_all else Level.NONE
        return max(everywhere, self.levels.get(id_, Level.NONE))

    def beyond(self, other: "Power", *, grants: bool = True) -> list[str]:
        """What it lets do that the other does not."""
        found = ["everything"] if self.is_owner and not other.is_owner else []
        found += sorted(self.rights - other.rights)
        places = [one for one in self.levels if self.level(one) > other.level(one)]
        return found + (sorted(places) if grants else [])


@dataclass
class Place:
    """Teams of an organization with their grants, members and tokens, and its workspaces with the
    projects they are in.
    """

    teams: dict[str, Team] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """The team of each."""
    project_grants: dict[str, ProjectGrant] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)

    def of_teams(self, team_ids: Iterable[str]) -> Power:
        """What those teams may do together."""
        its = [self.teams[id_] for id_ in team_ids]
        if any(team.is_owners for team in its):
            return Power(True, ALL_RIGHTS)
        ids = {team.id for team in its}
        levels: dict[str, Level] = {}
        for grant in self.project_grants.values():
            if grant.team_id in ids:
                inside = (one for one, of in self.projects.items() if of == grant.project_id)
                for place in (grant.project_id, *inside):
                    levels[place] = max(levels.get(place, Level.NONE), grant.level)
                of_sets = f"{SETS}{grant.project_id}"
                levels[of_sets] = max(levels.get(of_sets, Level.NONE), grant.set_level)
        for one in self.grants.values():
            if one.team_id in ids:
                before = levels.get(one.workspace_id, Level.NONE)
                levels[one.workspace_id] = max(before, one.level)
        return Power(False, whole(right for team in its for right in team.rights), levels)

    def teams_of(self, who: str) -> list[str]:
        """The teams whose rights a member or a token has."""
        if who in self.tokens:
            return [self.tokens[who]]
        return [id_ for id_, inside in self.members.items() if who in inside]

    def powers(self) -> dict[str, Power]:
        """By member, and by token."""
        everybody = {one for inside in self.members.values() for one in inside} | {*self.tokens}
        return {who: self.of_teams(self.teams_of(who)) for who in everybody}


def gains(
    before: Mapping[str, Power], after: Mapping[str, Power], maker: Power
) -> dict[str, list[str]]:
    """What others gained that the maker of a change did not have.

    Whoever manages membership gives whatever grants the team has: that is intended.
    """
    grants = Right.MANAGE_MEMBERSHIP not in maker.rights
    found = {}
    for who, power in after.items():
        gained = power.beyond(maker, grants=grants)
        new = [one for one in gained if one in power.beyond(before.get(who, Power()))]
        if new:
            found[who] = new
    return found
