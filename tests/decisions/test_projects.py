"""What becomes of requests about projects."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Insert, Needs, Update, projects
from teamvars.decisions.needs import (
    AccessTo,
    DetailsOf,
    SetsIn,
    ToProject,
    WorkspacesIn,
    WorkspacesOf,
    WorkspacesWithIds,
)
from teamvars.decisions.projects import KeepDefault, PutInto
from teamvars.decisions.runners import RunnersOf
from teamvars.decisions.set_reach import SetsAttached
from teamvars.decisions.workspaces import update
from teamvars.domain.access import Level, ProjectAccess
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, not_found
from teamvars.domain.moves import Access, AccessChange, Foreseen, MoveDraft
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant
from teamvars.domain.projects import Project, ProjectDraft
from teamvars.domain.set_effects import Standing
from teamvars.domain.tags import MAX_TAGS, ProjectTagRow, SaidBinding, TagChange, TagsDraft
from teamvars.domain.team_access import AccessType, Grant
from teamvars.domain.teams import ALL_RIGHTS, Right, Rights, Visibility
from teamvars.domain.variable_sets import Attached, Target, VariableSet
from teamvars.domain.workspaces import WorkspaceDetails, WorkspaceDraft, WorkspaceRecord
from tests.decisions.directory import (
    ACME,
    CREW,
    DEFAULT,
    NETWORK,
    NOW,
    OWNERS,
    SHOP,
    actions,
    found,
    refused,
    to_acme,
    to_network,
    to_project,
    to_sets,
)
from tests.decisions.test_deliveries import FEDERATED, TRUST
from tests.decisions.test_runners import NO_RUNNERS

BOTH = [Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS]
RECORD = WorkspaceRecord(NETWORK)
NAMED = MoveDraft(("ws-1",))
ACCESS: ProjectAccess = to_project(SHOP)[ToProject(SHOP.id)]
EMPTY: dict[Any, Any] = {WorkspacesIn(SHOP.id): 0, SetsIn(SHOP.id): 0}
SHOP_SETS = SetsAttached(("org-1", ACME.name), SHOP.id)


def in_acme(*records: WorkspaceRecord) -> dict[Any, Any]:
    """The workspaces of which one is asked for."""
    return {WorkspacesWithIds("org-1", ("ws-1",)): records}


def test_a_project_begins_after_the_default_one_in_the_stream_of_its_organization() -> None:
    draft = ProjectDraft(name="shop", settings={"description": "what"})
    decision = projects.create(found(to_acme()), "acme", draft, SHOP.id)
    made = Project(SHOP.id, "org-1", "shop", NOW, {"description": "what"})
    assert decision.writes == (KeepDefault("org-1"), Insert(made))
    bound = ProjectDraft(name="shop", tags=TagsDraft(bindings=(SaidBinding("env", "eu", ""),)))
    *_, tag = projects.create(found(to_acme()), "acme", bound, SHOP.id).writes
    assert isinstance(tag, Insert)
    assert isinstance(tag.row, ProjectTagRow)
    assert (tag.row.project_id, tag.row.key, tag.row.value) == (SHOP.id, "env", "eu")
    assert (decision.answer.project, decision.answer.workspaces) == (made, 0)
    assert actions(decision) == [("org-1", "project.create")]
    assert decision.taken is not None


@pytest.mark.parametrize(
    ("may", "code"),
    [
        ({"owner": False, "member": False}, "not_found"),
        ({"owner": False}, "forbidden"),
        ({"owner": False, "rights": [Right.READ_PROJECTS]}, "forbidden"),
    ],
)
def test_who_has_no_right_makes_no_project(may: dict[str, Any], code: str) -> None:
    known = found(to_acme(**may))
    assert refused(projects.create, known, "acme", ProjectDraft(name=""), SHOP.id) == [code]


@pytest.mark.parametrize(
    ("seen", "rights", "codes"),
    [
        (False, [], ["not_found", "not_found", "not_found", "not_found"]),
        (True, [], ["", "forbidden", "forbidden", "forbidden"]),
        (True, [Right.READ_PROJECTS], ["", "forbidden", "forbidden", "forbidden"]),
        (True, [Right.MANAGE_PROJECTS], ["", "", "", "forbidden"]),
        (True, [Right.MANAGE_WORKSPACES], ["", "forbidden", "forbidden", "forbidden"]),
        (True, BOTH, ["", "", "", ""]),
    ],
)
def test_a_project_is_shown_changed_and_filled_by_whom_the_rule_names(
    seen: bool, rights: list[Right], codes: list[str]
) -> None:
    to_shop = to_project(SHOP, seen=seen, owner=False, rights=rights)
    empty = {**EMPTY, SHOP_SETS: ()}
    known = found(to_shop, in_acme(RECORD), empty, to_sets(), locked=("org-1", "ws-1"))
    asked: list[tuple[Any, ...]] = [
        (projects.to_project, known, SHOP.id),
        (projects.update, known, SHOP.id, ProjectDraft(name="store")),
        (projects.delete, known, SHOP.id),
        (projects.move, known, SHOP.id, NAMED, TRUST),
    ]
    for (decide, *said), code in zip(asked, codes, strict=True):
        if code:
            assert refused(decide, *said) == [code]
        else:
            decide(*said)


def test_only_what_is_another_is_written_and_a_new_name_recorded_with_the_former() -> None:
    known = found(to_project(SHOP))
    decision = projects.update(known, SHOP.id, ProjectDraft(name="store"))
    after = replace(SHOP, name="store")
    assert decision.writes == (KeepDefault("org-1"), Update(SHOP, after))
    (note,) = decision.notes
    assert note.event.details == {"name": "store", "changed": ["name"], "from": "shop"}
    told = projects.update(known, SHOP.id, ProjectDraft(settings={"description": "what"}))
    assert told.answer.project == replace(SHOP, settings={"description": "what"})
    same = projects.update(known, SHOP.id, ProjectDraft(name="shop"))
    assert (same.writes, same.notes) == ((), ())
    faulty = ProjectDraft(id="prj-3", name="", settings={"default-execution-mode": "agent"})
    codes = ["invalid_value", "not_offered", "id_conflict"]
    assert refused(projects.update, known, SHOP.id, faulty) == codes


def test_only_the_tags_that_are_others_are_written_and_the_project_is_not() -> None:
    known = found(to_project(SHOP, bindings={"env": "eu", "team": "a"}))

    def retag(how: TagChange, **said: str) -> Decision[Any]:
        draft = TagsDraft(bindings=tuple(SaidBinding(key, said[key], "") for key in said))
        return projects.retag(known, SHOP.id, draft, how)

    kept, changed = retag(TagChange.ADD, env="us", team="a").writes
    assert isinstance(changed, Update)
    assert kept == KeepDefault("org-1")
    assert changed.after == replace(changed.before, value="us")
    _, gone, new = retag(TagChange.REPLACE, team="a", more="1").writes
    assert isinstance(gone, Delete)
    assert (len(gone.keys), getattr(new, "row", None) is not None) == (1, True)
    (note,) = retag(TagChange.ADD, more="1").notes
    assert note.event.details == {"name": "shop", "changed": ["tag-bindings"]}
    assert retag(TagChange.ADD, team="a").notes == ()
    faulty = TagsDraft(bindings=(SaidBinding("=", "", ""),))
    assert refused(projects.retag, known, SHOP.id, faulty, TagChange.ADD) == ["invalid_value"]
    many = TagsDraft(bindings=tuple(SaidBinding(f"k{n}", "", "") for n in range(MAX_TAGS)))
    assert refused(projects.retag, known, SHOP.id, many, TagChange.ADD) == ["too_many_items"]


def test_a_project_is_deleted_once_no_workspace_is_in_it_and_the_default_one_never() -> None:
    empty = {**EMPTY, SHOP_SETS: ()}
    decision = projects.delete(found(to_project(SHOP), empty, locked=("org-1",)), SHOP.id)
    assert decision.writes == (Delete(Project, (SHOP.id,)),)
    assert actions(decision) == [("org-1", "project.delete")]
    for used in ({WorkspacesIn(SHOP.id): 3}, {WorkspacesIn(SHOP.id): 0, SetsIn(SHOP.id): 1}):
        known = found(to_project(SHOP), used, locked=("org-1",))
        assert refused(projects.delete, known, SHOP.id) == ["project_not_empty"]
    known = found(to_project(DEFAULT))
    assert refused(projects.delete, known, DEFAULT.id) == ["default_project_stays"]


def test_sets_are_attached_no_longer_to_a_project_that_ends() -> None:
    shared = VariableSet("varset-1", "shared", "org-1", "acme")
    known = to_project(SHOP), EMPTY, {SHOP_SETS: (shared,)}
    with pytest.raises(Needs) as needs:
        projects.delete(found(*known, locked=("org-1",)), SHOP.id)
    assert getattr(needs.value.need, "stream_ids", None) == {"varset-1"}
    decision = projects.delete(found(*known, locked=("org-1", "varset-1")), SHOP.id)
    assert decision.writes == (
        Delete(Target, (f"varset-1/{SHOP.id}",)),
        Delete(Project, (SHOP.id,)),
    )
    assert actions(decision) == [("varset-1", "varset.detach"), ("org-1", "project.delete")]
    told = {"name": "shared", "workspaces": [], "projects": [SHOP.id]}
    assert decision.notes[0].event.details == told


def test_whether_a_workspace_is_in_a_project_is_asked_under_the_lock_of_the_organization() -> None:
    known = found(to_project(SHOP), EMPTY)
    with pytest.raises(Needs) as needs:
        projects.delete(known, SHOP.id)
    assert getattr(needs.value.need, "stream_ids", None) == {"org-1"}
    known = found(to_project(SHOP), in_acme(RECORD))
    with pytest.raises(Needs) as needs:
        projects.move(known, SHOP.id, NAMED, TRUST)
    assert getattr(needs.value.need, "stream_ids", None) == {"org-1"}


def test_workspaces_that_are_elsewhere_are_moved_and_others_stay() -> None:
    locked = ("org-1", "ws-1")
    known = found(to_project(SHOP), in_acme(RECORD), to_sets(), locked=locked)
    decision = projects.move(known, SHOP.id, NAMED, TRUST)
    inside = replace(RECORD, project_id=SHOP.id)
    assert decision.writes == (PutInto(SHOP, ("ws-1",)),)
    assert actions(decision) == [("ws-1", "workspace.move")]
    known = found(to_project(SHOP), in_acme(inside), locked=locked)
    again = projects.move(known, SHOP.id, NAMED, TRUST)
    assert (again.writes, again.notes) == ((), ())
    known = found(to_project(DEFAULT), in_acme(inside), to_sets(), locked=locked)
    back = projects.move(known, DEFAULT.id, NAMED, TRUST)
    assert back.writes == (PutInto(DEFAULT, ("ws-1",)),)
    nowhere = found(to_project(SHOP), in_acme())
    assert refused(projects.move, nowhere, SHOP.id, NAMED, TRUST) == ["not_found"]


AT_SHOP = Standing(
    VariableSet("varset-1", "shared", "org-1", "acme"), Attached(projects=frozenset({SHOP.id}))
)
OF_DEFAULT = Standing(
    VariableSet("varset-2", "own", "org-1", "acme", project_id=DEFAULT.id),
    Attached(frozenset({"ws-1"})),
)


def test_sets_that_come_and_go_are_locked_with_the_workspaces_which_leave_some() -> None:
    both = to_sets((AT_SHOP, True), (OF_DEFAULT, False))
    known = found(to_project(SHOP), in_acme(RECORD), both, locked=("org-1",))
    with pytest.raises(Needs) as needs:
        projects.move(known, SHOP.id, NAMED, TRUST)
    # At once, and so by id: a copy waits for these two, and has locked neither by then.
    assert getattr(needs.value.need, "stream_ids", None) == {"ws-1", "varset-1", "varset-2"}
    locked = ("org-1", "ws-1", "varset-1", "varset-2")
    known = found(to_project(SHOP), in_acme(RECORD), both, locked=locked)
    decision = projects.move(known, SHOP.id, NAMED, TRUST)
    gone = Target.of_workspace("varset-2", "ws-1").id
    assert decision.writes == (PutInto(SHOP, ("ws-1",)), Delete(Target, (gone,)))
    assert actions(decision) == [("ws-1", "workspace.move"), ("varset-2", "varset.detach")]


TO_SHOP = WorkspaceDraft(project_id=SHOP.id)


def to_its_document(**may: Any) -> list[Any]:
    """What its document is changed by, where a secret of a set would come along to the shop."""
    details = {DetailsOf("ws-1"): WorkspaceDetails(RECORD.settings, None, 1, (), 0)}
    return [to_network(Level.OWNER), details, to_project(SHOP, **may), to_sets((AT_SHOP, True))]


@pytest.mark.parametrize(
    ("locked", "wanted"), [((), {"org-1"}), (("org-1",), {"ws-1", "varset-1"})]
)
def test_a_workspace_that_is_moved_by_its_own_document_has_the_same_locked(
    locked: tuple[str, ...], wanted: set[str]
) -> None:
    known = found(*to_its_document(), locked=locked)
    with pytest.raises(Needs) as needs:
        update(known, "ws-1", TO_SHOP, TRUST)
    assert getattr(needs.value.need, "stream_ids", None) == wanted


def test_no_secret_of_a_set_comes_along_to_what_a_runner_is_handed_but_by_an_owner() -> None:
    runner = {RunnersOf("org-1"): [FEDERATED], WorkspacesOf("org-1"): [(NETWORK, 0)]}
    locked = ("org-1", "ws-1", "varset-1")
    for may, codes in (({"owner": False, "rights": BOTH}, ["forbidden"]), ({}, [])):
        known = found(*to_its_document(**may), in_acme(RECORD), runner, locked=locked)
        asked: list[tuple[Any, ...]] = [
            (update, known, "ws-1", TO_SHOP, TRUST),
            (projects.move, known, SHOP.id, NAMED, TRUST),
        ]
        for decide, *said in asked:
            if codes:
                assert refused(decide, *said) == codes
            else:
                decide(*said)
    known = found(*to_its_document(owner=False, rights=BOTH), in_acme(RECORD), runner)
    assert refused(projects.preview_move, known, SHOP.id, NAMED, TRUST) == ["forbidden"]


READERS = replace(CREW, id="team-2", name="Readers", visibility=Visibility.ORGANIZATION)
LOSERS = replace(CREW, id="team-3", name="losers", visibility=Visibility.ORGANIZATION)
EVERYWHERE = replace(
    CREW,
    id="team-4",
    name="all",
    visibility=Visibility.ORGANIZATION,
    rights=frozenset({Right.READ_WORKSPACES}),
)


def on_project(team_id: str, project: Project, level: Any) -> ProjectGrant:
    access = ProjectAccessType.CUSTOM
    return ProjectGrant(f"tprj-{team_id}", "org-1", team_id, project.id, access, level)


@pytest.mark.parametrize(
    ("may", "told", "unseen"),
    [
        ({}, {"crew", "losers", "Readers"}, 0),
        ({"owner": False, "rights": BOTH}, {"losers", "Readers"}, 1),
        ({"owner": False, "rights": BOTH, "teams": ("team-1",)}, {"crew", "losers", "Readers"}, 0),
    ],
)
def test_a_dry_run_tells_of_each_team_that_the_caller_sees_and_counts_the_others(
    may: dict[str, Any], told: set[str], unseen: int
) -> None:
    access = Access(
        (CREW, READERS, LOSERS, EVERYWHERE, OWNERS),
        [Grant("tws-2", "org-1", "team-2", "ws-1", AccessType.READ, Level.READ)],
        [
            on_project("team-1", SHOP, Level.READ),
            on_project("team-2", SHOP, Level.WRITE),
            on_project("team-3", DEFAULT, Level.WRITE),
            on_project("team-4", SHOP, Level.READ),
            on_project("team-0", SHOP, Level.READ),
        ],
    )
    asked = AccessTo("org-1", ("ws-1",), tuple(sorted([DEFAULT.id, SHOP.id])))
    known = found(to_project(SHOP, **may), in_acme(RECORD), {asked: access}, to_sets(), NO_RUNNERS)
    changes = {
        "crew": AccessChange(CREW, Level.NONE, Level.READ, 1),
        "losers": AccessChange(LOSERS, Level.WRITE, Level.NONE, 1),
        "Readers": AccessChange(READERS, Level.READ, Level.WRITE, 1),
    }
    foreseen = projects.preview_move(known, SHOP.id, NAMED, TRUST)
    expected = [change for name, change in changes.items() if name in told]
    assert foreseen == Foreseen(1, expected, unseen)


def test_a_dry_run_of_what_is_in_the_project_already_foresees_nothing() -> None:
    inside = replace(RECORD, project_id=SHOP.id)
    nothing = {AccessTo("org-1", (), (SHOP.id,)): Access((CREW,), (), ())}
    known = found(to_project(SHOP), in_acme(inside), nothing, NO_RUNNERS)
    assert projects.preview_move(known, SHOP.id, NAMED, TRUST) == Foreseen(0, [], 0)


@pytest.mark.parametrize(("is_sensitive", "runners"), [(True, ("ci",)), (False, ())])
def test_a_dry_run_names_the_sets_that_come_and_go_and_whom_their_secrets_would_reach(
    is_sensitive: bool, runners: tuple[str, ...]
) -> None:
    asked = AccessTo("org-1", ("ws-1",), tuple(sorted([DEFAULT.id, SHOP.id])))
    nobody = {asked: Access((), (), ()), RunnersOf("org-1"): [FEDERATED]}
    both = to_sets((AT_SHOP, is_sensitive), (OF_DEFAULT, True))
    known = found(
        to_project(SHOP), in_acme(RECORD), nobody, both, {WorkspacesOf("org-1"): [(NETWORK, 0)]}
    )
    foreseen = projects.preview_move(known, SHOP.id, NAMED, TRUST)
    gained, lost = (AT_SHOP.set.name,), (OF_DEFAULT.set.name,)
    assert foreseen == Foreseen(1, [], 0, gained, lost, runners)


@pytest.mark.parametrize(
    ("rights", "granted", "writes"),
    [
        (frozenset(), Level.NONE, False),
        (frozenset(), Level.READ, False),
        (frozenset(), Level.WRITE, True),
        (frozenset({Right.MANAGE_WORKSPACES}), Level.NONE, False),
        (ALL_RIGHTS, Level.NONE, True),
    ],
)
def test_sets_of_a_project_are_written_by_whoever_moves_workspaces_or_was_granted_that(
    rights: Rights, granted: Level, writes: bool
) -> None:
    owner = replace(ACCESS.owner, is_owner=False, rights=rights)
    assert replace(ACCESS, owner=owner, granted_sets=granted).writes_sets is writes


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (ACCESS, SHOP),
        (not_found(), None),
        (ProjectAccess(replace(SHOP, organization_id="org-2"), ACCESS.owner, 0, 0), None),
    ],
)
def test_a_project_is_named_by_whoever_sees_it_in_its_own_organization(
    answer: object, named: Project | None
) -> None:
    assert projects.named(found({ToProject(SHOP.id): answer}), "org-1", SHOP.id) == named


def test_who_is_known_no_more_is_not_told_that_there_is_no_project() -> None:
    known = found({ToProject(SHOP.id): Refusal(NO_VALID_TOKEN)})
    assert refused(projects.named, known, "org-1", SHOP.id) == ["unauthenticated"]
