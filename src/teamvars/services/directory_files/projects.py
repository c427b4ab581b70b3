"""What a directory file makes of an organization's projects, and which workspaces it puts there."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from teamvars.decisions import Decision, Found, projects
from teamvars.decisions.needs import DetailsOf
from teamvars.decisions.set_reach import SetMove
from teamvars.domain.directory import OrganizationEntry, ProjectEntry
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.projects import PREFIX, Project
from teamvars.domain.set_effects import Standing
from teamvars.domain.tags import Tags, surplus
from teamvars.domain.variable_sets import Attached, VariableSet
from teamvars.domain.workspaces import Workspace, WorkspaceRecord
from teamvars.services.directory_files.actual import OrganizationState, Part, unnamed
from teamvars.services.directory_files.changeset import Changeset, Step


class Projects(Part):
    """Compares the projects of one organization's entry with its `state`."""

    def __init__(
        self, entry: OrganizationEntry, state: OrganizationState, changeset: Changeset
    ) -> None:
        super().__init__(entry, state, changeset)
        self._of: defaultdict[str | None, list[VariableSet]] = defaultdict(list)
        """The sets of each project, and those of none."""
        for one in state.sets.values():
            self._of[one.project_id].append(one)

    def apply(self) -> None:
        """Renames, adds and tags what the file names."""
        state, changeset = self._state, self._changeset
        names = state.names("project", state.projects, self._entry.projects)
        names.rename(changeset, Step.RENAME_PROJECT, projects.changed)
        names.object_to(changeset)
        for entry in self._entry.projects:
            self._apply(entry)

    def meant(self, workspace: str) -> Project | None:
        """The project that the file puts a workspace into; None: it does not say. Refuses one that
        is not there.
        """
        name = self._entry.placed.get(workspace)
        if name is None:
            return None
        found = self._state.projects.get(fold(name))
        if found is None:
            hint = self._state.former["project"].hint(name)
            path = f"{self._state.name}/{workspace}"
            at = self._entry.workspace_at.get(workspace, self._entry.at)
            self._changeset.refuse(f"Workspace {path}: there is no project {name}.{hint}", at)
        return found

    def put(self, workspace: Workspace, project: Project) -> None:
        """A workspace comes into a project, unless it is there."""
        state, changeset = self._state, self._changeset
        if state.project_of(workspace.id) == project.id:
            return
        ended = self._left_by(workspace)
        state.placed[workspace.id] = project.id
        path = f"{state.name}/{workspace.name}"
        told = [
            f"move workspace {path} to project {project.name}",
            *(
                f"detach variable set {state.name}/{one.name} from workspace {workspace.name}"
                for one in ended
            ),
        ]
        sets = [_ended(one, workspace) for one in ended]
        changeset.add(Step.MOVE_WORKSPACE, told, _moved, workspace, project, sets)
        changeset.changed_workspaces.add(workspace.id)
        changeset.changed_sets |= {one.id for one in ended}

    def _left_by(self, workspace: Workspace) -> Sequence[VariableSet]:
        """The sets of the project that a workspace leaves, to which it is attached no longer."""
        attached, ended = self._state.attached, []
        for one in self._of[self._state.project_of(workspace.id)]:
            if workspace.id in attached[one.id]:
                attached[one.id] -= {workspace.id}
                ended.append(one)
        return ended

    def prune(self) -> None:
        """Removes the projects that the file does not name, once the same is done to workspaces.
        Refuses those that some are in.
        """
        state, changeset = self._state, self._changeset
        inside = Counter(state.project_of(one.id) for one in state.workspaces.values())
        there = dict(sorted(state.projects.items()))
        for project in unnamed(there, (one.name for one in self._entry.projects)):
            if project.is_default:
                continue
            path = f"{state.name}/{project.name}"
            if left := inside[project.id]:
                detail = (
                    f"Project {path} is not in the file. Workspaces that are in it: {left}. Name "
                    "it, or say of each of them which project it is in."
                )
                changeset.refuse(detail, self._entry.at)
            changeset.add(
                Step.DELETE_PROJECT, [f"delete project {path}"], projects.deleted, project
            )
            del state.projects[fold(project.name)]

    def _apply(self, entry: ProjectEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.projects.get(fold(entry.name))
        project = before or Project(new_id(PREFIX), state.id, entry.name, changeset.now)
        former = state.bindings.get(project.id, {})
        wanted = former if entry.tag_bindings is None else entry.tag_bindings
        path = f"project {state.name}/{project.name}"
        for fault in surplus(Tags(bindings=former), Tags(bindings=wanted)):
            detail = f"Project {state.name}/{project.name}: {fault.detail}"
            changeset.refuse(detail, entry.at, fault.code)
        if before is None:
            state.projects[fold(project.name)] = project
            told = [f"create {path}"]
            changeset.add(Step.CREATE_PROJECT, told, projects.created, project, wanted)
        elif wanted != former:
            told, tagged = [f"change the tags of {path}"], (project, project, former, wanted)
            changeset.add(Step.TAG_PROJECT, told, projects.retagged, *tagged)


def _ended(one: VariableSet, workspace: Workspace) -> SetMove:
    standing = Standing(one, Attached(frozenset((workspace.id,))))
    return SetMove(standing, False, (), (), (workspace.id,))


def _moved(
    found: Found, workspace: Workspace, project: Project, sets: Sequence[SetMove]
) -> Decision[None]:
    return projects.moved(found, project, [record_of(found, workspace)], sets)


def record_of(found: Found, workspace: Workspace) -> WorkspaceRecord:
    """All that is stored of a workspace that changes, which the file may have renamed."""
    known = found.of(DetailsOf(workspace.id))
    return WorkspaceRecord(workspace, known.settings, known.locked_by, known.tags, known.project_id)
