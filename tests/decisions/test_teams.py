"""What becomes of requests about teams."""

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs, Update
from teamvars.decisions.needs import LinkedTo
from teamvars.decisions.teams import create, delete, update
from teamvars.domain.errors import Refusal
from teamvars.domain.teams import Right, Team, TeamDraft, Visibility
from tests.decisions.directory import (
    CREW,
    OWNERS,
    Answers,
    actions,
    found,
    refused,
    to_acme,
    to_team,
)

USERS = {
    LinkedTo("team-1"): {"users": ["user-1"], "organization-memberships": ["ou-1"]},
    LinkedTo("team-0"): {"users": [], "organization-memberships": []},
}
"""Of members an update reads the ids alone: there may be tens of thousands."""
RENAMED = TeamDraft(name="new")


def test_a_new_team_is_secret_and_begins_in_the_stream_of_its_organization() -> None:
    decision = create(found(to_acme()), "acme", TeamDraft(name="crew"), "team-1")
    assert decision.writes == (Insert(CREW),)
    assert decision.opens == {"team-1": "org-1"}
    assert actions(decision) == [("org-1", "team.create")]
    assert decision.streams == {"org-1"}
    open_ = TeamDraft(name="crew", visibility="organization")
    made = create(found(to_acme()), "acme", open_, "team-1").answer.team
    assert made.visibility is Visibility.ORGANIZATION


@pytest.mark.parametrize(
    ("access", "draft", "code"),
    [
        (to_acme(owner=False), RENAMED, "forbidden"),
        (to_acme(owner=False, member=False), RENAMED, "not_found"),
        (to_acme(), TeamDraft(name=""), "invalid_value"),
        (to_acme(owner=False), TeamDraft(name=""), "forbidden"),
    ],
)
def test_who_is_no_owner_is_told_of_no_fault(access: Answers, draft: TeamDraft, code: str) -> None:
    assert refused(create, found(access), "acme", draft, "team-1") == [code]


@pytest.mark.parametrize(
    ("draft", "recorded"),
    [
        (TeamDraft(name="crew"), []),
        (TeamDraft(visibility="organization"), [("team-1", "team.update")]),
        (RENAMED, [("team-1", "team.update"), ("org-1", "team.rename")]),
    ],
)
def test_a_new_name_is_recorded_above_and_nothing_where_nothing_changes(
    draft: TeamDraft, recorded: list[tuple[str, str]]
) -> None:
    decision = update(found(to_team(), USERS), "team-1", draft)
    assert actions(decision) == recorded
    assert len(decision.writes) == (1 if recorded else 0)
    assert decision.answer.user_ids == ["user-1"]


def test_only_what_a_draft_names_becomes_another() -> None:
    draft = TeamDraft(visibility="organization", rights={Right.MANAGE_MEMBERSHIP: True})
    rights = frozenset({Right.MANAGE_MEMBERSHIP})
    after = Team("team-1", "org-1", "crew", Visibility.ORGANIZATION, rights, False)
    decision = update(found(to_team(), USERS), "team-1", draft)
    assert decision.writes == (Update(CREW, after),)
    (note,) = decision.notes
    assert note.event.details["changed"] == ["visibility", "manage-membership"]
    assert note.event.details["manage-membership"] is True


def test_the_owners_team_keeps_its_name_and_stays() -> None:
    known = found(to_team(OWNERS), USERS)
    assert refused(update, known, "team-0", RENAMED) == ["owners_is_permanent"]
    same = TeamDraft(id="team-0", name="owners")
    assert actions(update(known, "team-0", same)) == []
    assert refused(update, known, "team-0", TeamDraft(id="team-1")) == ["id_conflict"]
    assert refused(delete, known, "team-0") == ["owners_is_permanent"]
    every = dict.fromkeys(map(str, Right), True)
    assert actions(update(known, "team-0", TeamDraft(rights=every))) == []
    fewer = TeamDraft(rights={**every, Right.MANAGE_TEAMS: False})
    with pytest.raises(Refusal) as refusal:
        update(known, "team-0", fewer)
    (fault,) = refusal.value.faults
    assert fault.code.word == "owners_is_permanent"
    assert (fault.pointer or "").endswith("/manage-teams")
    others = replace(fewer, rights={Right.MANAGE_TEAMS: False})
    assert actions(update(found(to_team(), USERS), "team-1", others)) == []


def test_a_team_ends_with_its_stream() -> None:
    decision = delete(found(to_team()), "team-1")
    assert decision.writes == (Delete(Team, ("team-1",)),)
    assert actions(decision) == [("org-1", "team.delete")]
    assert decision.streams == {"org-1", "team-1"}


@pytest.mark.parametrize(("inside", "code"), [(True, "forbidden"), (False, "not_found")])
def test_who_does_not_own_a_team_changes_nothing(inside: bool, code: str) -> None:
    known = found(to_team(owner=False, inside=inside))
    assert refused(update, known, "team-1", RENAMED) == [code]
    assert refused(delete, known, "team-1") == [code]


def test_nothing_is_decided_before_the_access_is_known() -> None:
    with pytest.raises(Needs):
        delete(found(), "team-1")


@pytest.mark.parametrize(
    "rights", [{Right.READ_WORKSPACES: True}, {Right.MANAGE_MEMBERSHIP: False}]
)
def test_who_manages_teams_without_owning_them_gives_and_takes_no_rights(
    rights: dict[str, bool],
) -> None:
    has = [Right.MANAGE_TEAMS, Right.MANAGE_MEMBERSHIP, Right.READ_WORKSPACES]
    crew = replace(CREW, rights=frozenset({Right.MANAGE_MEMBERSHIP}))
    draft = TeamDraft(name="new", visibility="organization", rights=rights)
    manager = found(to_team(crew, owner=False, rights=has), to_acme(owner=False, rights=has), USERS)
    assert refused(update, manager, "team-1", draft) == ["forbidden"]
    same = replace(draft, rights={Right.MANAGE_MEMBERSHIP: True})
    assert actions(update(manager, "team-1", same))
    owner = found(to_team(crew), to_acme(), USERS)
    assert update(owner, "team-1", draft).answer.team.rights != crew.rights
    gives = any(rights.values())
    if gives:
        assert refused(create, manager, "acme", draft, "team-2") == ["forbidden"]
    else:
        assert create(manager, "acme", draft, "team-2").answer.team.rights == frozenset()


SECRET, OPEN = "secret", "organization"
SEES_ALL = [Right.MANAGE_TEAMS, Right.ACCESS_SECRET_TEAMS]


@pytest.mark.parametrize(
    ("rights", "visibility", "is_made"),
    [
        ([Right.MANAGE_TEAMS], OPEN, True),
        ([Right.MANAGE_TEAMS], SECRET, False),
        (SEES_ALL, SECRET, True),
        (SEES_ALL, OPEN, True),
    ],
)
def test_nobody_makes_a_team_secret_that_they_would_not_see_then(
    rights: list[Right], visibility: str, is_made: bool
) -> None:
    open_ = replace(CREW, visibility=Visibility.ORGANIZATION)
    other = to_team(open_, owner=False, inside=True, in_team=False, rights=rights)
    known = found(to_acme(owner=False, rights=rights), other, USERS)
    draft = TeamDraft(name="new", visibility=visibility)
    if is_made:
        assert actions(create(known, "acme", draft, "team-2"))
        assert actions(update(known, "team-1", draft))
    else:
        assert refused(create, known, "acme", draft, "team-2") == ["forbidden"]
        assert refused(update, known, "team-1", draft) == ["forbidden"]
