"""What becomes of a request to make, change, attach or delete a set, and what that records."""

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Need,
    Update,
    Write,
    closes,
    opens,
    others,
    together,
)
from teamvars.decisions.needs import (
    ProjectsSeen,
    ToOrganization,
    ToOrganizationWithId,
    ToWorkspaceAt,
    WorkspacesOf,
    WorkspacesWithIds,
)
from teamvars.decisions.projects import KeepDefault, named, to_project
from teamvars.decisions.runners import Trust
from teamvars.decisions.set_reach import (
    PlacesOf,
    admitted,
    approved,
    require_own,
    told_targets,
    within,
)
from teamvars.decisions.variables import ToSet
from teamvars.domain.access import ONLY_WRITERS_OF_SETS, Level, OrganizationAccess, Permission
from teamvars.domain.applies import Name
from teamvars.domain.errors import (
    GLOBAL_KEY_TAKEN,
    NAME_TAKEN,
    NO_SUCH_PROJECT,
    NO_SUCH_WORKSPACE,
    Code,
    Fault,
    forbidden,
    refuse_all,
)
from teamvars.domain.pages import Page, Paged
from teamvars.domain.projects import Project
from teamvars.domain.runners import Runner
from teamvars.domain.set_effects import (
    Alteration,
    Comparison,
    Contest,
    Effects,
    PreviewDraft,
    Standing,
    Tally,
)
from teamvars.domain.teams import Right
from teamvars.domain.variable_sets import (
    OF_PROJECT,
    PARENT,
    Attached,
    Attaching,
    SetDetails,
    SetDraft,
    SetLimits,
    SetSearch,
    Target,
    TargetsDraft,
    VariableSet,
    too_many_global,
    too_many_sets,
)
from teamvars.domain.workspaces import Workspace, WorkspaceRecord

Seen = tuple[Level, frozenset[str], bool] | None
"""The level that the caller has in every workspace, their teams, and whether they see all projects;
None: they see all.
"""


class SetsOf(Need[Sequence[tuple[str, int]]], frozen=True):
    """The ids of the sets of an organization, and how many variables each has."""

    organization_id: str


class SetsSeen(Need[Paged[VariableSet]], frozen=True):
    """A page of the sets of an organization, by its id and name, that reach a workspace which the
    caller reads or are of a project whose sets they see, or of all, by name.
    """

    owner: tuple[str, str]
    seen: Seen
    wanted: SetSearch
    page: Page


class SetsApplicable(Need[Paged[VariableSet]], frozen=True):
    """As `SetsSeen`, without those sets that reach a workspace of the organization."""

    workspace: Workspace
    seen: Seen
    part: str
    page: Page


class SetsReaching(Need[Paged[VariableSet]], frozen=True):
    """A page of the sets that reach a workspace, by name."""

    workspace: Workspace
    part: str
    page: Page


class DetailsOfSets(Need[Mapping[str, SetDetails]], frozen=True):
    """The details of sets by id, with those workspaces and projects that the caller sees."""

    set_ids: tuple[str, ...]
    seen: Seen


class AttachedTo(Need[Attached], frozen=True):
    """What a set is attached to."""

    set_id: str


class SetsAt(Need[Mapping[str, int]], frozen=True):
    """How many sets are attached to each of some workspaces and projects, or being global to an
    organization, by id; none where there is none.
    """

    target_ids: tuple[str, ...]


class LevelsOfSets(Need[Mapping[str, Level]], frozen=True):
    """What members of teams may do with the sets of some projects by their grants, by the ids of
    those where that is something.
    """

    project_ids: frozenset[str]
    team_ids: frozenset[str]


class Rivals(Need[Sequence[tuple[str, str]]], frozen=True):
    """Some keys and categories that a set has in common with others that are global."""

    set_id: str
    organization_id: str


class Rules(msgspec.Struct, frozen=True):
    """What changes of sets obey: how many there may be, and whose approvals of runners hold."""

    limits: SetLimits
    trust: Trust


class Contested(Need[Contest], frozen=True):
    """What a set is in conflict with in its organization, whatever it reaches: all that it has, or
    by some keys and categories.
    """

    set_id: str
    organization_id: str
    some: tuple[Name, ...] | None = None


class SetView(msgspec.Struct, frozen=True):
    """A set, what of it the caller sees, and whether they may change it."""

    set: VariableSet
    details: SetDetails
    is_writable: bool = True


def read(found: Found, set_id: str) -> SetView:
    """One set. Refuses: not found."""
    granted = found.of(ToSet(set_id))
    granted.require_visible()
    seen = _seen(found.of(ToOrganizationWithId(granted.owner.organization_id)))
    return _views(found, [granted.owner], seen)[0]


def page(found: Found, organization: str, search: SetSearch, wanted: Page) -> Paged[SetView]:
    """A page of the sets of an organization that the caller sees, by name. Refuses: not found."""
    granted = found.of(ToOrganization(organization))
    granted.require_visible()
    seen, owner = _seen(granted), granted.organization
    sets = found.of(SetsSeen((owner.id, owner.name), seen, search, wanted))
    return Paged(_views(found, sets.items, seen), sets.total)


def page_of_workspace(found: Found, workspace_id: str, part: str, wanted: Page) -> Paged[SetView]:
    """A page of the sets that reach a workspace, by name, for its readers. Refuses: not found."""
    granted = found.of(ToWorkspaceAt(workspace_id))
    granted.require(Permission.READ_VARIABLES)
    seen = _seen(found.of(ToOrganizationWithId(granted.workspace.organization_id)))
    sets = found.of(SetsReaching(granted.workspace, part, wanted))
    return Paged(_views(found, sets.items, seen), sets.total)


def page_of_applicable(found: Found, workspace_id: str, part: str, wanted: Page) -> Paged[SetView]:
    """A page of the sets that the caller sees and that do not reach a workspace, by name, for its
    readers. Refuses: not found.
    """
    granted = found.of(ToWorkspaceAt(workspace_id))
    granted.require(Permission.READ_VARIABLES)
    seen = _seen(found.of(ToOrganizationWithId(granted.workspace.organization_id)))
    sets = found.of(SetsApplicable(granted.workspace, seen, part, wanted))
    return Paged(_views(found, sets.items, seen), sets.total)


def page_of_project(found: Found, project_id: str, part: str, wanted: Page) -> Paged[SetView]:
    """A page of the sets that are a project's own or reach all in it, of those that the caller
    sees, by name. Refuses: not found.
    """
    owner = to_project(found, project_id).owner
    seen, place = _seen(owner), (owner.organization.id, owner.organization.name)
    sets = found.of(SetsSeen(place, seen, SetSearch(part, project_id), wanted))
    return Paged(_views(found, sets.items, seen), sets.total)


def create(
    found: Found, organization: str, draft: SetDraft, id_: str, rules: Rules
) -> Decision[SetView]:
    """Makes a set without variables.

    Refuses: forbidden, also what `update` refuses to attach; every fault of the draft, workspaces
    and projects that there are not, another parent than the organization or a project of it, a
    taken name, too many sets, of the organization, at a workspace or project, or global.
    """
    granted = found.of(ToOrganization(organization))
    granted.require_visible()
    parent = _parent(found, granted, draft)
    owner = granted.organization
    found.require_locked([owner.id])
    project_id = None if parent is None else parent.id
    blank = VariableSet(id_, "", owner.id, owner.name, created_at=found.now, project_id=project_id)
    nowhere = Standing(blank, Attached())
    is_full = len(found.of(SetsOf(owner.id))) >= rules.limits.sets
    no_parent = draft.project_id is not None and parent is None
    refuse_all(
        [
            *draft.all_faults(),
            *([NO_SUCH_PROJECT.at(PARENT)] if no_parent else draft.conflicts(blank)),
            *_target_faults(found, draft, nowhere, rules),
            *([too_many_sets(rules.limits.sets)] if is_full else []),
            *(_too_many_global(found, owner.id, rules) if draft.is_global else []),
        ]
    )
    made, will_be = draft.applied_to(blank), _drafted(draft, Attached())
    require_own(found, nowhere, Standing(made, will_be), rules.trust)
    view = SetView(made, _detailed(found, made, will_be, SetDetails(updated_at=found.now)), True)
    return together(view, created(found, made), attached(found, made, Attached(), will_be))


def update(found: Found, set_id: str, draft: SetDraft, rules: Rules) -> Decision[SetView]:
    """Changes what the draft names, and attaches the set to the workspaces that it names and no
    others, and likewise to projects; changes nothing when that is nothing.

    Refuses: forbidden, also where it would reach a workspace whose variables the caller may not
    write, or sensitive values one that a runner is handed and the caller is no owner; every fault
    of the draft, workspaces and projects that there are not, another id than the path's, another
    parent, a taken name, a key that another global set has, too many sets that are global or at a
    workspace or project.
    """
    before = _writable(found, set_id)
    was, is_ = _planned(found, before, draft, rules)
    after = is_.set
    parts = [] if after == before else [changed(found, before, after)]
    parts.append(attached(found, after, was.attached, is_.attached))
    (view,) = _views(found, [after], None)
    details = replace(view.details, updated_at=found.now) if was != is_ else view.details
    return together(SetView(after, _detailed(found, after, is_.attached, details), True), *parts)


class Foreseen(msgspec.Struct, frozen=True):
    """What a change of a set is compared by, once all of it was looked up: there may be more
    workspaces, by name, than are compared in one go.
    """

    set_id: str
    comparison: Comparison
    workspaces: Sequence[Workspace]
    seen: Collection[str]
    admitting: Sequence[Runner]
    now: int

    def tally(self) -> Tally:
        """What the workspaces are to be added to."""
        return Tally(self.set_id, self.comparison, self.seen)

    def with_runners(self, told: Effects) -> Effects:
        """With the runners that each workspace is handed to."""
        runners = admitted(self.admitting, [one.workspace.id for one in told.first], self.now)
        first = [replace(one, runners=runners.get(one.workspace.id, ())) for one in told.first]
        return replace(told, first=first)


def preview(found: Found, set_id: str, draft: PreviewDraft, rules: Rules) -> Foreseen:
    """What a change would make of the workspaces, for whoever may make it. Refuses
    as that does, but for a taken name, which only a write finds.
    """
    before = _permitted(found, set_id)
    refuse_all(draft.faults)
    if draft.is_deleted:
        was, after = Standing(before, found.of(AttachedTo(set_id))), None
    else:
        was, after = _planned(found, before, draft.change, rules)
    contest = found.of(Contested(set_id, before.organization_id))
    return _foreseen(found, before, contest.as_set(was, after), rules.trust)


def preview_variables(found: Found, set_id: str, alteration: Alteration, trust: Trust) -> Foreseen:
    """What a change of variables of a set would make of the workspaces, for whoever may make it.
    Refuses: not found, forbidden.
    """
    one = _permitted(found, set_id)
    is_ = Standing(one, found.of(AttachedTo(set_id)))
    contest = found.of(Contested(set_id, one.organization_id, alteration.names))
    return _foreseen(found, one, contest.as_altered(is_, alteration), trust)


def _foreseen(found: Found, one: VariableSet, comparison: Comparison, trust: Trust) -> Foreseen:
    """As the caller may be told of the workspaces of its organization."""
    organization_id, places = one.organization_id, found.of(PlacesOf(one.organization_id))
    workspaces = [workspace for workspace, _ in found.of(WorkspacesOf(organization_id))]
    workspaces.sort(key=attrgetter("name"))
    seen = within(found, found.of(ToOrganizationWithId(organization_id)), places, Level.READ)
    runners = approved(found, organization_id, trust)
    return Foreseen(one.id, comparison, workspaces, seen, runners, found.now)


def _planned(
    found: Found, before: VariableSet, draft: SetDraft, rules: Rules
) -> tuple[Standing, Standing]:
    """The set as it is and as it would be, with what it is attached to. Refuses: see `update`."""
    was = Standing(before, found.of(AttachedTo(before.id)))
    (view,) = _views(found, [before], None)
    refuse_all(
        [
            *draft.all_faults(),
            *draft.conflicts(before),
            *draft.unlike(view),
            *_target_faults(found, draft, was, rules),
            *(_global_faults(found, before, rules) if draft.is_global else []),
        ]
    )
    is_ = Standing(draft.applied_to(before), _drafted(draft, was.attached))
    require_own(found, was, is_, rules.trust)
    return was, is_


def attach(
    found: Found, set_id: str, draft: TargetsDraft, how: Attaching, rules: Rules
) -> Decision[None]:
    """Attaches a set to workspaces or projects, or to some no more, all or none; nothing new, none.

    Refuses: forbidden, as `update` does; every fault of the draft, workspaces and projects that
    there are not, or that a set of a project is not attached to; too many sets at one.
    """
    was, is_ = _attaching(found, _writable(found, set_id), draft, how, rules)
    return attached(found, was.set, was.attached, is_.attached)


def preview_attach(
    found: Found, set_id: str, draft: TargetsDraft, how: Attaching, rules: Rules
) -> Foreseen:
    """What that would make of the workspaces, for whoever may do it. Refuses as that does."""
    one = _permitted(found, set_id)
    was, is_ = _attaching(found, one, draft, how, rules)
    contest = found.of(Contested(set_id, one.organization_id))
    return _foreseen(found, one, contest.as_set(was, is_), rules.trust)


def _attaching(
    found: Found, one: VariableSet, draft: TargetsDraft, how: Attaching, rules: Rules
) -> tuple[Standing, Standing]:
    """The set with what it is and would be attached to. Refuses: see `attach`."""
    before = found.of(AttachedTo(one.id))
    was = Standing(one, before)
    refuse_all([*draft.faults, *_faults_of(found, was, draft, rules, how)])
    ids = how.applied_to(before.of(draft.kind), draft.wanted)
    is_ = Standing(one, replace(before, **{draft.kind: ids}))
    require_own(found, was, is_, rules.trust)
    return was, is_


def delete(found: Found, set_id: str) -> Decision[None]:
    """Removes a set with its variables: no workspace gets them any more. Refuses: forbidden."""
    return deleted(found, _writable(found, set_id))


def created(found: Found, made: VariableSet) -> Decision[None]:
    """A set begins, with a stream; where it is global it reaches all workspaces."""
    of_project = {} if made.project_id is None else {"project": made.project_id}
    details = {**_told(made), **of_project, **opens(made.id)}
    note = found.note(made.organization_id, "varset.create", made.id, details)
    targets = [Insert(Target.of_all(made))] if made.is_global else []
    begun = {made.id: made.organization_id}
    before = [] if made.project_id is None else [KeepDefault(made.organization_id)]
    writes = (*before, Insert(made), *targets)
    return Decision(None, writes, (note,), begun, taken=_TAKEN)


def changed(found: Found, before: VariableSet, after: VariableSet) -> Decision[None]:
    """A set becomes another; a new name concerns the organization too."""
    more = ["description"] if after.description != before.description else []
    id_, details = after.id, others(_told(before), _told(after), more)
    notes = [found.note(id_, "varset.update", id_, details)]
    if after.name != before.name:
        renamed = {"name": after.name, "from": before.name}
        notes.append(found.note(after.organization_id, "varset.rename", id_, renamed))
    writes: list[Write] = [Update(before, after)]
    if after.is_global and not before.is_global:
        writes.append(Insert(Target.of_all(after)))
    elif before.is_global and not after.is_global:
        writes.append(Delete(Target, (Target.of_all(after).id,)))
    taken = _TAKEN if after.name != before.name else GLOBAL_KEY_TAKEN.filled(keys="one or more")
    return Decision(None, tuple(writes), tuple(notes), taken=taken)


def attached(found: Found, one: VariableSet, before: Attached, after: Attached) -> Decision[None]:
    """A set is attached to others than before."""
    more, fewer = after.but(before), before.but(after)
    added, gone = more.targets(one.id), fewer.targets(one.id)
    writes: list[Write] = [KeepDefault(one.organization_id)] if more.projects else []
    writes += map(Insert, added.values())
    writes += [Delete(Target, tuple(gone))] if gone else []
    verbs = {"varset.attach": more, "varset.detach": fewer}
    notes = [
        found.note(one.id, action, one.id, told_targets(one, ids))
        for action, ids in verbs.items()
        if ids != Attached()
    ]
    return Decision(None, tuple(writes), tuple(notes))


def deleted(found: Found, one: VariableSet) -> Decision[None]:
    """A set ends with its variables and its stream."""
    details = {"name": one.name, **closes(one.id)}
    note = found.note(one.organization_id, "varset.delete", one.id, details)
    return Decision(None, (Delete(VariableSet, (one.id,)),), (note,))


_FULL = "At most {most} variable sets are attached to a {what}, and so many are to {ids}."
_TAKEN = NAME_TAKEN.filled(what="a variable set")


def _writable(found: Found, set_id: str) -> VariableSet:
    """A set that the caller may change, as it is with the organization locked, whose workspaces and
    approvals of runners stay as they are found then. Refuses: not found, forbidden.
    """
    one = _permitted(found, set_id)
    found.require_locked([one.organization_id, set_id])
    return one


def _permitted(found: Found, set_id: str) -> VariableSet:
    granted = found.of(ToSet(set_id))
    granted.require(Permission.WRITE_VARIABLES)
    return granted.owner


def _parent(found: Found, granted: OrganizationAccess, draft: SetDraft) -> Project | None:
    """The project that a new set is to be of; None: the organization, or there is none. Refuses:
    forbidden, whoever does not change its sets.
    """
    asked, owner_id = draft.project_id, granted.organization.id
    project = None if asked is None else named(found, owner_id, asked)
    if granted.moves:
        return project
    if project is not None:
        levels = found.of(LevelsOfSets(frozenset({project.id}), granted.team_ids))
        if levels.get(project.id, Level.NONE) >= Level.WRITE:
            return project
    raise forbidden(ONLY_WRITERS_OF_SETS)


def _seen(granted: OrganizationAccess) -> Seen:
    if granted.moves:
        return None
    return granted.everywhere, granted.team_ids, Right.READ_PROJECTS in granted.rights


def _views(found: Found, sets: Sequence[VariableSet], seen: Seen) -> list[SetView]:
    details = found.of(DetailsOfSets(tuple(one.id for one in sets), seen)) if sets else {}
    writable = _writable_projects(found, sets, seen)
    return [
        SetView(
            one,
            # Somebody has taken its id away by hand.
            details.get(one.id, SetDetails(updated_at=one.created_at)),
            seen is None or one.project_id in writable,
        )
        for one in sets
    ]


def _writable_projects(found: Found, sets: Sequence[VariableSet], seen: Seen) -> set[str]:
    """The projects whose sets the caller may change by a grant, of those that the sets are of."""
    ids = frozenset(one.project_id for one in sets if one.project_id is not None)
    if seen is None or not ids:
        return set()
    levels = found.of(LevelsOfSets(ids, seen[1]))
    return {id_ for id_, level in levels.items() if level >= Level.WRITE}


def _workspaces(
    found: Found, organization_id: str, ids: Collection[str]
) -> Mapping[str, WorkspaceRecord]:
    """Workspaces of an organization, by id."""
    asked = tuple(sorted(ids))
    records = found.of(WorkspacesWithIds(organization_id, asked)) if asked else ()
    return {record.workspace.id: record for record in records}


def _projects(found: Found, organization_id: str, ids: Collection[str]) -> Mapping[str, Project]:
    """Those projects of an organization that the caller sees, by id."""
    asked = tuple(sorted(ids))
    return {one.id: one for one in found.of(ProjectsSeen(organization_id, asked))} if asked else {}


def _detailed(
    found: Found, one: VariableSet, attached: Attached, details: SetDetails
) -> SetDetails:
    """The details with the names of what the set is attached to."""
    workspaces = _workspaces(found, one.organization_id, attached.workspaces)
    projects = _projects(found, one.organization_id, attached.projects)
    return replace(
        details,
        workspaces={id_: record.workspace.name for id_, record in workspaces.items()},
        projects={id_: project.name for id_, project in projects.items()},
    )


def _drafted(draft: SetDraft, before: Attached) -> Attached:
    """What a set is attached to as a draft without faults makes it."""
    workspaces, projects = draft.workspaces, draft.projects
    return Attached(
        before.workspaces if workspaces is None else frozenset(workspaces.wanted),
        before.projects if projects is None else frozenset(projects.wanted),
    )


def _target_faults(found: Found, draft: SetDraft, before: Standing, rules: Rules) -> list[Fault]:
    return [
        fault
        for named in (draft.workspaces, draft.projects)
        if named is not None
        for fault in _faults_of(found, before, named, rules)
    ]


def _global_faults(found: Found, one: VariableSet, rules: Rules) -> list[Fault]:
    """Those of a set that becomes global; one of a project never does."""
    if one.is_global or one.project_id is not None:
        return []
    return [*_too_many_global(found, one.organization_id, rules), *_conflicts(found, one)]


def _too_many_global(found: Found, organization_id: str, rules: Rules) -> list[Fault]:
    """The fault of one more set that reaches every workspace, where there are as many as may be."""
    most, counts = rules.limits.of_target, found.of(SetsAt((organization_id,)))
    return [too_many_global(most)] if counts.get(organization_id, 0) >= most else []


def _faults_of(
    found: Found,
    before: Standing,
    draft: TargetsDraft,
    rules: Rules,
    how: Attaching = Attaching.ADD,
) -> list[Fault]:
    """A fault for each workspace or project that the organization does not have, or the caller does
    not see, unless the set is attached to it before; and, if it is to be attached to more, for each
    to which one of a project is never attached, and one where too many sets are at others.
    """
    one, is_there = before.set, before.attached.of(draft.kind)
    if draft.kind == "workspaces":
        places = _places(found, one.organization_id, draft.wanted)
        unknown = NO_SUCH_WORKSPACE
    else:
        places = {id_: id_ for id_ in _projects(found, one.organization_id, draft.wanted)}
        unknown = NO_SUCH_PROJECT
    faults, more = [], set()
    for n, id_ in enumerate(draft.ids):
        if id_ is None or id_ in is_there:
            continue
        if id_ not in places:
            faults.append(unknown.at(f"{draft.at}/{n}/id"))
        elif how is Attaching.ADD and one.project_id not in (None, places[id_]):
            faults.append(Fault(Code.INVALID_VALUE, OF_PROJECT, pointer=f"{draft.at}/{n}/id"))
        elif how is Attaching.ADD:
            more.add(id_)
    return [*faults, *_full(found, draft, more, rules)]


def _places(found: Found, organization_id: str, ids: Collection[str]) -> Mapping[str, str]:
    """The projects of those workspaces that the caller sees, by id."""
    known = _workspaces(found, organization_id, ids)
    seen = within(found, found.of(ToOrganizationWithId(organization_id)), known, Level.READ)
    return {id_: record.in_project for id_, record in known.items() if id_ in seen}


def _full(found: Found, draft: TargetsDraft, more: Collection[str], rules: Rules) -> list[Fault]:
    """The fault of too many sets at some of what one more is to be attached to."""
    most, ids = rules.limits.of_target, tuple(sorted(more))
    counts = found.of(SetsAt(ids)) if ids else {}
    full = [id_ for id_ in ids if counts.get(id_, 0) >= most]
    said = _FULL.format(most=most, what=draft.kind[:-1], ids=", ".join(full[:10]))
    return [Fault(Code.TOO_MANY_ITEMS, said, pointer=draft.at)] if full else []


def _conflicts(found: Found, one: VariableSet) -> list[Fault]:
    """The fault of a set that becomes global and has what another global one has."""
    rivals = found.of(Rivals(one.id, one.organization_id))
    keys = ", ".join(dict.fromkeys(key for key, _ in rivals))
    return [GLOBAL_KEY_TAKEN.filled(keys=keys)] if rivals else []


def _told(one: VariableSet) -> dict[str, object]:
    return {"name": one.name, "global": one.is_global, "priority": one.is_priority}
