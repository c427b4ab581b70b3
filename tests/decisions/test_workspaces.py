"""What becomes of requests about workspaces."""

from typing import Any

import pytest
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs, Update
from teamvars.decisions.needs import (
    DetailsOf,
    MembershipOf,
    TeamsWithIds,
)
from teamvars.decisions.organizations import OrganizationView
from teamvars.decisions.projects import PutInto
from teamvars.decisions.set_reach import SetsAttached
from teamvars.decisions.workspaces import (
    ask_for_state,
    create,
    delete,
    lock,
    read,
    unlock,
    update,
)
from teamvars.domain import projects
from teamvars.domain.access import Level
from teamvars.domain.errors import Refusal
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.teams import Right, Visibility
from teamvars.domain.variable_sets import Target, VariableSet
from teamvars.domain.workspaces import (
    OWN_MODE,
    ExecutionMode,
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceRecord,
    WorkspaceSettings,
)
from tests.decisions.directory import (
    ACME,
    CREW,
    DEFAULT,
    INVITED,
    MEMBER,
    NETWORK,
    SHOP,
    actions,
    found,
    refused,
    to_acme,
    to_network,
    to_project,
    to_sets,
)
from tests.decisions.test_deliveries import TRUST

RECORD = WorkspaceRecord(NETWORK)
SHARED = VariableSet("varset-1", "shared", "org-1", "acme")
AT_NETWORK = SetsAttached(("org-1", NETWORK.organization_name), NETWORK.id)
MADE = replace(RECORD, settings=WorkspaceDraft().new_settings(ExecutionMode.REMOTE))


def seen(
    level: Level = Level.OWNER, locked_by: str | None = None, **settings: Any
) -> dict[Any, Any]:
    """The workspace for a caller with that level, and who has locked it."""
    details = WorkspaceDetails(WorkspaceSettings(**settings), locked_by, 1, (), 0)
    return {**to_network(level), DetailsOf("ws-1"): details}


def test_a_workspace_begins_in_the_stream_of_its_organization() -> None:
    decision = create(found(to_acme()), "acme", WorkspaceDraft(name="network"), "ws-1")
    assert decision.writes == (Insert(MADE),)
    assert decision.opens == {"ws-1": "org-1"}
    assert actions(decision) == [("org-1", "workspace.create")]


@pytest.mark.parametrize(("member", "code"), [(True, "forbidden"), (False, "not_found")])
def test_who_is_no_owner_makes_no_workspace(member: bool, code: str) -> None:
    known = found(to_acme(owner=False, member=member))
    assert refused(create, known, "acme", WorkspaceDraft(name=""), "ws-1") == [code]


def test_who_manages_workspaces_makes_one_and_manages_it() -> None:
    known = found(to_acme(owner=False, rights=[Right.MANAGE_WORKSPACES]))
    decision = create(known, "acme", WorkspaceDraft(name="network"), "ws-1")
    assert (decision.writes, decision.answer.level) == ((Insert(MADE),), Level.MANAGE)
    reader = found(to_acme(owner=False, rights=[Right.READ_WORKSPACES]))
    assert refused(create, reader, "acme", WorkspaceDraft(), "ws-1") == ["forbidden"]


def test_a_workspace_is_shown_to_readers_and_with_what_it_is_in_on_request() -> None:
    view = read(found(seen(Level.READ)), "ws-1")
    assert (view.workspace, view.level, view.organization) == (NETWORK, Level.READ, None)
    known = found(seen(Level.READ), to_project(owner=False))
    whole = OrganizationView(ACME, False, frozenset())
    view = read(known, "ws-1", related=True)
    assert (view.organization, view.project and view.project.project) == (whole, DEFAULT)
    assert refused(read, found(seen(Level.NONE)), "ws-1") == ["not_found"]


@pytest.mark.parametrize(
    ("draft", "recorded"),
    [
        (WorkspaceDraft(name="network"), []),
        (WorkspaceDraft(execution_mode="local"), [("ws-1", "workspace.update")]),
        (
            WorkspaceDraft(name="net"),
            [("ws-1", "workspace.update"), ("org-1", "workspace.rename")],
        ),
    ],
)
def test_settings_are_the_workspaces_affair_and_its_name_the_organizations_too(
    draft: WorkspaceDraft, recorded: list[tuple[str, str]]
) -> None:
    assert actions(update(found(seen()), "ws-1", draft, TRUST)) == recorded


def test_a_workspace_that_is_named_another_project_is_moved_and_changed() -> None:
    known = found(seen(), to_project(SHOP), to_sets(), locked=("org-1", "ws-1"))
    decision = update(known, "ws-1", WorkspaceDraft(name="net", project_id=SHOP.id), TRUST)
    moved = replace(RECORD, project_id=SHOP.id)
    renamed = replace(moved, workspace=replace(NETWORK, name="net"))
    assert decision.writes == (PutInto(SHOP, ("ws-1",)), Update(moved, renamed))
    expected = [
        ("ws-1", "workspace.move"),
        ("ws-1", "workspace.update"),
        ("org-1", "workspace.rename"),
    ]
    assert actions(decision) == expected
    assert decision.answer.record == renamed


@pytest.mark.parametrize("named", [None, DEFAULT.id, UNSET])
def test_whoever_names_the_project_that_it_is_in_moves_nothing_and_needs_no_right(
    named: str | UnsetType | None,
) -> None:
    decision = update(found(seen(Level.MANAGE)), "ws-1", WorkspaceDraft(project_id=named), TRUST)
    assert (decision.writes, decision.notes) == ((), ())


def test_a_move_takes_two_rights_and_a_project_that_is_seen() -> None:
    draft = WorkspaceDraft(name="a b", project_id=SHOP.id)
    one = to_project(SHOP, owner=False, rights=[Right.MANAGE_WORKSPACES])
    assert refused(update, found(seen(Level.MANAGE), one), "ws-1", draft, TRUST) == ["forbidden"]
    assert refused(create, found(one), "acme", draft, "ws-1") == ["forbidden"]
    unseen = to_project(SHOP, seen=False, owner=False, rights=[Right.MANAGE_WORKSPACES])
    both = ["not_found", "invalid_value"]
    assert refused(update, found(seen(Level.MANAGE), unseen), "ws-1", draft, TRUST) == both
    foreign = to_project(replace(SHOP, organization_id="org-2"))
    assert refused(update, found(seen(), foreign), "ws-1", draft, TRUST) == both


def test_a_workspace_is_made_in_the_project_that_is_named() -> None:
    draft = WorkspaceDraft(name="network", project_id=SHOP.id)
    rights = [Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS]
    decision = create(found(to_project(SHOP, owner=False, rights=rights)), "acme", draft, "ws-1")
    assert decision.writes == (Insert(replace(MADE, project_id=SHOP.id)),)
    assert actions(decision) == [("org-1", "workspace.create")]
    local = replace(SHOP, settings={projects.OWN_MODE: True, DEFAULT_MODE: "local"})
    made = create(found(to_project(local)), "acme", draft, "ws-1").answer
    assert made.details.settings.default_mode is ExecutionMode.LOCAL


@pytest.mark.parametrize(("level", "code"), [(Level.NONE, "not_found"), (Level.READ, "forbidden")])
def test_who_may_not_write_locks_nothing(level: Level, code: str) -> None:
    known = found(seen(level))
    assert refused(lock, known, "ws-1") == [code]
    assert refused(unlock, known, "ws-1", force=False) == [code]


def test_writers_lock_but_owners_alone_change_delete_and_force() -> None:
    known = found(seen(Level.WRITE))
    (change,) = lock(known, "ws-1").writes
    assert change == Update(RECORD, replace(RECORD, locked_by="user-1"))
    assert actions(lock(known, "ws-1")) == [("ws-1", "workspace.lock")]
    assert refused(update, known, "ws-1", WorkspaceDraft(), TRUST) == ["forbidden"]
    assert refused(delete, known, "ws-1", only_unlocked=False) == ["forbidden"]
    assert refused(unlock, known, "ws-1", force=True) == ["forbidden"]


def test_a_lock_is_taken_once_and_is_given_back_by_whoever_has_it() -> None:
    own = found(seen(Level.WRITE, "user-1"), {MembershipOf("org-1", "user-1"): MEMBER})
    assert refused(lock, own, "ws-1") == ["workspace_locked"]
    assert actions(unlock(own, "ws-1", force=False)) == [("ws-1", "workspace.unlock")]
    assert refused(unlock, found(seen()), "ws-1", force=False) == ["workspace_not_locked"]


def test_anothers_lock_is_forced_by_owners_alone_and_stays_otherwise() -> None:
    known = found(seen(Level.OWNER, "org-1"))
    assert refused(lock, known, "ws-1") == ["workspace_locked"]
    assert refused(unlock, known, "ws-1", force=False) == ["workspace_locked"]
    assert actions(unlock(known, "ws-1", force=True)) == [("ws-1", "workspace.unlock")]


def test_clients_that_run_by_themselves_lock_nothing_and_find_no_empty_state() -> None:
    owned = seen(Level.WRITE, own_mode=ExecutionMode.LOCAL)
    by_default: Any = {"others": {OWN_MODE: False}, "default_mode": ExecutionMode.LOCAL}
    for local in (found(owned), found(seen(Level.WRITE, **by_default))):
        assert refused(lock, local, "ws-1") == ["not_offered"]
        assert refused(ask_for_state, local, "ws-1") == ["not_offered"]
    assert refused(ask_for_state, found(seen(Level.WRITE)), "ws-1") == ["not_found"]


SHOWN = [
    ("org-1", {}, "User (the organization's token)"),
    ("user-2", {MembershipOf("org-1", "user-2"): MEMBER}, "User alice"),
    ("user-2", {MembershipOf("org-1", "user-2"): INVITED}, "User a@example.com"),
    ("user-2", {MembershipOf("org-1", "user-2"): None}, "User user-2"),
    ("team-1", {TeamsWithIds(("team-1",)): (CREW,)}, "Team team-1"),
    (
        "team-1",
        {TeamsWithIds(("team-1",)): (replace(CREW, visibility=Visibility.ORGANIZATION),)},
        "Team crew",
    ),
    ("team-1", {TeamsWithIds(("team-1",)): ()}, "Team team-1"),
]


@pytest.mark.parametrize(("holder", "answers", "name"), SHOWN)
def test_whose_lock_it_is_is_told_by_no_other_name_than_the_caller_sees(
    holder: str, answers: dict[Any, Any], name: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        lock(found(seen(Level.WRITE, holder), answers), "ws-1")
    (fault,) = refusal.value.faults
    assert fault.detail == f"Workspace network is locked by {name}."


def test_owners_are_told_the_names_of_secret_teams() -> None:
    known = found(seen(Level.OWNER, "team-1"), {TeamsWithIds(("team-1",)): (CREW,)})
    with pytest.raises(Refusal) as refusal:
        delete(known, "ws-1", only_unlocked=True)
    assert refusal.value.faults[0].detail == "Workspace network is locked by Team crew."


def test_a_workspace_ends_with_its_stream_even_while_locked_unless_that_was_asked() -> None:
    none, locks = {AT_NETWORK: ()}, ("org-1", "ws-1")
    unlocked = delete(found(seen(), none, locked=locks), "ws-1", only_unlocked=True)
    known = found(seen(locked_by="team-1"), none, locked=locks)
    decision = delete(known, "ws-1", only_unlocked=False)
    assert unlocked.writes == decision.writes
    assert decision.writes == (Delete(WorkspaceRecord, ("ws-1",)),)
    assert decision.streams == {"org-1", "ws-1"}


def test_sets_are_attached_no_longer_to_a_workspace_that_ends_and_locked_together_with_it() -> None:
    known, locks = (seen(), {AT_NETWORK: (SHARED,)}), ("org-1", "varset-1", "ws-1")
    for held, wanted in (((), {"org-1"}), (("org-1",), {"varset-1", "ws-1"})):
        with pytest.raises(Needs) as needs:
            delete(found(*known, locked=held), "ws-1", only_unlocked=False)
        assert getattr(needs.value.need, "stream_ids", None) == wanted
    decision = delete(found(*known, locked=locks), "ws-1", only_unlocked=False)
    assert decision.writes == (
        Delete(Target, ("varset-1/ws-1",)),
        Delete(WorkspaceRecord, ("ws-1",)),
    )
    assert actions(decision) == [("varset-1", "varset.detach"), ("org-1", "workspace.delete")]
    assert decision.notes[0].event.details == {"name": "shared", "workspaces": ["ws-1"]}
