"""What a draft makes of a team: the rights it was given, and those that have no subject here."""

from collections.abc import Mapping
from typing import Any

import pytest

from teamvars.domain.teams import ACCESS, Right, Team, TeamDraft, Visibility, owners_of

OWNERS = owners_of("org-1", "team-0")
RIGHT, OTHER = f"{ACCESS}manage-modules", "sso-team-id"


def team(*rights: Right) -> Team:
    return Team("team-1", "org-1", "crew", Visibility.SECRET, frozenset(rights), False)


def draft(rights: Mapping[Right, bool], settings: Any = None) -> TeamDraft:
    said = {str(right): is_given for right, is_given in rights.items()}
    return TeamDraft(rights=said, settings=settings or {})


@pytest.mark.parametrize(
    ("said", "after"),
    [
        ({}, {Right.MANAGE_TEAMS}),
        ({Right.MANAGE_TEAMS: True}, {Right.MANAGE_TEAMS}),
        ({Right.MANAGE_TEAMS: False}, set()),
        ({Right.READ_WORKSPACES: True}, {Right.MANAGE_TEAMS, Right.READ_WORKSPACES}),
        ({Right.READ_WORKSPACES: False}, {Right.MANAGE_TEAMS}),
    ],
)
def test_a_team_keeps_the_rights_that_a_draft_does_not_name(
    said: dict[Right, bool], after: set[Right]
) -> None:
    before = team(Right.MANAGE_TEAMS)
    changed = draft(said)
    assert changed.applied_to(before).rights == after
    assert changed.gives_rights(before) is (after != before.rights)


def test_rights_without_a_subject_are_given_like_others_and_what_is_no_right_is_not() -> None:
    given = draft({}, {RIGHT: True, OTHER: "7"})
    made = given.applied_to(team())
    assert made.settings == {RIGHT: True, OTHER: "7"}
    assert given.gives_rights(team())
    assert not given.gives_rights(made)
    assert draft({}, {RIGHT: False}).gives_rights(made)
    assert not draft({}, {OTHER: "8"}).gives_rights(made)


def test_the_owners_team_has_every_right_whatever_is_said_or_stored() -> None:
    said = draft({Right.MANAGE_TEAMS: True}, {RIGHT: True, OTHER: "7"})
    assert said.conflicts(OWNERS) == []
    after = said.applied_to(OWNERS)
    assert (after.rights, after.settings) == (frozenset(), {OTHER: "7"})
    assert not said.gives_rights(OWNERS)
    fewer = draft({Right.MANAGE_TEAMS: False}, {RIGHT: False, OTHER: ""})
    pointers = {fault.pointer for fault in fewer.conflicts(OWNERS)}
    assert pointers == {f"/data/attributes/{ACCESS}manage-teams", f"/data/attributes/{RIGHT}"}
    assert fewer.conflicts(team()) == []
