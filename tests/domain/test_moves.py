"""Who gains and who loses when workspaces come into a project."""

import random
from collections import Counter

from teamvars.domain.access import Level, level_of
from teamvars.domain.moves import Access, AccessChange
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant
from teamvars.domain.team_access import AccessType, Grant, GrantLevel
from teamvars.domain.teams import Right, Team, Visibility, owners_of
from teamvars.domain.workspaces import Workspace, WorkspaceRecord
from tests.support.steps import steps_of

TARGET = "prj-0"
LEVELS: list[GrantLevel] = [Level.NONE, Level.READ, Level.WRITE]


def record(n: int, project_id: str) -> WorkspaceRecord:
    return WorkspaceRecord(Workspace(f"ws-{n}", f"w{n}", "org-1", "acme"), project_id=project_id)


def on_workspace(team: Team, one: WorkspaceRecord, level: GrantLevel) -> Grant:
    place = "org-1", team.id, one.workspace.id
    return Grant(f"tws-{place}", *place, AccessType.CUSTOM, level)


def on_project(team: Team, project_id: str, level: GrantLevel) -> ProjectGrant:
    place = "org-1", team.id, project_id
    return ProjectGrant(f"tprj-{place}", *place, ProjectAccessType.CUSTOM, level)


def team(n: int, *rights: Right) -> Team:
    return Team(f"team-{n}", "org-1", f"t{n}", Visibility.SECRET, frozenset(rights), False)


def one_by_one(access: Access, coming: list[WorkspaceRecord]) -> list[AccessChange]:
    """The same, of each team and workspace by itself."""

    def level(its: Team, workspace_id: str, project_id: str) -> Level:
        own = [
            one.level
            for one in access.grants
            if (one.team_id, one.workspace_id) == (its.id, workspace_id)
        ]
        given = [
            one.level
            for one in access.project_grants
            if (one.team_id, one.project_id) == (its.id, project_id)
        ]
        return max([level_of(its.rights), *own, *given])

    changes = Counter(
        (its.id, level(its, one.workspace.id, one.in_project), level(its, one.workspace.id, TARGET))
        for its in access.teams
        if not its.is_owners
        for one in coming
    )
    teams = {its.id: its for its in access.teams}
    return [
        AccessChange(teams[id_], before, after, count)
        for (id_, before, after), count in sorted(changes.items())
        if before != after
    ]


def test_each_team_gains_and_loses_what_it_would_of_each_workspace_by_itself() -> None:
    chance = random.Random(1)
    for _ in range(500):
        rights = [[], [Right.READ_WORKSPACES], [Right.MANAGE_WORKSPACES]]
        teams = [*(team(n, *chance.choice(rights)) for n in (1, 2)), owners_of("org-1", "team-3")]
        coming = [record(n, chance.choice(["prj-1", "prj-2"])) for n in range(chance.randint(0, 4))]
        access = Access(
            teams,
            [
                on_workspace(its, one, chance.choice(LEVELS))
                for its in teams
                for one in coming
                if chance.random() < 0.5
            ],
            [
                on_project(its, id_, chance.choice(LEVELS))
                for its in teams
                for id_ in (TARGET, "prj-1", "prj-2")
                if chance.random() < 0.5
            ],
        )
        assert access.changes(coming, TARGET) == one_by_one(access, coming)


def test_what_comes_of_a_move_is_no_more_work_for_each_team_where_more_workspaces_come() -> None:
    def steps(many: int) -> int:
        teams = [team(n, Right.READ_WORKSPACES) for n in range(many)]
        coming = [record(n, f"prj-{n + 1}") for n in range(many)]
        given = [on_project(its, TARGET, Level.WRITE) for its in teams]
        return steps_of(lambda: Access(teams, (), given).changes(coming, TARGET))

    assert steps(80) < 3 * steps(40)
