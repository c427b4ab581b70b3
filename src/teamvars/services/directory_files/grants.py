"""What a directory file makes of the access that a team has to workspaces and to projects."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from teamvars.decisions import team_access
from teamvars.domain.access import Level
from teamvars.domain.directory import FileAccess, ProjectAccess, TeamEntry
from teamvars.domain.ids import new_id
from teamvars.domain.names import FormerNames, fold
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.projects import Project
from teamvars.domain.team_access import LEVEL_OF, Grant
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files.actual import OrganizationState
from teamvars.services.directory_files.changeset import Changeset, Step
from teamvars.storage.former_names import PROJECTS, WORKSPACES

Place = TypeVar("Place", Workspace, Project)
Said = TypeVar("Said", FileAccess, ProjectAccess)


class Grants:
    """Compares what the entry of a team says of its access with the `state`, whose workspaces and
    projects are those that there are once the file is applied.
    """

    def __init__(
        self, entry: TeamEntry, team: Team, state: OrganizationState, changeset: Changeset
    ) -> None:
        self._entry = entry
        self._team = team
        self._state = state
        self._changeset = changeset
        self._path = f"{state.name}/{team.name}"

    def apply(self) -> None:
        """Gives, changes and takes away what the file says exactly."""
        entry, state = self._entry, self._state
        if entry.workspaces is not None:
            former, at = state.former[WORKSPACES], entry.workspace_at
            self._on_workspaces(
                self._found(entry.workspaces, state.workspaces, "workspace", former, at)
            )
        if entry.projects is not None:
            former, at = state.former[PROJECTS], entry.project_at
            self._on_projects(self._found(entry.projects, state.projects, "project", former, at))

    def _found(
        self,
        said: Mapping[str, Said],
        live: Mapping[str, Place],
        kind: str,
        former: FormerNames,
        places: Mapping[str, str],
    ) -> dict[str, tuple[Place, Said]]:
        """What is to be accessible, by id; what is not there is refused."""
        found = {}
        for name, access in said.items():
            if (place := live.get(fold(name))) is not None:
                found[place.id] = place, access
                continue
            missing = f"there is no {kind} {self._state.name}/{name}.{former.hint(name)}"
            detail = f"Team {self._path}: {missing}"
            self._changeset.refuse(detail, places.get(name, self._entry.at))
        return found

    def _on_workspaces(self, wanted: Mapping[str, tuple[Workspace, FileAccess]]) -> None:
        present, changeset = self._state.grants.get(self._team.id, {}), self._changeset
        for id_, (workspace, access) in wanted.items():
            told = [f"grant {self._path} {access.value} on {workspace.name}"]
            level = LEVEL_OF[access]
            if (former := present.get(id_)) is None:
                made = Grant(new_id("tws"), self._state.id, self._team.id, id_, access, level)
                changeset.add(Step.CREATE_GRANT, told, team_access.created, made)
            elif former.access is not access:
                after = replace(former, access=access, level=level, custom={})
                changeset.add(Step.CHANGE_GRANT, told, team_access.changed, former, after)
        if gone := [present[id_] for id_ in sorted(present.keys() - wanted)]:
            names = {space.id: space.name for space in self._state.workspaces.values()}
            told = [
                f"revoke the grant of {self._path} on {names[one.workspace_id]}" for one in gone
            ]
            changeset.add(Step.DELETE_GRANTS, told, team_access.deleted, self._team.id, gone)

    def _on_projects(self, wanted: Mapping[str, tuple[Project, ProjectAccess]]) -> None:
        present, changeset = self._state.project_grants.get(self._team.id, {}), self._changeset
        for id_, (project, said) in wanted.items():
            told = [f"grant {self._path} {said.access.value} on project {project.name}"]
            if (former := present.get(id_)) is None:
                place = self._state.id, self._team.id, id_
                nothing = ProjectGrant(new_id("tprj"), *place, said.access, Level.NONE)
                step, made = Step.CREATE_PROJECT_GRANT, said.applied_to(nothing)
                changeset.add(step, told, team_access.created_on_project, made, project)
            elif (after := said.applied_to(former)) != former:
                step = Step.CHANGE_PROJECT_GRANT
                changeset.add(step, told, team_access.changed, former, after)
        if gone := [present[id_] for id_ in sorted(present.keys() - wanted)]:
            names = {one.id: one.name for one in self._state.projects.values()}
            told = [
                f"revoke the grant of {self._path} on project {names[one.project_id]}"
                for one in gone
            ]
            step = Step.DELETE_PROJECT_GRANTS
            changeset.add(step, told, team_access.deleted, self._team.id, gone)
