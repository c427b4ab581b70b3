"""What becomes of a request to read or change tags, of one workspace or of many."""

from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Write, together
from teamvars.decisions.needs import (
    TagCalled,
    TaggedWorkspaces,
    TagsWithIds,
    ToOrganization,
    ToOrganizationWithId,
    WhoCalls,
    WorkspacesWithIds,
)
from teamvars.decisions.projects import to_project
from teamvars.decisions.workspaces import (
    WorkspaceView,
    change_of,
    changed,
    named,
    permitted,
    read,
)
from teamvars.domain.access import Permission
from teamvars.domain.errors import NO_SUCH_WORKSPACE, not_found, refuse_all
from teamvars.domain.linked import IdsDraft
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged, paged
from teamvars.domain.tags import (
    NO_SUCH_TAG,
    Binding,
    SaidName,
    Tag,
    TagChange,
    TagsDraft,
    tag_id_of,
)
from teamvars.domain.teams import Right
from teamvars.domain.workspaces import WorkspaceRecord


class TakeTags(Write, frozen=True):
    """Workspaces have these tags no more. It is one write: their rows may be many thousands."""

    tag_ids: tuple[str, ...]
    workspace_ids: tuple[str, ...]


def names(found: Found, workspace_id: str, parts: Sequence[str], wanted: Page) -> Paged[Tag]:
    """A page of the names of a workspace's tags that have all the parts in them, in order."""
    view = read(found, workspace_id)
    owner = view.workspace.organization_id
    tags = [
        Tag(tag_id_of(owner, name), name, view.workspace.organization_name)
        for name in view.details.tags.names
        if all(fold(part) in name for part in parts)
    ]
    return paged(tags, wanted)


def bindings(found: Found, workspace_id: str, wanted: Page | None) -> Paged[Binding]:
    """The bindings of a workspace by key, all or a page of them."""
    return paged(read(found, workspace_id).own_bindings, wanted)


def effective(found: Found, workspace_id: str, wanted: Page | None) -> Paged[Binding]:
    """Those that count in a workspace, its project's among them, all or a page of them."""
    return paged(read(found, workspace_id).effective_bindings, wanted)


def of_project(found: Found, project_id: str, wanted: Page | None) -> Paged[Binding]:
    """The bindings of a project by key, all or a page of them."""
    return paged(to_project(found, project_id).own_bindings, wanted)


def change(
    found: Found, workspace_id: str, draft: TagsDraft, how: TagChange
) -> Decision[WorkspaceView]:
    """Adds, removes or replaces tags, all that the draft says or none; nothing new, none.

    Refuses: forbidden, every fault of the draft, ids of no tags, too many tags.
    """
    before = permitted(found, workspace_id, Permission.MANAGE_WORKSPACE)
    draft = named(found, before.workspace.organization_id, draft)
    refuse_all([*draft.all_faults(), *draft.surplus(before.details.tags, how)])
    tags = draft.applied_to(before.details.tags, how)
    after = replace(before, details=replace(before.details, tags=tags))
    return together(
        after, *([] if after == before else [changed(found, before.record, after.record)])
    )


def delete(found: Found, organization: str, draft: IdsDraft) -> Decision[None]:
    """Takes tags from all workspaces of an organization. Refuses: forbidden, ids of no tags."""
    granted = found.of(ToOrganization(organization))
    granted.require(Right.MANAGE_WORKSPACES)
    owner_id, ids = granted.organization.id, draft.wanted
    known = found.of(TagsWithIds(owner_id, ids))
    refuse_all(draft.all_faults(known, NO_SUCH_TAG))
    said = TagsDraft(tuple(SaidName(name, "") for name in known.values()))
    pairs = _retagged(found, found.of(TaggedWorkspaces(owner_id, ids)), TagChange.REMOVE, said)
    taken = TakeTags(tuple(known), tuple(was.workspace.id for was, _ in pairs))
    notes = tuple(change_of(found, was, now) for was, now in pairs)
    return Decision(None, (taken,) if pairs else (), notes)


def add_workspaces(found: Found, tag_id: str, draft: IdsDraft) -> Decision[None]:
    """Gives a tag to more workspaces, all or none.

    Refuses: not found, to members who may not manage workspaces as well; ids of no workspaces, and
    too many tags of one.
    """
    found.of(WhoCalls())
    owner_id, name = found.of(TagCalled(tag_id))
    if Right.MANAGE_WORKSPACES not in found.of(ToOrganizationWithId(owner_id)).rights:
        raise not_found()
    records = found.of(WorkspacesWithIds(owner_id, draft.wanted))
    known = {record.workspace.id for record in records}
    said = TagsDraft((SaidName(name, ""),))
    full = [fault for one in records for fault in said.surplus(one.tags, TagChange.ADD)]
    refuse_all([*draft.all_faults(known, NO_SUCH_WORKSPACE), *dict.fromkeys(full)])
    pairs = _retagged(found, records, TagChange.ADD, said)
    return together(None, *(changed(found, was, now) for was, now in pairs))


def _retagged(
    found: Found, records: Sequence[WorkspaceRecord], how: TagChange, said: TagsDraft
) -> list[tuple[WorkspaceRecord, WorkspaceRecord]]:
    """Those of the workspaces that get other tags, as they are and will be, with these locked."""
    after = [replace(one, tags=said.applied_to(one.tags, how)) for one in records]
    pairs = [(was, now) for was, now in zip(records, after, strict=True) if was != now]
    found.require_locked([was.workspace.id for was, _ in pairs])
    return pairs
