"""What becomes of requests about a team's access to a project."""

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs, Update
from teamvars.decisions.needs import ProjectGrantWithId, ToProject, ToTeam
from teamvars.decisions.projects import KeepDefault
from teamvars.decisions.team_access import (
    create_on_project,
    delete_on_project,
    read_on_project,
    update_on_project,
)
from teamvars.domain.access import Level, ProjectAccess
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, forbidden, not_found
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant, ProjectGrantDraft
from tests.decisions.directory import (
    OWNERS,
    SHOP,
    Answers,
    actions,
    found,
    refused,
    to_acme,
    to_project,
    to_team,
)

GRANT = ProjectGrant("tprj-1", "org-1", "team-1", SHOP.id, ProjectAccessType.READ, Level.READ)
DRAFT = ProjectGrantDraft(team_id="team-1", project_id=SHOP.id, access="read")
THERE: Answers = {ProjectGrantWithId("tprj-1"): GRANT}
TEAM, SEEN, UNSEEN = to_team(), to_project(SHOP), to_project(SHOP, seen=False)
MEMBER, STRANGER = to_team(owner=False), to_team(owner=False, inside=False)
ELSEWHERE = ProjectAccess(
    replace(SHOP, organization_id="org-2"), SEEN[ToProject(SHOP.id)].owner, 0, 0
)
LOCKED = ("team-1", "team-0", "org-1")
TEAMS, PROJECTS = (f"/data/relationships/{name}/data/id" for name in ("team", "project"))


def test_access_is_given_under_the_locks_of_team_and_organization() -> None:
    with pytest.raises(Needs) as needs:
        create_on_project(found(TEAM, SEEN), DRAFT, "tprj-1")
    assert getattr(needs.value.need, "stream_ids", None) == {"team-1", "org-1"}
    decision = create_on_project(found(TEAM, SEEN, locked=LOCKED), DRAFT, "tprj-1")
    assert decision.writes == (KeepDefault("org-1"), Insert(GRANT))
    assert actions(decision) == [("team-1", "project-grant.put")]


@pytest.mark.parametrize(
    ("answers", "code", "pointer"),
    [
        ([{ToTeam("team-1"): not_found()}, SEEN], "not_found", TEAMS),
        ([STRANGER, SEEN], "not_found", TEAMS),
        ([{ToTeam("team-1"): forbidden("No.")}, SEEN], "forbidden", None),
        ([MEMBER, SEEN], "forbidden", None),
        ([TEAM, UNSEEN], "not_found", PROJECTS),
        ([TEAM, {ToProject(SHOP.id): ELSEWHERE}], "not_found", PROJECTS),
        ([TEAM, {ToProject(SHOP.id): Refusal(NO_VALID_TOKEN)}], "unauthenticated", None),
    ],
)
def test_what_is_not_there_is_pointed_at(
    answers: list[Answers], code: str, pointer: str | None
) -> None:
    with pytest.raises(Refusal) as refusal:
        create_on_project(found(*answers, locked=LOCKED), DRAFT, "tprj-1")
    (fault,) = refusal.value.faults
    assert (fault.code.word, fault.pointer) == (code, pointer)


@pytest.mark.parametrize("draft", [replace(DRAFT, team_id=None), replace(DRAFT, project_id=None)])
def test_a_draft_that_names_one_thing_alone_names_nothing(draft: ProjectGrantDraft) -> None:
    known = found(TEAM, SEEN, locked=LOCKED)
    assert refused(create_on_project, known, draft, "tprj-1") == ["not_found"]
    faulty = replace(draft, access="all")
    assert refused(create_on_project, known, faulty, "tprj-1") == ["invalid_value"]


def test_owners_take_no_grants_and_every_fault_is_told_at_once() -> None:
    draft = replace(DRAFT, team_id="team-0", access="all")
    known = found(to_team(OWNERS), SEEN, locked=LOCKED)
    assert refused(create_on_project, known, draft, "tprj-1") == [
        "invalid_value",
        "owners_is_permanent",
    ]


@pytest.mark.parametrize(
    ("draft", "after", "changed"),
    [
        (ProjectGrantDraft(access="read"), None, None),
        (
            ProjectGrantDraft(access="write"),
            replace(GRANT, access=ProjectAccessType.WRITE, level=Level.WRITE),
            ["access", "variables"],
        ),
        (
            ProjectGrantDraft(access="custom", variables="write"),
            replace(GRANT, access=ProjectAccessType.CUSTOM, level=Level.WRITE),
            ["access", "variables", "workspace-access/locking"],
        ),
    ],
)
def test_a_grant_changes_where_the_draft_says_something_new(
    draft: ProjectGrantDraft, after: ProjectGrant | None, changed: list[str] | None
) -> None:
    known = found(TEAM, SEEN, THERE)
    decision = update_on_project(known, "tprj-1", draft)
    if after is None or changed is None:
        assert (decision.writes, decision.notes) == ((), ())
    else:
        (write,), (note,) = decision.writes, decision.notes
        assert isinstance(write, Update)
        assert replace(decision.answer, custom={}) == after
        assert note.event.details["changed"] == changed
    assert refused(update_on_project, known, "tprj-1", replace(draft, id="tprj-2")) == [
        "id_conflict"
    ]


def test_access_is_taken_away_by_one_entry() -> None:
    decision = delete_on_project(found(TEAM, SEEN, THERE), "tprj-1")
    assert decision.writes == (Delete(ProjectGrant, ("tprj-1",)),)
    (note,) = decision.notes
    assert note.event.details == {"projects": [SHOP.id]}
    assert note.event.only_takes_away


@pytest.mark.parametrize(("team", "code"), [(STRANGER, "not_found"), (MEMBER, "forbidden")])
def test_who_does_not_own_the_organization_changes_no_access(team: Answers, code: str) -> None:
    known = found(to_acme(owner=False), team, SEEN, THERE)
    assert refused(update_on_project, known, "tprj-1", ProjectGrantDraft(access="write")) == [code]
    assert refused(delete_on_project, known, "tprj-1") == [code]


def test_a_grant_is_shown_to_whoever_sees_both_its_team_and_its_project() -> None:
    assert read_on_project(found(MEMBER, SEEN, THERE), "tprj-1") == GRANT
    assert refused(read_on_project, found(STRANGER, SEEN, THERE), "tprj-1") == ["not_found"]
    assert refused(read_on_project, found(MEMBER, UNSEEN, THERE), "tprj-1") == ["not_found"]
