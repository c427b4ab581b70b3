"""What becomes of requests about tags, of one workspace and of many."""

from typing import Any

from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Update, tags
from teamvars.decisions.needs import (
    DetailsOf,
    TagCalled,
    TaggedWorkspaces,
    TagsWithIds,
    WorkspacesWithIds,
)
from teamvars.decisions.workspaces import create, update
from teamvars.domain.access import Level
from teamvars.domain.linked import IdsDraft
from teamvars.domain.pages import Page
from teamvars.domain.tags import (
    SaidBinding,
    SaidName,
    TagChange,
    TagRow,
    Tags,
    TagsDraft,
    rows_of,
    tag_id_of,
)
from teamvars.domain.teams import Right
from teamvars.domain.workspaces import (
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceRecord,
    WorkspaceSettings,
)
from tests.decisions.directory import (
    NETWORK,
    actions,
    found,
    refused,
    to_acme,
    to_network,
)
from tests.decisions.test_deliveries import TRUST
from tests.support.steps import steps_of

TAGGED = WorkspaceRecord(NETWORK, tags=Tags(("live",), {"env": "eu"}))
LIVE = tag_id_of("org-1", "live")


def seen(level: Level = Level.OWNER) -> dict[Any, Any]:
    """The workspace with a tag of each kind."""
    details = WorkspaceDetails(WorkspaceSettings(), None, 1, (), 0, TAGGED.tags)
    return {**to_network(level), DetailsOf("ws-1"): details}


def names(*said: str) -> TagsDraft:
    return TagsDraft(tuple(SaidName(name, f"/data/{n}") for n, name in enumerate(said)))


def rows(now: Tags) -> dict[str, TagRow]:
    return rows_of("ws-1", "org-1", now)


def test_only_what_is_new_is_written_and_where_nothing_is_nothing_is_recorded() -> None:
    known = found(seen())
    added = tags.change(known, "ws-1", names("live", "web"), TagChange.ADD)
    assert added.writes == (Insert(rows(Tags(("web",))).popitem()[1]),)
    assert actions(added) == [("ws-1", "workspace.update")]
    gone = tags.change(known, "ws-1", names("live"), TagChange.REMOVE)
    assert gone.writes == (Delete(TagRow, tuple(rows(Tags(("live",))))),)
    same = tags.change(known, "ws-1", names("live"), TagChange.ADD)
    assert (same.writes, same.notes) == ((), ())
    said = TagsDraft(bindings=(SaidBinding("env", "us", ""),))
    ((was, now),) = (
        (write.before, write.after)
        for write in tags.change(known, "ws-1", said, TagChange.ADD).writes
        if isinstance(write, Update)
    )
    assert (was, now) == (was, replace(was, value="us"))


def test_a_change_costs_no_more_where_there_are_many_tags_that_stay() -> None:
    def steps(stay: int) -> int:
        tagged = Tags(tuple(f"n{n:02}" for n in range(stay)), {f"k{n}": "" for n in range(stay)})
        details = WorkspaceDetails(WorkspaceSettings(), None, 1, (), 0, tagged)
        known = found({**to_network(Level.OWNER), DetailsOf("ws-1"): details})
        return steps_of(lambda: tags.change(known, "ws-1", names("live"), TagChange.ADD))

    assert steps(24) < 2 * steps(1)


def test_who_may_not_manage_a_workspace_changes_no_tags() -> None:
    for level, code in ((Level.WRITE, "forbidden"), (Level.NONE, "not_found")):
        known = found(seen(level))
        assert refused(tags.change, known, "ws-1", names("-"), TagChange.ADD) == [code]


def test_faults_and_ids_of_no_tags_are_told_together() -> None:
    unknown = replace(names("-", "tag-1"), faults=())
    assert unknown.names is not None
    first, second = unknown.names
    draft = TagsDraft((first, replace(second, is_id=True)))
    known = found(seen(), {TagsWithIds("org-1", ("tag-1",)): {}})
    both = ["not_found", "invalid_value"]
    assert refused(tags.change, known, "ws-1", draft, TagChange.ADD) == both
    assert refused(update, known, "ws-1", WorkspaceDraft(tags=draft), TRUST) == both
    made = found(to_acme(), {TagsWithIds("org-1", ("tag-1",)): {}})
    assert refused(create, made, "acme", WorkspaceDraft(name="n", tags=draft), "ws-2") == both


def test_a_workspace_is_written_before_its_tags() -> None:
    draft = WorkspaceDraft(name="network", tags=names("live"))
    first, second = create(found(to_acme()), "acme", draft, "ws-1").writes
    assert isinstance(first, Insert)
    assert isinstance(first.row, WorkspaceRecord)
    assert second == Insert(rows(Tags(("live",))).popitem()[1])


def test_a_tag_is_taken_from_each_workspace_that_has_it() -> None:
    other = replace(TAGGED, workspace=replace(NETWORK, id="ws-2"))
    known = found(
        to_acme(),
        {TagsWithIds("org-1", (LIVE,)): {LIVE: "live"}},
        {TaggedWorkspaces("org-1", (LIVE,)): [TAGGED, other]},
        locked=("ws-1", "ws-2"),
    )
    decision = tags.delete(known, "acme", IdsDraft((LIVE, LIVE)))
    assert decision.writes == (tags.TakeTags((LIVE,), ("ws-1", "ws-2")),)
    assert actions(decision) == [("ws-1", "workspace.update"), ("ws-2", "workspace.update")]
    nobody = found(to_acme(), {TagsWithIds("org-1", ("tag-1",)): {}})
    assert refused(tags.delete, nobody, "acme", IdsDraft(("tag-1",))) == ["not_found"]
    member = found(to_acme(owner=False))
    assert refused(tags.delete, member, "acme", IdsDraft(("tag-1",))) == ["forbidden"]


def test_a_tag_is_given_to_workspaces_by_whoever_manages_workspaces() -> None:
    other = replace(TAGGED, tags=Tags())
    asked = {
        TagCalled(LIVE): ("org-1", "live"),
        WorkspacesWithIds("org-1", ("ws-1",)): [other],
        WorkspacesWithIds("org-1", ("ws-1", "ws-9")): [other],
    }
    owner, member = (found(to_acme(owner=owns), asked, locked=("ws-1",)) for owns in (True, False))
    managing = to_acme(owner=False, rights=[Right.MANAGE_WORKSPACES])
    manager = found(managing, asked, locked=("ws-1",))
    decision = tags.add_workspaces(owner, LIVE, IdsDraft(("ws-1",)))
    assert decision.writes == (Insert(rows(Tags(("live",))).popitem()[1]),)
    assert tags.add_workspaces(manager, LIVE, IdsDraft(("ws-1",))).writes == decision.writes
    strange = IdsDraft(("ws-1", "ws-9"))
    assert refused(tags.add_workspaces, owner, LIVE, strange) == ["not_found"]
    assert refused(tags.add_workspaces, member, LIVE, IdsDraft(("ws-1",))) == ["not_found"]
    tagged = found(to_acme(), {**asked, WorkspacesWithIds("org-1", ("ws-1",)): [TAGGED]})
    same = tags.add_workspaces(tagged, LIVE, IdsDraft(("ws-1",)))
    assert (same.writes, same.notes) == ((), ())


def test_names_of_tags_are_found_by_all_their_parts_and_bindings_shown_by_the_page() -> None:
    known = found(seen())
    every = Page()
    assert [tag.name for tag in tags.names(known, "ws-1", ["LI", "ve"], every).items] == ["live"]
    assert tags.names(known, "ws-1", ["li", "web"], every).items == []
    (bound,) = tags.bindings(known, "ws-1", None).items
    assert (bound.key, bound.value) == ("env", "eu")
    beyond = tags.bindings(known, "ws-1", Page(2, 1))
    assert (beyond.items, beyond.total) == ([], 1)
