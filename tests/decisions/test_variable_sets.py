"""What becomes of requests about variable sets."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs, Update
from teamvars.decisions.needs import ProjectsSeen, WorkspacesOf, WorkspacesWithIds
from teamvars.decisions.projects import KeepDefault
from teamvars.decisions.set_reach import HasSensitive, InWhich, PlacesOf
from teamvars.decisions.variable_sets import (
    AttachedTo,
    Contested,
    DetailsOfSets,
    LevelsOfSets,
    Rivals,
    Rules,
    SetsApplicable,
    SetsAt,
    SetsOf,
    SetsReaching,
    SetsSeen,
    attach,
    create,
    delete,
    page,
    page_of_applicable,
    page_of_workspace,
    preview,
    read,
    update,
)
from teamvars.decisions.variables import ToSet
from teamvars.domain.access import Level, SetAccess, WrappedKey
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.pages import Page, Paged
from teamvars.domain.set_effects import Contest, Layout, PreviewDraft
from teamvars.domain.teams import Right
from teamvars.domain.variable_sets import (
    Attached,
    Attaching,
    SetDetails,
    SetDraft,
    SetLimits,
    SetSearch,
    Target,
    TargetKind,
    TargetsDraft,
    VariableSet,
)
from teamvars.domain.workspaces import Workspace, WorkspaceRecord
from teamvars.kernel.variables import Category
from tests.decisions.directory import (
    DEFAULT,
    NETWORK,
    NOW,
    SHOP,
    Answers,
    actions,
    found,
    refused,
    to_acme,
    to_network,
    to_project,
)
from tests.decisions.test_deliveries import TRUST
from tests.decisions.test_runners import NO_RUNNERS

SHARED = VariableSet("varset-1", "shared", "org-1", "acme", description="what")
GLOBAL = replace(SHARED, is_global=True)
OF_SHOP = replace(SHARED, project_id=SHOP.id)
PAYMENTS = Workspace("ws-2", "payments", "org-1", "acme")
RULES = Rules(SetLimits.of(sets=2, of_target=2), TRUST)
BOTH = [Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS]
LOCKED = ("org-1", "varset-1")
SETTLED = 3
"""When anything of the set last changed."""
DETAILS = SetDetails(updated_at=SETTLED)
FIRST = Page()
ALL_OF_IT = None


def to_set(one: VariableSet = SHARED, *, level: Level = Level.OWNER, **may: Any) -> Answers:
    """A set, what somebody may do with it and in its organization, and that nothing is attached."""
    stream = Stream(one.id, "org-1", 1, b"", b"")
    access = SetAccess(one, level, stream, WrappedKey("org-1", 1, "k", b""))
    return {
        **to_acme(**may),
        ToSet(one.id): access,
        DetailsOfSets((one.id,), ALL_OF_IT): {one.id: DETAILS},
        AttachedTo(one.id): Attached(),
    }


RELATED = "/data/relationships/workspaces/data"


def has(*workspaces: Workspace, asked: tuple[str, ...] = ()) -> Answers:
    """The workspaces that there are, of those that are asked for."""
    ids = asked or tuple(sorted(one.id for one in workspaces))
    return {WorkspacesWithIds("org-1", ids): [WorkspaceRecord(one) for one in workspaces]}


def at(**counts: int) -> Answers:
    """How many sets are attached to workspaces, or being global to the organization."""
    by_id = {id_.replace("_", "-"): count for id_, count in counts.items()}
    return {SetsAt(tuple(sorted(by_id))): by_id}


def naming(*ids: str | None, **said: Any) -> SetDraft:
    """A draft that names the workspaces of a set."""
    return SetDraft(workspaces=TargetsDraft(ids, at=RELATED), **said)


def test_a_set_begins_with_a_stream_and_attached_to_what_is_named() -> None:
    none = {SetsOf("org-1"): [], **at(org_1=0)}
    known = found(to_acme(), has(NETWORK), at(ws_1=0), none, locked=LOCKED)
    decision = create(known, "acme", naming("ws-1", name="shared"), "varset-1", RULES)
    made = VariableSet("varset-1", "shared", "org-1", "acme", created_at=NOW)
    assert decision.writes == (Insert(made), Insert(Target.of_workspace("varset-1", "ws-1")))
    assert actions(decision) == [("org-1", "varset.create"), ("varset-1", "varset.attach")]
    assert decision.opens == {"varset-1": "org-1"}
    assert decision.answer.details == SetDetails({"ws-1": "network"}, {}, (), NOW)
    everywhere = create(known, "acme", SetDraft(name="all", is_global=True), "varset-1", RULES)
    assert everywhere.writes[1:] == (Insert(Target("varset-1", "org-1")),)
    assert actions(everywhere) == [("org-1", "varset.create")]


def test_how_many_sets_there_are_is_counted_under_the_lock_of_the_organization() -> None:
    draft = SetDraft(name="shared")
    with pytest.raises(Needs) as needs:
        create(found(to_acme(), {SetsOf("org-1"): []}), "acme", draft, "varset-1", RULES)
    assert getattr(needs.value.need, "stream_ids", None) == {"org-1"}

    def with_sets(count: int) -> Any:
        sets = {SetsOf("org-1"): [(f"varset-{n}", 0) for n in range(count)]}
        return found(to_acme(), sets, locked=LOCKED)

    create(with_sets(1), "acme", draft, "varset-1", RULES)
    assert refused(create, with_sets(2), "acme", draft, "varset-1", RULES) == ["too_many_items"]


@pytest.mark.parametrize(
    ("may", "code"),
    [
        ({"owner": False, "member": False, "rights": BOTH}, "not_found"),
        ({"owner": False}, "forbidden"),
        ({"owner": False, "rights": BOTH[:1]}, "forbidden"),
        ({"owner": False, "rights": BOTH[1:]}, "forbidden"),
        ({"owner": False, "rights": BOTH}, None),
    ],
)
def test_a_set_is_made_by_owners_and_by_whoever_has_both_rights(
    may: dict[str, Any], code: str | None
) -> None:
    known = found(to_acme(**may), {SetsOf("org-1"): []}, locked=LOCKED)
    asked = known, "acme", SetDraft(name="shared"), "varset-1", RULES
    if code is None:
        create(*asked)
    else:
        assert refused(create, *asked) == [code]


@pytest.mark.parametrize(
    ("level", "codes"),
    [
        (Level.NONE, ["not_found", "not_found", "not_found", "not_found"]),
        (Level.READ, ["", "forbidden", "forbidden", "forbidden"]),
        (Level.WRITE, ["", "", "", ""]),
    ],
)
def test_a_set_is_shown_and_changed_by_the_level_that_its_caller_has(
    level: Level, codes: list[str]
) -> None:
    known = found(to_set(level=level), locked=LOCKED)
    asked: list[tuple[Any, ...]] = [
        (read,),
        (update, SetDraft(name="other"), RULES),
        (attach, TargetsDraft(()), Attaching.ADD, RULES),
        (delete,),
    ]
    for (decide, *said), code in zip(asked, codes, strict=True):
        if code:
            assert refused(decide, known, "varset-1", *said) == [code]
        else:
            decide(known, "varset-1", *said)


@pytest.mark.parametrize(
    ("may", "seen"),
    [
        ({}, ALL_OF_IT),
        ({"owner": False, "rights": BOTH}, ALL_OF_IT),
        ({"owner": False, "rights": BOTH[:1], "teams": ("team-1",)}, Level.MANAGE),
        ({"owner": False, "rights": [Right.READ_WORKSPACES], "teams": ("team-1",)}, Level.READ),
        ({"owner": False, "teams": ("team-1",)}, Level.NONE),
    ],
)
def test_who_does_not_write_sets_sees_of_them_what_reaches_their_own_workspaces(
    may: dict[str, Any], seen: Level | None
) -> None:
    """The store is asked with the level and the teams of the caller, or for everything."""
    sight = None if seen is None else (seen, frozenset({"team-1"}), False)
    details = {DetailsOfSets(("varset-1",), sight): {"varset-1": DETAILS}}
    some = Paged([SHARED], 1)
    known = found(
        {**to_set(**may), DetailsOfSets(("varset-1",), ALL_OF_IT): None},
        to_network(Level.READ),
        {SetsSeen(("org-1", "acme"), sight, SetSearch("sh"), FIRST): some},
        {SetsReaching(NETWORK, "sh", FIRST): some},
        {SetsApplicable(NETWORK, sight, "sh", FIRST): some},
        details,
    )
    shown = [
        read(known, "varset-1"),
        *page(known, "acme", SetSearch("sh"), FIRST).items,
        *page_of_workspace(known, "ws-1", "sh", FIRST).items,
        *page_of_applicable(known, "ws-1", "sh", FIRST).items,
    ]
    assert [view.details for view in shown] == [DETAILS] * 4
    assert [view.is_writable for view in shown] == [seen is ALL_OF_IT] * 4


def test_strangers_are_told_of_no_sets() -> None:
    nobody = to_acme(owner=False, member=False)
    assert refused(page, found(nobody), "acme", SetSearch(), FIRST) == ["not_found"]
    unread = found(nobody, to_network(Level.NONE))
    assert refused(page_of_workspace, unread, "ws-1", "", FIRST) == ["not_found"]
    assert refused(page_of_applicable, unread, "ws-1", "", FIRST) == ["not_found"]
    empty = found(
        to_acme(), {SetsSeen(("org-1", "acme"), ALL_OF_IT, SetSearch(), FIRST): Paged([], 0)}
    )
    assert page(empty, "acme", SetSearch(), FIRST) == Paged([], 0)


@pytest.mark.parametrize(
    ("said", "changed", "recorded"),
    [
        ({}, None, None),
        ({"name": "shared", "is_priority": False}, None, None),
        ({"name": "other"}, ["name"], [("varset-1", "varset.update"), ("org-1", "varset.rename")]),
        ({"description": "why"}, ["description"], [("varset-1", "varset.update")]),
        ({"is_priority": True}, ["priority"], [("varset-1", "varset.update")]),
    ],
)
def test_a_set_changes_where_the_draft_says_something_new(
    said: dict[str, Any], changed: list[str] | None, recorded: list[tuple[str, str]] | None
) -> None:
    decision = update(found(to_set(), locked=LOCKED), "varset-1", SetDraft(**said), RULES)
    if changed is None or recorded is None:
        assert (decision.writes, decision.notes) == ((), ())
        assert decision.answer.details.updated_at == SETTLED
        return
    assert decision.writes == (Update(SHARED, decision.answer.set),)
    assert actions(decision) == recorded
    first, *more = [note.event.details for note in decision.notes]
    assert first["changed"] == changed
    assert more == ([{"name": "other", "from": "shared"}] if "name" in said else [])
    assert decision.answer.details.updated_at == NOW
    assert decision.taken is not None
    assert (decision.taken.code.word == "name_taken") == ("name" in said)


def test_what_makes_a_set_global_is_written_with_it_and_removed_with_it() -> None:
    target = Target("varset-1", "org-1")
    alone = {Rivals("varset-1", "org-1"): [], **at(org_1=0)}
    known = found(to_set(), alone, locked=LOCKED)
    draft = SetDraft(is_global=True)
    assert update(known, "varset-1", draft, RULES).writes[1:] == (Insert(target),)
    known = found(to_set(GLOBAL), locked=LOCKED)
    assert update(known, "varset-1", draft, RULES).writes == ()
    renamed = update(known, "varset-1", SetDraft(name="other"), RULES)
    assert renamed.writes == (Update(GLOBAL, replace(GLOBAL, name="other")),)
    narrowed = update(known, "varset-1", SetDraft(is_global=False), RULES)
    assert narrowed.writes[1:] == (Delete(Target, (target.id,)),)


def test_a_set_becomes_global_unless_another_global_one_has_one_of_its_keys() -> None:
    rivals = {Rivals("varset-1", "org-1"): [("region", "tool"), ("region", "env")]}
    known = found(to_set(), rivals, at(org_1=0), locked=LOCKED)
    draft = SetDraft(is_global=True)
    assert refused(update, known, "varset-1", draft, RULES) == ["key_taken"]
    full = {**at(org_1=2), SetsOf("org-1"): []}
    known = found(to_set(), rivals, full, locked=LOCKED)
    assert refused(update, known, "varset-1", draft, RULES) == ["too_many_items", "key_taken"]
    new = replace(draft, name="all")
    assert refused(create, known, "acme", new, "varset-1", RULES) == ["too_many_items"]


def test_workspaces_are_attached_and_detached_and_each_way_is_recorded_once() -> None:
    reached = {AttachedTo("varset-1"): Attached(frozenset({"ws-1"}))}
    known = found(to_set(), reached, has(PAYMENTS), at(ws_2=1), locked=LOCKED)
    decision = update(known, "varset-1", naming("ws-2"), RULES)
    new, old = (Target.of_workspace("varset-1", id_) for id_ in ("ws-2", "ws-1"))
    assert decision.writes == (Insert(new), Delete(Target, (old.id,)))
    both = [("varset-1", "varset.attach"), ("varset-1", "varset.detach")]
    assert actions(decision) == both
    assert [note.event.details["workspaces"] for note in decision.notes] == [["ws-2"], ["ws-1"]]
    assert decision.answer.details == SetDetails({"ws-2": "payments"}, {}, (), NOW)

    def by(how: Attaching, *ids: str) -> list[tuple[str, str]]:
        every = found(known.answers, has(NETWORK, PAYMENTS), has(NETWORK), locked=LOCKED)
        return actions(attach(every, "varset-1", TargetsDraft(ids), how, RULES))

    assert by(Attaching.ADD, "ws-1", "ws-2") == both[:1]
    assert by(Attaching.ADD, "ws-1") == []
    assert by(Attaching.REMOVE, "ws-1", "ws-2") == both[1:]
    assert by(Attaching.REMOVE, "ws-2") == []


def test_a_draft_without_workspaces_leaves_them_and_one_with_none_detaches_all() -> None:
    reached = {AttachedTo("varset-1"): Attached(frozenset({"ws-1"}))}
    known = found(to_set(), reached, has(NETWORK), locked=LOCKED)
    kept = update(known, "varset-1", SetDraft(is_priority=True), RULES)
    assert actions(kept) == [("varset-1", "varset.update")]
    assert kept.answer.details.workspaces == {"ws-1": "network"}
    gone = update(known, "varset-1", naming(), RULES)
    assert actions(gone) == [("varset-1", "varset.detach")]


@pytest.mark.parametrize(("counts", "is_full"), [({"ws_2": 1}, False), ({"ws_2": 2}, True)])
def test_a_workspace_gets_so_many_sets_and_no_more(
    counts: Mapping[str, int], is_full: bool
) -> None:
    sets: Answers = {SetsOf("org-1"): []}
    known = found(to_set(), has(PAYMENTS), at(**counts), sets, locked=LOCKED)
    asked: list[tuple[Any, ...]] = [
        (RELATED, create, "acme", naming("ws-2", name="shared"), "varset-1", RULES),
        (RELATED, update, "varset-1", naming("ws-2"), RULES),
        ("/data", attach, "varset-1", TargetsDraft(("ws-2",)), Attaching.ADD, RULES),
    ]
    for place, decide, *said in asked:
        if is_full:
            with pytest.raises(Refusal) as refusal:
                decide(known, *said)
            (fault,) = refusal.value.faults
            assert (fault.code.word, fault.pointer) == ("too_many_items", place)
        else:
            decide(known, *said)


def test_workspaces_that_there_are_not_are_pointed_at_and_nothing_is_attached() -> None:
    ids = ("ws-1", None, "ws-9")
    known = found(to_set(), has(NETWORK, asked=("ws-1", "ws-9")), at(ws_1=0), locked=LOCKED)
    draft = TargetsDraft(ids)
    assert refused(attach, known, "varset-1", draft, Attaching.ADD, RULES) == ["not_found"]
    assert refused(update, known, "varset-1", naming(*ids), RULES) == ["not_found"]


def test_what_is_full_is_told_beside_all_else_and_only_of_what_the_caller_sees() -> None:
    """How many sets are at a workspace that they do not see is not even asked."""
    asked = has(NETWORK, asked=("ws-1", "ws-9")), at(ws_1=2)
    rivals = {Rivals("varset-1", "org-1"): [("region", "tool")]}
    known = found(to_set(), *asked, rivals, at(org_1=2), locked=LOCKED)
    draft = naming("ws-1", "ws-9", name=" ", is_global=True)
    at_workspaces = ["not_found", "too_many_items"]
    expected = ["invalid_value", *at_workspaces, "too_many_items", "key_taken"]
    assert refused(update, known, "varset-1", draft, RULES) == expected
    full = {SetsOf("org-1"): [("varset-2", 0)] * 2, **at(org_1=2)}
    known = found(to_acme(), *asked, full, locked=LOCKED)
    expected = ["invalid_value", *at_workspaces, "too_many_items", "too_many_items"]
    assert refused(create, known, "acme", draft, "varset-1", RULES) == expected


def test_what_is_decided_of_a_set_is_decided_under_its_lock_and_the_organizations() -> None:
    asked: list[tuple[Any, ...]] = [
        (update, SetDraft(name="other"), RULES),
        (attach, TargetsDraft(()), Attaching.ADD, RULES),
        (delete,),
    ]
    for decide, *said in asked:
        with pytest.raises(Needs) as needs:
            decide(found(to_set()), "varset-1", *said)
        assert getattr(needs.value.need, "stream_ids", None) == set(LOCKED)


def test_a_set_ends_with_its_stream() -> None:
    decision = delete(found(to_set(), locked=LOCKED), "varset-1")
    assert decision.writes == (Delete(VariableSet, ("varset-1",)),)
    (note,) = decision.notes
    assert (note.stream_id, note.closes) == ("org-1", ["varset-1"])


def test_every_fault_of_a_draft_is_told_at_once() -> None:
    faulty = SetDraft(id="varset-2", parent="other", name=" ", description="x" * 513)
    known = found(to_set(), {SetsOf("org-1"): []}, locked=LOCKED)
    codes = ["invalid_value", "invalid_value", "id_conflict", "relationship_conflict"]
    assert refused(update, known, "varset-1", faulty, RULES) == codes
    assert refused(create, known, "acme", faulty, "varset-1", RULES) == codes


@pytest.mark.parametrize(("writes", "codes"), [({"ws-1"}, []), (set(), ["forbidden"])])
def test_who_makes_a_set_of_a_project_brings_it_where_they_write_variables(
    writes: set[str], codes: list[str]
) -> None:
    teams = frozenset({"team-1"})
    asked: Answers = {
        LevelsOfSets(frozenset({SHOP.id}), teams): {SHOP.id: Level.WRITE},
        SetsOf("org-1"): [],
        WorkspacesWithIds("org-1", ("ws-1",)): [WorkspaceRecord(NETWORK, project_id=SHOP.id)],
        InWhich(frozenset({"ws-1"}), teams, Level.READ): frozenset({"ws-1"}),
        InWhich(frozenset({"ws-1"}), teams, Level.WRITE): frozenset(writes),
        HasSensitive("varset-1"): False,
        PlacesOf("org-1"): {"ws-1": SHOP.id},
    }
    member = to_project(SHOP, owner=False, teams=("team-1",))
    known = found(member, asked, at(ws_1=0), locked=LOCKED)
    draft = naming("ws-1", name="shared", project_id=SHOP.id)
    if codes:
        assert refused(create, known, "acme", draft, "varset-1", RULES) == codes
    else:
        create(known, "acme", draft, "varset-1", RULES)


def test_a_set_of_a_project_begins_in_it_and_says_whose_it_is() -> None:
    asked = {SetsOf("org-1"): [], ProjectsSeen("org-1", (SHOP.id,)): [SHOP], SetsAt((SHOP.id,)): {}}
    draft = SetDraft(
        name="shared", project_id=SHOP.id, projects=TargetsDraft((SHOP.id,), kind="projects")
    )
    known = found(to_project(SHOP), asked, locked=LOCKED)
    decision = create(known, "acme", draft, "varset-1", RULES)
    made = VariableSet("varset-1", "shared", "org-1", "acme", created_at=NOW, project_id=SHOP.id)
    target = Target.of_project("varset-1", SHOP.id)
    kept = KeepDefault("org-1")
    assert decision.writes == (kept, Insert(made), kept, Insert(target))
    assert decision.notes[0].event.details["project"] == SHOP.id
    assert decision.answer.details.projects == {SHOP.id: "shop"}
    of_all = create(known, "acme", SetDraft(name="all"), "varset-1", RULES)
    assert "project" not in of_all.notes[0].event.details


def test_a_project_that_the_caller_does_not_see_has_no_set() -> None:
    known = found(to_project(SHOP, seen=False), {SetsOf("org-1"): []}, locked=LOCKED)
    draft = SetDraft(name="shared", project_id=SHOP.id)
    assert refused(create, known, "acme", draft, "varset-1", RULES) == ["not_found"]


@pytest.mark.parametrize(
    ("kind", "id_", "there", "codes"),
    [
        ("workspaces", "ws-1", [WorkspaceRecord(NETWORK, project_id=SHOP.id)], []),
        ("workspaces", "ws-1", [WorkspaceRecord(NETWORK)], ["invalid_value"]),
        ("projects", SHOP.id, [SHOP], []),
        ("projects", DEFAULT.id, [DEFAULT], ["invalid_value"]),
        ("projects", "prj-9", [], ["not_found"]),
    ],
)
def test_a_set_of_a_project_is_attached_to_that_and_to_workspaces_in_it(
    kind: TargetKind, id_: str, there: list[Any], codes: list[str]
) -> None:
    ask = WorkspacesWithIds if kind == "workspaces" else ProjectsSeen
    answers = {ask("org-1", (id_,)): there, SetsAt((id_,)): {}}
    known = found(to_set(OF_SHOP), answers, locked=LOCKED)
    draft = TargetsDraft((id_,), kind=kind)
    both = replace(SetDraft(), **{kind: draft})
    if codes:
        assert refused(attach, known, "varset-1", draft, Attaching.ADD, RULES) == codes
        assert refused(update, known, "varset-1", both, RULES) == codes
    else:
        (target,) = Attached(**{kind: frozenset({id_})}).targets("varset-1").values()
        written = attach(known, "varset-1", draft, Attaching.ADD, RULES).writes
        assert written[-1] == Insert(target)
        assert (KeepDefault("org-1") in written) == (kind == "projects")
        assert update(known, "varset-1", both, RULES).writes == written
    if there:  # wherever it is, the set is detached from it
        assert attach(known, "varset-1", draft, Attaching.REMOVE, RULES).writes == ()


def test_what_a_set_is_attached_to_may_be_named_again_by_whoever_does_not_see_it() -> None:
    reached = {AttachedTo("varset-1"): Attached(frozenset({"ws-1"}))}
    known = found(to_set(), reached, has(asked=("ws-1",)), locked=LOCKED)
    assert update(known, "varset-1", naming("ws-1"), RULES).writes == ()


@pytest.mark.parametrize(
    ("may", "level", "is_writable"),
    [
        ({}, None, True),
        ({"owner": False, "rights": [Right.READ_PROJECTS]}, Level.READ, False),
        ({"owner": False, "rights": [Right.READ_PROJECTS]}, Level.WRITE, True),
        ({"owner": False, "rights": [Right.READ_PROJECTS]}, Level.MANAGE, True),
    ],
)
def test_a_set_of_a_project_is_shown_as_writable_to_whom_a_grant_on_the_project_lets_write(
    may: dict[str, Any], level: Level | None, is_writable: bool
) -> None:
    sight = None if level is None else (Level.NONE, frozenset[str](), True)
    known = found(
        to_set(OF_SHOP, **may),
        {DetailsOfSets(("varset-1",), sight): {"varset-1": DETAILS}},
        {LevelsOfSets(frozenset({SHOP.id}), frozenset()): {SHOP.id: level}},
    )
    assert read(known, "varset-1").is_writable is is_writable


def test_which_sets_of_many_projects_are_writable_is_asked_at_once() -> None:
    sets = [replace(OF_SHOP, id=f"varset-{n}", project_id=f"prj-{n}") for n in range(3)]
    teams, ids = frozenset({"team-1"}), tuple(one.id for one in sets)
    sight = Level.NONE, teams, False
    asked: Answers = {
        SetsSeen(("org-1", "acme"), sight, SetSearch(""), Page()): Paged(sets, 3),
        DetailsOfSets(ids, sight): dict.fromkeys(ids, DETAILS),
        LevelsOfSets(frozenset({"prj-0", "prj-1", "prj-2"}), teams): {
            "prj-0": Level.WRITE,
            "prj-1": Level.READ,
        },
    }
    known = found(to_acme(owner=False, teams=("team-1",)), asked)
    shown = page(known, "acme", SetSearch(), Page())
    assert [one.is_writable for one in shown.items] == [True, False, False]


def test_what_a_set_would_make_of_workspaces_is_foreseen_as_it_changes_or_goes() -> None:
    known = found(
        to_set(),
        {AttachedTo("varset-1"): Attached(frozenset({"ws-1"}))},
        {
            Contested("varset-1", "org-1"): Contest(
                [("region", Category.TOOL)], Layout({}, {}, {"ws-1": DEFAULT.id}), {}
            )
        },
        {PlacesOf("org-1"): {"ws-1": DEFAULT.id}, WorkspacesOf("org-1"): [(NETWORK, 0)]},
        NO_RUNNERS,
    )
    for draft, losing in (
        (PreviewDraft(SetDraft(), is_deleted=True), 1),
        (PreviewDraft(naming()), 1),
        (PreviewDraft(SetDraft(is_priority=True)), 0),
    ):
        foreseen = preview(known, "varset-1", draft, RULES)
        tally = foreseen.tally()
        tally.add(foreseen.workspaces)
        assert foreseen.with_runners(tally.told).losing == losing
