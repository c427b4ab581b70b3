"""What becomes of a request to create, change or delete a project, or to put workspaces into it.

All of it locks the organization's stream, so that no project goes while a workspace comes.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Update, Write, rewritten, together
from teamvars.decisions.needs import (
    AccessTo,
    SetsIn,
    ToOrganization,
    ToProject,
    WhoCalls,
    WorkspacesIn,
    WorkspacesWithIds,
)
from teamvars.decisions.runners import Trust
from teamvars.decisions.set_reach import (
    SetMove,
    SetsAttached,
    detached,
    handed,
    moves,
    require_own_moves,
)
from teamvars.domain.access import ProjectAccess
from teamvars.domain.errors import (
    DEFAULT_STAYS,
    NAME_TAKEN,
    NO_SUCH_WORKSPACE,
    PROJECT_HAS_SETS,
    PROJECT_NOT_EMPTY,
    Kind,
    Refusal,
    passing_over,
    refuse_all,
)
from teamvars.domain.moves import Foreseen, MoveDraft
from teamvars.domain.names import fold
from teamvars.domain.projects import SETTINGS, Project, ProjectDraft
from teamvars.domain.tags import (
    ProjectTagRow,
    TagChange,
    Tags,
    TagsDraft,
    project_rows,
)
from teamvars.domain.teams import Right
from teamvars.domain.variable_sets import Attached, VariableSet
from teamvars.domain.workspaces import WorkspaceRecord


class KeepDefault(Write, frozen=True):
    """An organization has its default project, also where an older release has made it."""

    organization_id: str


class PutInto(Write, frozen=True):
    """Workspaces of the project's organization are in it."""

    project: Project
    workspace_ids: tuple[str, ...]


def create(
    found: Found, organization: str, draft: ProjectDraft, id_: str
) -> Decision[ProjectAccess]:
    """Adds a project. Refuses: forbidden, every fault of the draft, a taken name, too many tags."""
    owner = found.of(ToOrganization(organization))
    owner.require(Right.MANAGE_PROJECTS)
    refuse_all([*draft.all_faults(), *draft.tags.surplus(Tags(), TagChange.REPLACE)])
    made = draft.applied_to(Project(id_, owner.organization.id, "", found.now))
    bindings = draft.tags.applied_to(Tags(), TagChange.REPLACE).bindings
    return together(ProjectAccess(made, owner, 0, 0, bindings), created(found, made, bindings))


def update(found: Found, project_id: str, draft: ProjectDraft) -> Decision[ProjectAccess]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: forbidden, every fault of the draft, another id than the path's, a taken name.
    """
    before = _managed(found, project_id)
    was = Tags(bindings=before.bindings)
    surplus = draft.tags.surplus(was, TagChange.REPLACE)
    conflicts = *draft.conflicts(before.project), *draft.unlike(before)
    refuse_all([*draft.all_faults(), *conflicts, *surplus])
    bindings = draft.tags.applied_to(was, TagChange.REPLACE).bindings
    after = replace(before, project=draft.applied_to(before.project), bindings=bindings)
    return _changed(found, before, after)


def retag(
    found: Found, project_id: str, draft: TagsDraft, how: TagChange
) -> Decision[ProjectAccess]:
    """Adds or replaces bindings, all that the draft says or none; nothing new, none.

    Refuses: forbidden, every fault of the draft, too many tags.
    """
    before = _managed(found, project_id)
    was = Tags(bindings=before.bindings)
    refuse_all([*draft.all_faults(), *draft.surplus(was, how)])
    return _changed(found, before, replace(before, bindings=draft.applied_to(was, how).bindings))


def delete(found: Found, project_id: str) -> Decision[None]:
    """Removes a project in which there is no workspace, and of which there is no variable set; no
    other set is attached to it any more. Refuses: forbidden, the default one.
    """
    granted = _managed(found, project_id)
    project, owner = granted.project, granted.owner.organization
    if project.is_default:
        raise Refusal(DEFAULT_STAYS)
    found.require_locked([project.organization_id])
    if left := found.of(WorkspacesIn(project.id)):
        raise Refusal(PROJECT_NOT_EMPTY.filled({"workspaces": left}))
    if own := found.of(SetsIn(project.id)):
        raise Refusal(PROJECT_HAS_SETS.filled({"varsets": own}))
    sets = found.of(SetsAttached((owner.id, owner.name), project.id))
    found.require_locked(one.id for one in sets)
    return deleted(found, project, sets)


def move(found: Found, project_id: str, draft: MoveDraft, trust: Trust) -> Decision[None]:
    """Puts workspaces of its organization into a project, all or none.

    Refuses: forbidden, also where sensitive values of a set would come to a workspace that a runner
    is handed and the caller is no owner; every fault of the draft, ids of no workspaces.
    """
    granted, records = _moving(found, project_id, draft)
    project = granted.project
    found.require_locked([project.organization_id])
    sets = sets_moved(found, project, records)
    require_own_moves(found, sets, trust)
    require_moved_locked(found, [one.workspace.id for one in records], sets)
    return together(None, moved(found, project, records, sets))


def preview_move(found: Found, project_id: str, draft: MoveDraft, trust: Trust) -> Foreseen:
    """Who would gain and lose access by that, and which variable sets would come and go, for
    whoever may do it. Refuses as that does.
    """
    granted, records = _moving(found, project_id, draft)
    sets = sets_moved(found, granted.project, records)
    require_own_moves(found, sets, trust)
    return _foreseen(found, granted, records, sets, trust)


def _moving(
    found: Found, project_id: str, draft: MoveDraft
) -> tuple[ProjectAccess, Sequence[WorkspaceRecord]]:
    """The project, and the workspaces that are to be in it. Refuses: see `move`."""
    granted = to_project(found, project_id)
    granted.owner.require_moves()
    records = found.of(WorkspacesWithIds(granted.project.organization_id, draft.wanted))
    refuse_all(draft.all_faults({one.workspace.id for one in records}, NO_SUCH_WORKSPACE))
    return granted, records


def sets_moved(
    found: Found, project: Project, records: Sequence[WorkspaceRecord]
) -> Sequence[SetMove]:
    """What becomes of sets when workspaces come into a project, those that are in another."""
    return moves(found, coming_into(project, records), project.id)


def require_moved_locked(
    found: Found, workspace_ids: Iterable[str], sets: Sequence[SetMove]
) -> None:
    """Locks workspaces together with the sets that come and go: whatever locks some of both without
    the organization, as a copy does, locks them in the order of their ids.
    """
    found.require_locked([*workspace_ids, *(one.standing.set.id for one in sets)])


def coming_into(project: Project, records: Sequence[WorkspaceRecord]) -> list[WorkspaceRecord]:
    """Those of the workspaces that are in another project."""
    return [one for one in records if one.in_project != project.id]


def _foreseen(
    found: Found,
    granted: ProjectAccess,
    records: Sequence[WorkspaceRecord],
    sets: Sequence[SetMove],
    trust: Trust,
) -> Foreseen:
    """Of a team that the caller does not see only that there is one is told."""
    project, owner = granted.project, granted.owner
    coming = coming_into(project, records)
    places = tuple(sorted({project.id, *(one.in_project for one in coming)}))
    spaces = tuple(one.workspace.id for one in coming)
    known = found.of(AccessTo(project.organization_id, spaces, places))
    changes = known.changes(coming, project.id)
    own = owner.sees_secret
    shown = [one for one in changes if own is None or not one.team.is_secret or one.team.id in own]
    unseen = {one.team.id for one in changes} - {one.team.id for one in shown}
    in_order = sorted(shown, key=lambda one: (fold(one.team.name), one.before, one.after))
    getting = {id_ for one in sets if one.is_sensitive for id_ in one.gained}
    runners = handed(found, project.organization_id, getting, trust).values()
    return Foreseen(
        len(coming),
        in_order,
        len(unseen),
        tuple(sorted(one.standing.set.name for one in sets if one.gained)),
        tuple(sorted(one.standing.set.name for one in sets if one.lost)),
        tuple(sorted({name for names in runners for name in names})),
    )


def to_project(found: Found, project_id: str) -> ProjectAccess:
    """A project, and what the caller may do with it. Refuses: unauthenticated, not found."""
    found.of(WhoCalls())
    return found.of(ToProject(project_id))


def named(found: Found, organization_id: str, project_id: str) -> Project | None:
    """The project of an organization that is named; None: the caller sees none."""
    with passing_over(Kind.NOT_FOUND):
        project = to_project(found, project_id).project
        return project if project.organization_id == organization_id else None
    return None


def created(found: Found, project: Project, bindings: Mapping[str, str]) -> Decision[None]:
    """A project begins."""
    note = found.note(project.organization_id, "project.create", project.id, {"name": project.name})
    tags = _tagged(project.id, {}, bindings)
    return Decision(None, (kept(project), Insert(project), *tags), (note,), taken=_TAKEN)


def changed(found: Found, was: Project, now: Project) -> Decision[None]:
    """A project becomes another."""
    return retagged(found, was, now, {}, {})


def retagged(
    found: Found,
    was: Project,
    now: Project,
    former: Mapping[str, str],
    bindings: Mapping[str, str],
) -> Decision[None]:
    """A project becomes another, and has other bindings than the former."""
    changes = ["name"] if was.name != now.name else []
    changes += SETTINGS.differing(was.settings, now.settings)
    changes += ["tag-bindings"] if former != bindings else []
    renamed = {"from": was.name} if was.name != now.name else {}
    details = {"name": now.name, "changed": changes, **renamed}
    note = found.note(now.organization_id, "project.update", now.id, details)
    own: list[Write] = [] if was == now else [Update(was, now)]
    tags = _tagged(now.id, former, bindings)
    return Decision(None, (kept(now), *own, *tags), (note,), taken=_TAKEN)


def deleted(found: Found, project: Project, attached: Sequence[VariableSet] = ()) -> Decision[None]:
    """A project ends, in which there is no workspace; the sets are not attached to it any more."""
    note = found.note(project.organization_id, "project.delete", project.id, {"name": project.name})
    gone = Attached(projects=frozenset((project.id,)))
    ended = Decision(None, (Delete(Project, (project.id,)),), (note,))
    return together(None, *(detached(found, one, gone) for one in attached), ended)


def moved(
    found: Found, project: Project, records: Sequence[WorkspaceRecord], sets: Sequence[SetMove]
) -> Decision[None]:
    """Those of the workspaces come into a project that are in another; each is recorded. They are
    attached no longer to the sets of the project that they leave.
    """
    coming = coming_into(project, records)
    ids = tuple(one.workspace.id for one in coming)
    writes = (PutInto(project, ids),) if coming else ()
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
    ended = [
        detached(found, its.standing.set, Attached(frozenset(its.ended)))
        for its in sets
        if its.ended
    ]
    return together(None, Decision(None, writes, tuple(notes)), *ended)


_TAKEN = NAME_TAKEN.filled(what="a project")


def _changed(found: Found, before: ProjectAccess, after: ProjectAccess) -> Decision[ProjectAccess]:
    if after == before:
        return Decision(after)
    tags = before.bindings, after.bindings
    return together(after, retagged(found, before.project, after.project, *tags))


def _tagged(project_id: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[Write]:
    """What is written where a project has other bindings than before."""
    former, rows = project_rows(project_id, before), project_rows(project_id, after)
    return rewritten(ProjectTagRow, former, rows)


def kept(project: Project) -> KeepDefault:
    """What is written before anything that refers to a project."""
    return KeepDefault(project.organization_id)


def _managed(found: Found, project_id: str) -> ProjectAccess:
    granted = to_project(found, project_id)
    granted.owner.require(Right.MANAGE_PROJECTS)
    return granted
