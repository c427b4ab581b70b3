"""What becomes of a request to create, change, lock or delete a workspace, and what it records."""

from collections.abc import Mapping, Sequence
from typing import Never

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Note,
    Update,
    Write,
    closes,
    opens,
    others,
    projects,
    rewritten,
    together,
)
from teamvars.decisions.needs import (
    BindingsOf,
    DetailsOf,
    MembershipOf,
    ProjectWithId,
    TagsWithIds,
    TeamsWithIds,
    ToOrganization,
    ToOrganizationWithId,
    ToProject,
    ToWorkspaceAt,
)
from teamvars.decisions.organizations import OrganizationView
from teamvars.decisions.runners import Trust
from teamvars.decisions.set_reach import SetsAttached, detached, require_own_moves
from teamvars.domain.access import Level, Permission, ProjectAccess
from teamvars.domain.errors import (
    NAME_TAKEN,
    NO_RUNS,
    NO_STATE,
    NO_SUCH_PROJECT,
    WORKSPACE_LOCKED,
    Code,
    Fault,
    Refusal,
    not_found,
    refuse_all,
)
from teamvars.domain.projects import Project, default_project_of
from teamvars.domain.tags import (
    Binding,
    TagChange,
    TagRow,
    Tags,
    TagsDraft,
    bindings_of,
    effective_bindings,
    rows_of,
)
from teamvars.domain.teams import Right, Visibility
from teamvars.domain.variable_sets import Attached, VariableSet
from teamvars.domain.workspaces import (
    Address,
    ExecutionMode,
    Workspace,
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceRecord,
    WorkspaceSettings,
    default_mode,
)


class WorkspaceView(msgspec.Struct, frozen=True):
    """A workspace, and what the one who looks may do in it.

    Its organization and its project are there when they were asked for.
    """

    workspace: Workspace
    details: WorkspaceDetails
    level: Level
    organization: OrganizationView | None = None
    project: ProjectAccess | None = None

    @property
    def own_bindings(self) -> list[Binding]:
        """Those of its tags that have a value, by key."""
        return bindings_of(self.workspace.id, self.details.tags.bindings)

    @property
    def effective_bindings(self) -> list[Binding]:
        """The bindings that count in it: its own, and its project's."""
        its, project_id = self.details, self.record.in_project
        return effective_bindings(self.workspace.id, its.tags.bindings, project_id, its.inherited)

    @property
    def record(self) -> WorkspaceRecord:
        """What is stored of it."""
        known = self.details
        said = known.settings, known.locked_by, known.tags, known.project_id
        return WorkspaceRecord(self.workspace, *said)


def read(found: Found, address: Address, *, related: bool = False) -> WorkspaceView:
    """One workspace, on request with its organization and its project."""
    granted = found.of(ToWorkspaceAt(address))
    granted.require_visible()
    details = found.of(DetailsOf(granted.workspace.id))
    view = WorkspaceView(granted.workspace, details, granted.level)
    if not related:
        return view
    whole = found.of(ToOrganizationWithId(granted.workspace.organization_id))
    return replace(
        view,
        organization=OrganizationView(whole.organization, whole.is_owner, whole.rights),
        project=found.of(ToProject(view.record.in_project)),
    )


def create(
    found: Found, organization: str, draft: WorkspaceDraft, id_: str
) -> Decision[WorkspaceView]:
    """Adds a workspace, to the default project unless the draft names another.

    Refuses: forbidden, every fault of the draft, a taken name.
    """
    granted = found.of(ToOrganization(organization))
    granted.require(Right.MANAGE_WORKSPACES)
    owner = granted.organization
    draft = replace(draft, tags=named(found, owner.id, draft.tags))
    draft, project = _placed(found, owner.id, draft, default_project_of(owner.id))
    home = project or found.of(ProjectWithId(default_project_of(owner.id)))
    mode = default_mode(owner.settings, home.settings)
    faults = [*draft.all_faults(), *draft.mode_faults(mode)]
    faults += draft.trigger_faults(WorkspaceSettings())
    refuse_all([*faults, *draft.tags.surplus(Tags(), TagChange.REPLACE)])
    tags = draft.tags.applied_to(Tags(), TagChange.REPLACE)
    settings, project_id = draft.new_settings(mode), None if project is None else project.id
    inherited = _inherited(found, home.id)
    details = WorkspaceDetails(settings, None, found.now, (), 0, tags, project_id, inherited)
    view = WorkspaceView(
        Workspace(id_, draft.name or "", owner.id, owner.name), details, granted.everywhere
    )
    return together(view, created(found, view.record))


def update(
    found: Found, address: Address, draft: WorkspaceDraft, trust: Trust
) -> Decision[WorkspaceView]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: forbidden, another project to whoever may not move it there, or may not bring sensitive
    values of its sets to the workspace; every fault of the draft, another id than the path's, a
    taken name.
    """
    before = permitted(found, address, Permission.MANAGE_WORKSPACE)
    former, owner_id = before.record, before.workspace.organization_id
    draft = replace(draft, tags=named(found, owner_id, draft.tags))
    draft, project = _placed(found, owner_id, draft, former.in_project)
    there = former if project is None else _put_into(found, former, project)
    modes = draft.mode_faults(there.settings.default_mode)
    faults = [*draft.all_faults(), *modes, *draft.trigger_faults(there.settings)]
    faults += draft.tags.surplus(before.details.tags, TagChange.REPLACE)
    refuse_all([*faults, *draft.conflicts(before.workspace), *draft.unlike(before)])
    settings = draft.applied_to(there.settings)
    tags = draft.tags.applied_to(before.details.tags, TagChange.REPLACE)
    parts, inherited = [], before.details.inherited
    if project is not None:
        inherited = _inherited(found, project.id)
        found.require_locked([owner_id])
        sets = projects.sets_moved(found, project, [former])
        require_own_moves(found, sets, trust)
        projects.require_moved_locked(found, [before.workspace.id], sets)
        parts.append(projects.moved(found, project, [former], sets))
    after = replace(
        before,
        workspace=replace(before.workspace, name=draft.name or before.workspace.name),
        details=replace(
            before.details,
            settings=settings,
            tags=tags,
            project_id=there.project_id,
            inherited=inherited,
        ),
    )
    if after.record != there:
        parts.append(changed(found, there, after.record))
    return together(after, *parts)


def delete(found: Found, address: Address, *, only_unlocked: bool) -> Decision[None]:
    """Removes a workspace with its variables and the grants on it; no set is attached to it any
    more.

    Refuses: forbidden, when asked to also a workspace that somebody has locked.
    """
    seen = permitted(found, address, Permission.MANAGE_WORKSPACE)
    if only_unlocked and seen.details.locked_by is not None:
        raise _locked_already(found, seen)
    one = seen.workspace
    found.require_locked([one.organization_id])
    sets = found.of(SetsAttached((one.organization_id, one.organization_name), one.id))
    # Together, as a move does: a copy locks some of both without the organization.
    found.require_locked([one.id, *(each.id for each in sets)])
    return deleted(found, one, sets)


def lock(found: Found, workspace_id: str) -> Decision[WorkspaceView]:
    """Locks a workspace for the caller.

    Refuses: forbidden to whoever may not write variables; under `local`, where clients lock what
    they are about to change, not offered; one that somebody has locked, be it the caller: two
    programs with one token are two.
    """
    seen = permitted(found, workspace_id, Permission.WRITE_VARIABLES)
    _require_no_work(seen)
    if seen.details.locked_by is not None:
        raise _locked_already(found, seen)
    return _relocked(found, seen, _caller_id(found))


def unlock(found: Found, workspace_id: str, *, force: bool) -> Decision[WorkspaceView]:
    """Unlocks a workspace that the caller has locked; an owner may force another's lock.

    Refuses: forbidden, one that nobody or another has locked.
    """
    needed = Permission.MANAGE_WORKSPACE if force else Permission.WRITE_VARIABLES
    seen = permitted(found, workspace_id, needed)
    if seen.details.locked_by is None:
        raise Refusal(Fault(Code.WORKSPACE_NOT_LOCKED, "Nobody has locked this workspace."))
    if seen.details.locked_by != _caller_id(found) and not force:
        raise _locked_already(found, seen)
    return _relocked(found, seen, None)


def ask_for_state(found: Found, workspace_id: str) -> Never:
    """What clients do before they work with the state: there is none.

    Refuses: not found; under `local` not offered. Clients take the former for an empty state, and
    under `local` they would make things of which nobody knew afterwards.
    """
    _require_no_work(read(found, workspace_id))
    raise not_found()


def need_state(found: Found, workspace_id: str) -> Never:
    """What needs a state is refused, and whoever sees the workspace is told what to do instead."""
    raise _no_state(read(found, workspace_id))


def need_runs(found: Found, workspace_id: str) -> Never:
    """What needs runs is refused, likewise."""
    raise Refusal(NO_RUNS.filled(name=_address(read(found, workspace_id))))


def created(found: Found, made: WorkspaceRecord) -> Decision[None]:
    """A workspace begins, with a stream."""
    workspace = made.workspace
    note = _noted(found, workspace, "create", opens(workspace.id))
    begun = {workspace.id: workspace.organization_id}
    writes = (Insert(made), *_retagged(workspace, Tags(), made.tags))
    return Decision(None, writes, (note,), begun, taken=_TAKEN)


def changed(found: Found, before: WorkspaceRecord, after: WorkspaceRecord) -> Decision[None]:
    """A workspace becomes another; a new name concerns the organization too."""
    former = before.workspace.name
    notes = [change_of(found, before, after)]
    if after.workspace.name != former:
        notes.append(_noted(found, after.workspace, "rename", {"from": former}))
    own = [] if replace(before, tags=after.tags) == after else [Update(before, after)]
    writes = (*own, *_retagged(after.workspace, before.tags, after.tags))
    return Decision(None, writes, tuple(notes), taken=_TAKEN)


def change_of(found: Found, before: WorkspaceRecord, after: WorkspaceRecord) -> Note:
    """What its trail says of a workspace that becomes another."""
    more = [*after.settings.changed_from(before.settings), *after.tags.changed_from(before.tags)]
    details = others(_settings(before), _settings(after), more)
    return found.note(after.workspace.id, "workspace.update", after.workspace.id, details)


def deleted(
    found: Found, workspace: Workspace, attached: Sequence[VariableSet] = ()
) -> Decision[None]:
    """A workspace ends with its variables, the grants on it, and its stream; the sets are not
    attached to it any more.
    """
    note = _noted(found, workspace, "delete", closes(workspace.id))
    gone = Attached(frozenset((workspace.id,)))
    ended = Decision(None, (Delete(WorkspaceRecord, (workspace.id,)),), (note,))
    return together(None, *(detached(found, one, gone) for one in attached), ended)


def named(found: Found, organization_id: str, draft: TagsDraft) -> TagsDraft:
    """The draft with names in the place of ids."""
    ids = draft.ids
    return draft.named(found.of(TagsWithIds(organization_id, ids))) if ids else draft


def permitted(found: Found, address: Address, needed: Permission) -> WorkspaceView:
    """A workspace in which the caller may do that. Refuses: not found, forbidden."""
    granted = found.of(ToWorkspaceAt(address))
    granted.require(needed)
    details = found.of(DetailsOf(granted.workspace.id))
    return WorkspaceView(granted.workspace, details, granted.level)


_TAKEN = NAME_TAKEN.filled(what="a workspace")


def _placed(
    found: Found, owner_id: str, draft: WorkspaceDraft, former: str
) -> tuple[WorkspaceDraft, Project | None]:
    """The draft, with a fault where it names no project, and the project that it puts a workspace
    into, if that is another than the former one. Refuses: forbidden.
    """
    if draft.project_id is UNSET:
        return draft, None
    project_id = default_project_of(owner_id) if draft.project_id is None else draft.project_id
    if project_id == former:
        return draft, None
    project = projects.named(found, owner_id, project_id)
    if project is None:
        return replace(draft, faults=(*draft.faults, NO_SUCH_PROJECT)), None
    found.of(ToOrganizationWithId(owner_id)).require_moves()
    return draft, project


def _inherited(found: Found, project_id: str) -> Mapping[str, str]:
    """The bindings that a workspace has from a project."""
    return found.of(BindingsOf((project_id,))).get(project_id, {})


def _put_into(found: Found, record: WorkspaceRecord, project: Project) -> WorkspaceRecord:
    """The workspace in another project, whose mode it has then unless it has its own."""
    owner = found.of(ToOrganizationWithId(project.organization_id)).organization
    mode = default_mode(owner.settings, project.settings)
    inside = record.put_into(project)
    return replace(inside, settings=replace(inside.settings, default_mode=mode))


def _retagged(workspace: Workspace, before: Tags, after: Tags) -> list[Write]:
    """What is written where a workspace has other tags than before."""
    where = workspace.id, workspace.organization_id
    # An id takes some hashing: of a thousand workspaces with fifty tags each, a second.
    former, rows = rows_of(*where, before.but(after)), rows_of(*where, after.but(before))
    return rewritten(TagRow, former, rows)


def _require_no_work(seen: WorkspaceView) -> None:
    """Refuses clients that run by themselves in this workspace."""
    if seen.details.settings.mode is ExecutionMode.LOCAL:
        raise _no_state(seen)


def _no_state(seen: WorkspaceView) -> Refusal:
    return Refusal(NO_STATE.filled(name=_address(seen)))


def _address(seen: WorkspaceView) -> str:
    """What `teamvars run` takes."""
    return f"{seen.workspace.organization_name}/{seen.workspace.name}"


def _relocked(found: Found, seen: WorkspaceView, holder: str | None) -> Decision[WorkspaceView]:
    after = replace(seen, details=replace(seen.details, locked_by=holder))
    workspace = seen.workspace
    verb = "unlock" if holder is None else "lock"
    note = found.note(workspace.id, f"workspace.{verb}", workspace.id, {"name": workspace.name})
    return Decision(after, (Update(seen.record, after.record),), (note,))


def _locked_already(found: Found, seen: WorkspaceView) -> Refusal:
    """Says who has locked it, only by a name that the caller may see."""
    holder = seen.details.locked_by or ""
    prefix, _, _ = holder.partition("-")
    if prefix == "org":
        # One of the two kinds of holder that clients know.
        name = "User (the organization's token)"
    elif prefix == "team":
        name = f"Team {_name_of_team(found, seen, holder)}"
    else:
        member = found.of(MembershipOf(seen.workspace.organization_id, holder))
        name = f"User {holder if member is None else member.shown_username}"
    return Refusal(WORKSPACE_LOCKED.filled(name=seen.workspace.name, holder=name))


def _name_of_team(found: Found, seen: WorkspaceView, team_id: str) -> str:
    """The name, or the id of a team that is secret or is not there any more."""
    for team in found.of(TeamsWithIds((team_id,))):
        if team.visibility is not Visibility.SECRET or seen.level is Level.OWNER:
            return team.name
    return team_id


def _caller_id(found: Found) -> str:
    assert found.caller.actor is not None  # known since the access check
    return found.caller.actor.id


def _noted(found: Found, workspace: Workspace, verb: str, more: Mapping[str, object]) -> Note:
    details = {"name": workspace.name, **more}
    return found.note(workspace.organization_id, f"workspace.{verb}", workspace.id, details)


def _settings(record: WorkspaceRecord) -> dict[str, object]:
    return {
        "name": record.workspace.name,
        "execution-mode": record.settings.mode.value,
        "terraform-version": record.settings.terraform_version,
    }
