"""What becomes of a request to make, change, attach or delete a set, and what that records."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Need, Write
from teamvars.decisions.needs import (
    ToOrganization,
    ToOrganizationWithId,
    ToWorkspaceAt,
    WorkspacesOf,
    WorkspacesWithIds,
)
from teamvars.decisions.rows import Delete, Insert, Update, closes, opens, others, together
from teamvars.decisions.runners import RunnersOf, Trust
from teamvars.decisions.variables import ToSet
from teamvars.domain.access import ONLY_WRITERS_OF_SETS, Level, OrganizationAccess, Permission
from teamvars.domain.applies import Name
from teamvars.domain.errors import (
    GLOBAL_KEY_TAKEN,
    NAME_TAKEN,
    NO_SUCH_WORKSPACE,
    Code,
    Fault,
    forbidden,
    refuse_all,
)
from teamvars.domain.linked import IdsDraft
from teamvars.domain.pages import Page, Paged
from teamvars.domain.set_effects import (
    Comparison,
    Effects,
    PreviewDraft,
    Rival,
    Standing,
    effects,
)
from teamvars.domain.teams import BOTH_MANAGE
from teamvars.domain.variable_sets import (
    Attaching,
    SetDetails,
    SetDraft,
    SetLimits,
    Target,
    VariableSet,
    too_many_global,
    too_many_sets,
)
from teamvars.domain.workspaces import Workspace

Seen = tuple[Level, frozenset[str]] | None
"""The level that the caller has in every workspace, and their teams; None: they see all."""


class SetsOf(Need[Sequence[tuple[str, int]]], frozen=True):
    """The ids of the sets of an organization, and how many variables each has."""

    organization_id: str


class SetsSeen(Need[Paged[VariableSet]], frozen=True):
    """A page of the sets of an organization, by its id and name, that reach a workspace which the
    caller reads, or of all, by name.
    """

    owner: tuple[str, str]
    seen: Seen
    part: str
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
    """The details of sets by id, with those workspaces that the caller sees."""

    set_ids: tuple[str, ...]
    seen: Seen


class AttachedTo(Need[frozenset[str]], frozen=True):
    """The ids of the workspaces that a set is attached to."""

    set_id: str


class GlobalSets(Need[int], frozen=True):
    """How many sets of an organization are global."""

    organization_id: str


class SetsAt(Need[Mapping[str, int]], frozen=True):
    """To how many sets each of some workspaces is attached, by id; none where it is to none."""

    workspace_ids: tuple[str, ...]


class HasSensitive(Need[bool], frozen=True):
    """Whether a set has a sensitive variable."""

    set_id: str


class Rivals(Need[Sequence[tuple[str, str]]], frozen=True):
    """Some keys and categories that a set has in common with others that are global."""

    set_id: str
    organization_id: str


class Rules(msgspec.Struct, frozen=True):
    """What changes of sets obey: how many there may be, and whose approvals of runners hold."""

    limits: SetLimits
    trust: Trust


class Contested(
    Need[tuple[Sequence[Name], Sequence[tuple[str, Name]], Sequence[Rival]]], frozen=True
):
    """The keys and categories of a set; each workspace of the organization that has one of them
    itself; and the variables of other sets with one.
    """

    set_id: str
    organization_id: str


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


def page(found: Found, organization: str, part: str, wanted: Page) -> Paged[SetView]:
    """A page of the sets of an organization that the caller sees, by name. Refuses: not found."""
    granted = found.of(ToOrganization(organization))
    granted.require_visible()
    seen, owner = _seen(granted), granted.organization
    sets = found.of(SetsSeen((owner.id, owner.name), seen, part, wanted))
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


def create(
    found: Found, organization: str, draft: SetDraft, id_: str, rules: Rules
) -> Decision[SetView]:
    """Makes a set without variables.

    Refuses: forbidden, every fault of the draft, workspaces that there are not, another parent than
    the organization, a taken name, too many sets, of the organization, at a workspace or global.
    """
    granted = found.of(ToOrganization(organization))
    granted.require_visible()
    _require_writer(granted)
    owner = granted.organization
    found.require_locked([owner.id])
    blank = VariableSet(id_, "", owner.id, owner.name, created_at=found.now)
    is_full = len(found.of(SetsOf(owner.id))) >= rules.limits.sets
    named = draft.workspaces or IdsDraft()
    refuse_all(
        [
            *draft.all_faults(),
            *draft.conflicts(blank),
            *_unknown(found, owner.id, named, at=_RELATED),
            *([too_many_sets(rules.limits.sets)] if is_full else []),
            *(_too_many_global(found, owner.id, rules) if draft.is_global else []),
        ]
    )
    made, workspace_ids = draft.applied_to(blank), frozenset(named.wanted)
    _require_room(found, workspace_ids, rules, at=_RELATED)
    view = SetView(made, SetDetails(_names(found, owner.id, workspace_ids), (), found.now))
    return together(view, created(found, made), attached(found, made, frozenset(), workspace_ids))


def update(found: Found, set_id: str, draft: SetDraft, rules: Rules) -> Decision[SetView]:
    """Changes what the draft names, and attaches the set to the workspaces that it names and no
    others; changes nothing when that is nothing.

    Refuses: forbidden, also where sensitive values would reach a workspace that a runner is handed
    and the caller is no owner; every fault of the draft, workspaces that there are not, another id
    than the path's, another parent, a taken name, a key that another global set has, too many sets
    that are global or at a workspace.
    """
    before = _writable(found, set_id)
    after, is_attached, will_be = _planned(found, before, draft, rules)
    parts = [] if after == before else [changed(found, before, after)]
    parts.append(attached(found, after, is_attached, will_be))
    (view,) = _views(found, [after], None)
    is_other = after != before or will_be != is_attached
    updated_at = found.now if is_other else view.details.updated_at
    names = _names(found, before.organization_id, will_be)
    details = replace(view.details, workspaces=names, updated_at=updated_at)
    return together(replace(view, details=details), *parts)


def preview(found: Found, set_id: str, draft: PreviewDraft, rules: Rules) -> Effects:
    """What a change would make of the workspaces, for whoever may make it. Refuses
    as that does, but for a taken name, which only a write finds.
    """
    before = _permitted(found, set_id)
    refuse_all(draft.faults)
    organization_id = before.organization_id
    if draft.is_deleted:
        after, is_attached = None, found.of(AttachedTo(set_id))
    else:
        changed_set, is_attached, will_be = _planned(found, before, draft.change, rules)
        after = Standing(changed_set, will_be)
    names, own, rivals = found.of(Contested(set_id, organization_id))
    comparison = Comparison(names, Standing(before, is_attached), after, own, rivals)
    workspaces = [workspace for workspace, _ in found.of(WorkspacesOf(organization_id))]
    workspaces.sort(key=lambda workspace: workspace.name)
    return effects(set_id, comparison, workspaces)


def _planned(
    found: Found, before: VariableSet, draft: SetDraft, rules: Rules
) -> tuple[VariableSet, frozenset[str], frozenset[str]]:
    """The set as it would be, and the workspaces that it is attached to and would be. Refuses:
    see `update`.
    """
    draft_ids = draft.workspaces or IdsDraft()
    refuse_all(
        [
            *draft.all_faults(),
            *draft.conflicts(before),
            *_unknown(found, before.organization_id, draft_ids, at=_RELATED),
        ]
    )
    after = draft.applied_to(before)
    is_attached = found.of(AttachedTo(before.id))
    will_be = is_attached if draft.workspaces is None else frozenset(draft_ids.wanted)
    _require_room(found, will_be - is_attached, rules, at=_RELATED)
    _require_own(found, before, will_be - is_attached, rules, is_global=after.is_global)
    if after.is_global and not before.is_global:
        full = _too_many_global(found, after.organization_id, rules)
        refuse_all([*full, *_conflicts(found, after)])
    return after, is_attached, will_be


def attach(
    found: Found, set_id: str, draft: IdsDraft, how: Attaching, rules: Rules
) -> Decision[None]:
    """Attaches a set to workspaces, or to some no more, all or none; nothing new, none.

    Refuses: forbidden, as `update` does; every fault of the draft, workspaces that there are not,
    too many sets at one.
    """
    one = _writable(found, set_id)
    refuse_all([*draft.faults, *_unknown(found, one.organization_id, draft, at="/data")])
    before = found.of(AttachedTo(set_id))
    after = how.applied_to(before, draft.wanted)
    _require_room(found, after - before, rules, at="/data")
    _require_own(found, one, after - before, rules, is_global=one.is_global)
    return attached(found, one, before, after)


def delete(found: Found, set_id: str) -> Decision[None]:
    """Removes a set with its variables: no workspace gets them any more. Refuses: forbidden."""
    return deleted(found, _writable(found, set_id))


def created(found: Found, made: VariableSet) -> Decision[None]:
    """A set begins, with a stream; where it is global it reaches all workspaces."""
    note = found.note(
        made.organization_id, "varset.create", made.id, {**_told(made), **opens(made.id)}
    )
    targets = [Insert(Target.of_all(made))] if made.is_global else []
    begun = {made.id: made.organization_id}
    return Decision(None, (Insert(made), *targets), (note,), begun, taken=_TAKEN)


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


def attached(
    found: Found, one: VariableSet, before: frozenset[str], after: frozenset[str]
) -> Decision[None]:
    """A set reaches other workspaces than before by being attached to them."""
    more, fewer = sorted(after - before), sorted(before - after)
    writes: list[Write] = [Insert(Target.of_workspace(one.id, id_)) for id_ in more]
    if fewer:
        gone = tuple(Target.of_workspace(one.id, id_).id for id_ in fewer)
        writes.append(Delete(Target, gone))
    verbs = {"varset.attach": more, "varset.detach": fewer}
    notes = [
        found.note(one.id, action, one.id, {"name": one.name, "workspaces": ids})
        for action, ids in verbs.items()
        if ids
    ]
    return Decision(None, tuple(writes), tuple(notes))


def deleted(found: Found, one: VariableSet) -> Decision[None]:
    """A set ends with its variables and its stream."""
    details = {"name": one.name, **closes(one.id)}
    note = found.note(one.organization_id, "varset.delete", one.id, details)
    return Decision(None, (Delete(VariableSet, (one.id,)),), (note,))


_TAKEN = NAME_TAKEN.filled(what="a variable set")
_RELATED = "/data/relationships/workspaces/data"


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


def _require_writer(granted: OrganizationAccess) -> None:
    """Refuses: forbidden, whoever does not change the sets of the organization."""
    if not _is_writer(granted):
        raise forbidden(ONLY_WRITERS_OF_SETS)


def _is_writer(granted: OrganizationAccess) -> bool:
    return granted.rights >= BOTH_MANAGE


def _seen(granted: OrganizationAccess) -> Seen:
    return None if _is_writer(granted) else (granted.everywhere, granted.team_ids)


def _views(found: Found, sets: Sequence[VariableSet], seen: Seen) -> list[SetView]:
    details = found.of(DetailsOfSets(tuple(one.id for one in sets), seen)) if sets else {}
    return [SetView(one, details[one.id], seen is None) for one in sets]


def _names(found: Found, organization_id: str, ids: Collection[str]) -> Mapping[str, str]:
    """The names of workspaces, by id."""
    asked = tuple(sorted(ids))
    records = found.of(WorkspacesWithIds(organization_id, asked)) if asked else ()
    return {record.workspace.id: record.workspace.name for record in records}


def _unknown(found: Found, organization_id: str, draft: IdsDraft, at: str) -> list[Fault]:
    """A fault for each workspace that the organization does not have."""
    known = _names(found, organization_id, draft.wanted)
    return [
        NO_SUCH_WORKSPACE.at(f"{at}/{n}/id")
        for n, id_ in enumerate(draft.ids)
        if id_ and id_ not in known
    ]


def _require_room(found: Found, workspace_ids: Collection[str], rules: Rules, at: str) -> None:
    """Refuses: too many sets at one of these workspaces, to which one more is to be attached."""
    counts = found.of(SetsAt(tuple(sorted(workspace_ids)))) if workspace_ids else {}
    full = sorted(id_ for id_, count in counts.items() if count >= rules.limits.of_workspace)
    detail = "At most {most} variable sets are attached to a workspace, and so many are to {ids}."
    if full:
        said = detail.format(most=rules.limits.of_workspace, ids=", ".join(full[:10]))
        refuse_all([Fault(Code.TOO_MANY_ITEMS, said, pointer=at)])


def _too_many_global(found: Found, organization_id: str, rules: Rules) -> list[Fault]:
    """The fault of one more set that reaches every workspace, where there are as many as may be."""
    most = rules.limits.of_workspace
    return [too_many_global(most)] if found.of(GlobalSets(organization_id)) >= most else []


def _require_own(
    found: Found, one: VariableSet, added: Collection[str], rules: Rules, *, is_global: bool
) -> None:
    """Refuses whoever is no owner to bring sensitive values of a set to a workspace that a runner
    is handed, or would be by another name: they might have a job of that runner print them.
    """
    granted = found.of(ToOrganizationWithId(one.organization_id))
    becomes_global = is_global and not one.is_global
    gets_more = becomes_global or (not one.is_global and len(added) > 0)
    if granted.is_owner or not gets_more or not found.of(HasSensitive(one.id)):
        return
    before = found.of(AttachedTo(one.id))
    ids = None if becomes_global else frozenset(added)
    runners = [each for each in found.of(RunnersOf(one.organization_id)) if rules.trust.holds(each)]
    handed = [
        f"{workspace.name} ({runner.spec.name})"
        for workspace, _ in found.of(WorkspacesOf(one.organization_id))
        if workspace.id not in before and (ids is None or workspace.id in ids)
        for runner in runners
        if runner.may_admit(workspace.id, found.now)
    ]
    if handed:
        raise forbidden(
            "Only owners bring sensitive values of a set to a workspace that a runner is handed: "
            f"{', '.join(handed[:10])}."
        )


def _conflicts(found: Found, one: VariableSet) -> list[Fault]:
    """The fault of a set that becomes global and has what another global one has."""
    rivals = found.of(Rivals(one.id, one.organization_id))
    keys = ", ".join(dict.fromkeys(key for key, _ in rivals))
    return [GLOBAL_KEY_TAKEN.filled(keys=keys)] if rivals else []


def _told(one: VariableSet) -> dict[str, object]:
    return {"name": one.name, "global": one.is_global, "priority": one.is_priority}
