"""What becomes of requests about a team's access to a workspace."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs
from teamvars.decisions.needs import GrantWithId, ToTeam, ToWorkspaceAt
from teamvars.decisions.team_access import create, delete, read, update
from teamvars.domain.access import Level, WorkspaceAccess, WrappedKey
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Refusal, forbidden, not_found
from teamvars.domain.team_access import LOCKING, AccessType, Grant, GrantDraft
from teamvars.domain.workspaces import Workspace
from tests.decisions.directory import ALL, OWNERS, Answers, actions, found, refused, to_team

GRANT = Grant("tws-1", "org-1", "team-1", "ws-1", AccessType.READ, Level.READ)
DRAFT = GrantDraft(team_id="team-1", workspace_id="ws-1", access="read")


def to_workspace(organization_id: str = "org-1", level: Level = Level.OWNER) -> dict[Any, Any]:
    place = Workspace("ws-1", "network", organization_id, "acme")
    stream = Stream("ws-1", organization_id, 1, b"", b"")
    key = WrappedKey(organization_id, 1, "k", b"")
    return {ToWorkspaceAt("ws-1"): WorkspaceAccess(place, level, stream, key)}


NONE = {ToTeam("team-1"): not_found(), ToWorkspaceAt("ws-1"): not_found()}
THERE = {GrantWithId("tws-1"): GRANT}
STRANGER, MEMBER = to_team(owner=False, inside=False), to_team(owner=False)
NOWHERE = "/data/relationships/team/data/id"


def test_access_is_given_under_the_locks_of_team_and_workspace() -> None:
    known = found(to_team(), to_workspace())
    with pytest.raises(Needs):
        create(known, DRAFT, "tws-1")
    decision = create(found(to_team(), to_workspace(), locked=ALL), DRAFT, "tws-1")
    assert decision.writes == (Insert(GRANT),)
    assert actions(decision) == [("team-1", "grant.put")]


@pytest.mark.parametrize(
    ("answers", "code", "pointer"),
    [
        ([NONE], "not_found", NOWHERE),
        ([STRANGER], "not_found", NOWHERE),
        ([{ToTeam("team-1"): forbidden("No.")}], "forbidden", None),
        ([MEMBER], "forbidden", None),
        ([NONE, to_team()], "not_found", "/data/relationships/workspace/data/id"),
        ([to_team(), to_workspace("org-2")], "not_found", "/data/relationships/workspace/data/id"),
    ],
)
def test_what_is_not_there_is_pointed_at(
    answers: list[Any], code: str, pointer: str | None
) -> None:
    with pytest.raises(Refusal) as refusal:
        create(found(*answers, locked=ALL), DRAFT, "tws-1")
    (fault,) = refusal.value.faults
    assert (fault.code.word, fault.pointer) == (code, pointer)


def test_owners_take_no_grants_and_every_fault_is_told_at_once() -> None:
    draft = GrantDraft(team_id="team-0", workspace_id="ws-1", access="all")
    known = found(to_team(OWNERS), to_workspace(), locked=ALL)
    assert refused(create, known, draft, "tws-1") == ["invalid_value", "owners_is_permanent"]


@pytest.mark.parametrize(
    ("draft", "recorded"),
    [
        (GrantDraft(access="read"), []),
        (GrantDraft(access="write"), [("team-1", "grant.put")]),
        (GrantDraft(access="plan"), [("team-1", "grant.put")]),
    ],
)
def test_a_grant_changes_where_the_draft_says_something_new(
    draft: GrantDraft, recorded: list[tuple[str, str]]
) -> None:
    known = found(to_team(), to_workspace(), THERE)
    assert actions(update(known, "tws-1", draft)) == recorded
    assert refused(update, known, "tws-1", replace(draft, id="tws-2")) == ["id_conflict"]


@pytest.mark.parametrize(
    ("draft", "changed"),
    [
        (GrantDraft(access="write"), ["access", "variables"]),
        (GrantDraft(access="custom"), ["access"]),
        (GrantDraft(access="custom", variables="write"), ["access", "variables", LOCKING]),
    ],
)
def test_an_entry_says_what_else_is_permitted_where_the_access_does_not_say_it(
    draft: GrantDraft, changed: list[str]
) -> None:
    (note,) = update(found(to_team(), to_workspace(), THERE), "tws-1", draft).notes
    assert note.event.details["changed"] == changed


def test_access_is_taken_away_by_one_entry() -> None:
    known = found(to_team(), to_workspace(), THERE)
    decision = delete(known, "tws-1")
    assert decision.writes == (Delete(Grant, ("tws-1",)),)
    (note,) = decision.notes
    assert note.event.details == {"workspaces": ["ws-1"]}
    assert note.event.only_takes_away


def test_who_may_not_read_the_workspace_sees_no_grant_on_it() -> None:
    known = found(to_team(), to_workspace(level=Level.NONE), THERE)
    assert refused(delete, known, "tws-1") == ["not_found"]


@pytest.mark.parametrize("draft", [replace(DRAFT, team_id=None), replace(DRAFT, workspace_id=None)])
def test_a_draft_that_names_one_thing_alone_names_nothing(draft: GrantDraft) -> None:
    known = found(to_team(), to_workspace(), locked=ALL)
    assert refused(create, known, draft, "tws-1") == ["not_found"]


@pytest.mark.parametrize(("access", "code"), [(STRANGER, "not_found"), (MEMBER, "forbidden")])
def test_who_does_not_own_the_organization_changes_no_access(access: Answers, code: str) -> None:
    known = found(access, to_workspace(), THERE)
    assert refused(update, known, "tws-1", GrantDraft(access="write")) == [code]
    assert refused(delete, known, "tws-1") == [code]


def test_a_grant_is_shown_to_whoever_sees_both_its_team_and_its_workspace() -> None:
    assert read(found(MEMBER, to_workspace(level=Level.READ), THERE), "tws-1") == GRANT
    assert refused(read, found(STRANGER, to_workspace(), THERE), "tws-1") == ["not_found"]
    unseen = to_workspace(level=Level.NONE)
    assert refused(read, found(MEMBER, unseen, THERE), "tws-1") == ["not_found"]
