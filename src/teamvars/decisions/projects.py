"""What becomes of a request to create, change or delete a project, or to put workspaces into it.

All of it locks the organization's stream, so that no project goes while a workspace comes.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Write
from teamvars.decisions.needs import (
    ToOrganization,
    ToProject,
    WhoCalls,
    WorkspacesIn,
    WorkspacesWithIds,
)
from teamvars.decisions.rows import Delete, Insert, Update, together
from teamvars.domain.access import ProjectAccess
from teamvars.domain.errors import (
    DEFAULT_STAYS,
    NAME_TAKEN,
    NO_SUCH_WORKSPACE,
    PROJECT_NOT_EMPTY,
    Kind,
    Refusal,
    refuse_all,
)
from teamvars.domain.linked import IdsDraft
from teamvars.domain.project_settings import SETTINGS
from teamvars.domain.projects import Project, ProjectDraft
from teamvars.domain.teams import Right
from teamvars.domain.workspaces import WorkspaceRecord


class KeepDefault(Write, frozen=True):
    """An organization has its default project, also where an older release has made it."""

    organization_id: str


def read(found: Found, project_id: str) -> ProjectAccess:
    """One project."""
    return to_project(found, project_id)


def create(
    found: Found, organization: str, draft: ProjectDraft, id_: str
) -> Decision[ProjectAccess]:
    """Adds a project. Refuses: forbidden, every fault of the draft, a taken name."""
    owner = found.of(ToOrganization(organization))
    owner.require(Right.MANAGE_PROJECTS)
    refuse_all(draft.all_faults())
    made = draft.applied_to(Project(id_, owner.organization.id, "", found.now))
    return together(ProjectAccess(made, owner, 0, 0), created(found, made))


def update(found: Found, project_id: str, draft: ProjectDraft) -> Decision[ProjectAccess]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: forbidden, every fault of the draft, another id than the path's, a taken name.
    """
    granted = _managed(found, project_id)
    before = granted.project
    refuse_all([*draft.all_faults(), *draft.conflicts(before)])
    after = draft.applied_to(before)
    return together(
        replace(granted, project=after),
        *([] if after == before else [changed(found, before, after)]),
    )


def delete(found: Found, project_id: str) -> Decision[None]:
    """Removes a project in which there is no workspace. Refuses: forbidden, the default one."""
    project = _managed(found, project_id).project
    if project.is_default:
        raise Refusal(DEFAULT_STAYS)
    found.require_locked([project.organization_id])
    if left := found.of(WorkspacesIn(project.id)):
        raise Refusal(PROJECT_NOT_EMPTY.filled({"workspaces": left}))
    return deleted(found, project)


def move(found: Found, project_id: str, draft: IdsDraft) -> Decision[None]:
    """Puts workspaces of its organization into a project, all or none.

    Refuses: forbidden, every fault of the draft, ids of no workspaces.
    """
    granted = to_project(found, project_id)
    granted.owner.require_moves()
    project = granted.project
    wanted = WorkspacesWithIds(project.organization_id, draft.wanted)
    known = [record.workspace.id for record in found.of(wanted)]
    refuse_all(draft.all_faults(known, NO_SUCH_WORKSPACE))
    found.require_locked([project.organization_id, *known])
    return moved(found, project, found.of(wanted))


def to_project(found: Found, project_id: str) -> ProjectAccess:
    """A project, and what the caller may do with it. Refuses: unauthenticated, not found."""
    found.of(WhoCalls())
    return found.of(ToProject(project_id))


def named(found: Found, organization_id: str, project_id: str) -> Project | None:
    """The project of an organization that is named; None: the caller sees none."""
    try:
        project = to_project(found, project_id).project
    except Refusal as refusal:
        if refusal.kind is not Kind.NOT_FOUND:
            raise
        return None
    return project if project.organization_id == organization_id else None


def created(found: Found, project: Project) -> Decision[None]:
    """A project begins."""
    note = found.note(project.organization_id, "project.create", project.id, {"name": project.name})
    return Decision(None, (kept(project), Insert(project)), (note,), taken=_TAKEN)


def changed(found: Found, before: Project, after: Project) -> Decision[None]:
    """A project becomes another."""
    renamed = {"from": before.name} if before.name != after.name else {}
    differing = SETTINGS.differing(before.settings, after.settings)
    changes = [*(["name"] if renamed else []), *differing]
    details = {"name": after.name, "changed": changes, **renamed}
    note = found.note(after.organization_id, "project.update", after.id, details)
    return Decision(None, (kept(after), Update(before, after)), (note,), taken=_TAKEN)


def deleted(found: Found, project: Project) -> Decision[None]:
    """A project ends, in which there is no workspace."""
    note = found.note(project.organization_id, "project.delete", project.id, {"name": project.name})
    return Decision(None, (Delete(Project, (project.id,)),), (note,))


def moved(found: Found, project: Project, records: Sequence[WorkspaceRecord]) -> Decision[None]:
    """Those of the workspaces come into a project that are in another; each is recorded."""
    coming = [one for one in records if one.in_project != project.id]
    writes: list[Write] = [Update(one, one.put_into(project)) for one in coming]
    notes = [
        found.note(
            one.workspace.id,
            "workspace.move",
            one.workspace.id,
            {
                "name": one.workspace.name,
                "project": project.id,
                "former-project": one.in_project,
            },
        )
        for one in coming
    ]
    return Decision(None, tuple(writes), tuple(notes))


_TAKEN = NAME_TAKEN.filled(what="a project")


def kept(project: Project) -> KeepDefault:
    """What is written before anything that refers to a project."""
    return KeepDefault(project.organization_id)


def _managed(found: Found, project_id: str) -> ProjectAccess:
    granted = to_project(found, project_id)
    granted.owner.require(Right.MANAGE_PROJECTS)
    return granted
