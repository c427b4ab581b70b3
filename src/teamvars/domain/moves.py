"""Who gains and who loses when workspaces come into another project."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from teamvars.domain.access import Level, level_of
from teamvars.domain.linked import IdsDraft
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.team_access import Grant
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import WorkspaceRecord


class MoveDraft(IdsDraft, frozen=True):
    """Workspaces that a request puts into a project, or asks what would come of it."""

    dry_run: bool = False


class AccessChange(msgspec.Struct, frozen=True):
    """What the members of a team may do in so many workspaces before, and afterwards."""

    team: Team
    before: Level
    after: Level
    workspaces: int


class Foreseen(msgspec.Struct, frozen=True):
    """What would come of a move: how many workspaces come from elsewhere, and whose access changes,
    by the names of teams. `unseen`: of how many teams that the caller does not see.

    By their names, `gained` are the variable sets that would come to some of them, and `lost` those
    that would not reach some any more; `runners` would be handed sensitive values that come.
    """

    workspaces: int
    changes: Sequence[AccessChange]
    unseen: int
    gained: Sequence[str] = ()
    lost: Sequence[str] = ()
    runners: Sequence[str] = ()


class Access(msgspec.Struct, frozen=True):
    """The teams of an organization, and what they have on some workspaces and projects."""

    teams: Sequence[Team]
    grants: Sequence[Grant]
    project_grants: Sequence[ProjectGrant]

    def changes(self, coming: Sequence[WorkspaceRecord], project_id: str) -> list[AccessChange]:
        """What the teams gain and lose when the workspaces come into a project.

        Each grant is looked at once: there may be thousands of teams, and of workspaces.
        """
        places = {one.workspace.id: one.in_project for one in coming}
        inside = Counter(places.values())
        on: dict[str, dict[str, Level]] = {}
        by_project: dict[str, dict[str, Level]] = {}
        for grant in self.grants:
            on.setdefault(grant.team_id, {})[grant.workspace_id] = grant.level
        for given in self.project_grants:
            by_project.setdefault(given.team_id, {})[given.project_id] = given.level
        found = []
        for team in self.teams:
            its = by_project.get(team.id)
            if its is None or team.is_owners:
                continue
            least, will_be = level_of(team.rights), its.get(project_id, Level.NONE)
            # How many workspaces have which level by their project, and what they have besides.
            counted: Counter[tuple[Level, Level]] = Counter()
            for place, level in its.items():
                counted[level, least] += inside[place]
            counted[Level.NONE, least] += len(coming) - counted.total()
            for id_, level in on.get(team.id, {}).items():
                was = its.get(places[id_], Level.NONE)
                counted[was, least] -= 1
                counted[was, max(level, least)] += 1
            changes: Counter[tuple[Level, Level]] = Counter()
            for (was, own), count in counted.items():
                changes[max(was, own), max(will_be, own)] += count
            found += [
                AccessChange(team, before, after, count)
                for (before, after), count in sorted(changes.items())
                if count and before != after
            ]
        return found
