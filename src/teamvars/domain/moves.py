"""Who gains and who loses when workspaces come into another project."""

from collections import Counter
from collections.abc import Mapping, Sequence

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
        """What the teams gain and lose when the workspaces come into a project."""
        on = {(one.team_id, one.workspace_id): one.level for one in self.grants}
        by_project = {(one.team_id, one.project_id): one.level for one in self.project_grants}
        found = []
        for team in self.teams:
            if team.is_owners:
                continue
            counted = Counter(
                (
                    _level(team, on, by_project, one.workspace.id, one.in_project),
                    _level(team, on, by_project, one.workspace.id, project_id),
                )
                for one in coming
            )
            found += [
                AccessChange(team, before, after, count)
                for (before, after), count in sorted(counted.items())
                if before != after
            ]
        return found


def _level(
    team: Team,
    on: Mapping[tuple[str, str], Level],
    by_project: Mapping[tuple[str, str], Level],
    workspace_id: str,
    project_id: str,
) -> Level:
    """What a team may do in a workspace of a project."""
    return max(
        level_of(team.rights),
        on.get((team.id, workspace_id), Level.NONE),
        by_project.get((team.id, project_id), Level.NONE),
    )
