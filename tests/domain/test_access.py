"""Who may do what: every right against every level, and in which order things are refused."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    Permission,
    Principal,
    ProjectAccess,
    Sight,
    TeamAccess,
    Way,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import default_project
from teamvars.domain.teams import ALL_RIGHTS, Right, Rights, Team, Visibility, whole
from teamvars.domain.variable_search import SearchAccess
from teamvars.domain.workspaces import Workspace

STREAM = Stream("one", "org-1", 1, b"", b"")
BOTH = (False, True)


def word(asked: Callable[[], object]) -> str:
    """What becomes of it: `done`, or the code of the refusal."""
    try:
        asked()
    except Refusal as refusal:
        (fault,) = refusal.faults
        return fault.code.word
    return "done"


@pytest.mark.parametrize(
    ("level", "seen", "words"),
    [
        (Level.NONE, "not_found", ["not_found", "not_found", "not_found", "not_found"]),
        (Level.READ, "done", ["done", "forbidden", "forbidden", "forbidden"]),
        (Level.WRITE, "done", ["done", "done", "forbidden", "forbidden"]),
        (Level.MANAGE, "done", ["done", "done", "done", "forbidden"]),
        (Level.OWNER, "done", ["done", "done", "done", "done"]),
    ],
)
def test_a_level_gives_what_is_below_it_and_of_what_is_not_seen_nothing_is_said(
    level: Level, seen: str, words: list[str]
) -> None:
    workspace = Workspace("ws-1", "network", "org-1", "acme")
    access = WorkspaceAccess(workspace, level, STREAM, WrappedKey("org-1", 1, "k", b""))
    assert word(access.require_visible) == seen
    assert [word(partial(access.require, one)) for one in Permission] == words
    assert access.may_change is (words[1] == "done")


@pytest.mark.parametrize(
    ("owner", "member", "seen", "owned"),
    [
        (False, False, "not_found", "not_found"),
        (False, True, "done", "forbidden"),
        (True, False, "done", "done"),
        (True, True, "done", "done"),
    ],
)
def test_outsiders_see_no_organization_and_members_do_not_own_it(
    owner: bool, member: bool, seen: str, owned: str
) -> None:
    acme = Organization("org-1", "acme", None, 1)
    rights = ALL_RIGHTS if owner else frozenset[Right]()
    access = OrganizationAccess(acme, owner, member, frozenset({"team-1"}), rights, STREAM)
    assert word(access.require_visible) == seen
    assert word(access.require_owner) == owned
    assert access.sees_secret == (None if owner else {"team-1"})


@pytest.mark.parametrize(
    ("owner", "rights", "everywhere", "moves"),
    [
        (True, ALL_RIGHTS, Level.OWNER, "done"),
        (False, ALL_RIGHTS, Level.MANAGE, "done"),
        (False, [Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS], Level.MANAGE, "done"),
        (False, [Right.MANAGE_WORKSPACES], Level.MANAGE, "forbidden"),
        (False, [Right.MANAGE_PROJECTS], Level.NONE, "forbidden"),
        (False, [Right.READ_WORKSPACES], Level.READ, "forbidden"),
        (False, [Right.MANAGE_TEAMS], Level.NONE, "forbidden"),
        (False, [], Level.NONE, "forbidden"),
    ],
)
def test_rights_in_the_organization_are_a_level_in_every_workspace_and_two_together_move(
    owner: bool, rights: Iterable[Right], everywhere: Level, moves: str
) -> None:
    acme = Organization("org-1", "acme", None, 1)
    access = OrganizationAccess(acme, owner, True, frozenset(), whole(rights), STREAM)
    assert access.everywhere is everywhere
    assert word(access.require_moves) == moves
    outside = OrganizationAccess(acme, False, False, frozenset(), whole(rights), STREAM)
    assert word(outside.require_moves) == "not_found"


def test_whoever_has_access_has_the_highest_of_all_its_ways() -> None:
    ways = [Way("team-1", "crew", Level.READ), Way("team-2", "makers", Level.WRITE)]
    assert Principal("user", "user-1", "alice", ways).level is Level.WRITE
    assert Principal("team-token", "team-1", "crew", ways[:1]).level is Level.READ
    assert Principal("user", "user-1", "alice", []).level is Level.NONE
    assert Principal("organization-token", "org-1", "acme", []).level is Level.OWNER


def test_a_caller_has_a_right_where_their_teams_were_given_it() -> None:
    teams, none = frozenset({Right.MANAGE_TEAMS}), frozenset[Right]()
    sight = Sight({"org-1": teams, "org-2": none}, frozenset(), frozenset())
    assert sight.having(Right.MANAGE_TEAMS) == ["org-1"]
    assert sight.having(Right.READ_WORKSPACES) == []


SOME_RIGHTS = [
    frozenset[Right](),
    frozenset({Right.MANAGE_MEMBERSHIP}),
    frozenset({Right.MANAGE_TEAMS}),
    frozenset({Right.MANAGE_TEAMS, Right.ACCESS_SECRET_TEAMS}),
]


@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("is_owners", BOTH)
@pytest.mark.parametrize("its", SOME_RIGHTS[:3])
def test_a_team_is_changed_by_owners_and_by_whoever_sees_it_and_has_all_its_rights(
    visibility: Visibility, is_owners: bool, its: Rights
) -> None:
    team = Team("team-1", "org-1", "crew", visibility, its, is_owners)
    for is_owner, inside, in_team, lacks, tokens in product(BOTH, repeat=5):
        for has in SOME_RIGHTS:
            rights = ALL_RIGHTS if is_owner else has
            said = is_owner, inside, in_team, rights, lacks, tokens
            access = TeamAccess(team, "acme", *said, STREAM)
            secret = visibility is Visibility.SECRET and Right.ACCESS_SECRET_TEAMS not in rights
            sees = is_owner or (inside and (in_team or not secret))
            reaches = sees and not is_owners and its <= rights
            manages = is_owner or (reaches and Right.MANAGE_TEAMS in rights and not lacks)
            changes = manages or (reaches and Right.MANAGE_MEMBERSHIP in rights)
            shown = Right.MANAGE_MEMBERSHIP in rights
            expected = {True: "done", False: "forbidden"}
            if not sees:
                expected = dict.fromkeys(BOTH, "not_found")
            assert word(access.require_visible) == expected[True]
            assert word(access.require_see_changes) == expected[shown]
            assert word(access.require_manage) == expected[manages]
            assert word(access.require_manage_token) == expected[manages or tokens]
            assert word(access.require_manage_membership) == expected[changes]
            assert access.may_change is (sees and changes)


@given(st.frozensets(st.sampled_from(Right)))
def test_rights_come_with_those_that_they_include(rights: Rights) -> None:
    assert rights <= whole(rights) == whole(whole(rights))
    assert (Right.READ_WORKSPACES in whole(rights)) is bool(
        rights & {Right.READ_WORKSPACES, Right.MANAGE_WORKSPACES}
    )
    assert (Right.MANAGE_TEAMS in whole(rights)) is bool(
        rights & {Right.MANAGE_TEAMS, Right.MANAGE_ORGANIZATION_ACCESS}
    )


@pytest.mark.parametrize(
    ("is_owners", "said"),
    [(True, "Only owners may change the members of the owners team."), (False, "You may see this")],
)
def test_who_is_refused_is_told_whether_it_is_for_the_owners_team(
    is_owners: bool, said: str
) -> None:
    team = Team("team-1", "org-1", "crew", Visibility.ORGANIZATION, frozenset(), is_owners)
    its = False, True, False, frozenset[Right](), False, False
    access = TeamAccess(team, "acme", *its, STREAM)
    with pytest.raises(Refusal) as refusal:
        access.require_manage_membership()
    assert refusal.value.faults[0].detail.startswith(said)


@pytest.mark.parametrize(
    ("actor", "user_id"),
    [(None, None), (Actor("team", "team-1"), None), (Actor("user", "user-1"), "user-1")],
)
def test_only_a_users_token_says_which_user_calls(actor: Actor | None, user_id: str | None) -> None:
    assert Caller(b"", "req-1", actor).user_id == user_id


@pytest.mark.parametrize(
    ("reach", "reaches"),
    [(None, True), (frozenset({"org-1", "org-2"}), True), (frozenset({"org-2"}), False)],
)
def test_a_token_has_rights_where_it_reaches(reach: frozenset[str] | None, reaches: bool) -> None:
    assert Caller(b"", "req-1", reach=reach).reaches("org-1") is reaches


@pytest.mark.parametrize("level", [Level.NONE, Level.READ, Level.WRITE])
@pytest.mark.parametrize(
    "rights", [(), (Right.MANAGE_PROJECTS,), (Right.MANAGE_PROJECTS, Right.MANAGE_WORKSPACES)]
)
def test_the_sets_of_a_project_are_written_by_grants_or_by_whoever_moves_workspaces(
    level: Level, rights: Iterable[Right]
) -> None:
    acme = Organization("org-1", "acme", None, 1)
    owner = OrganizationAccess(acme, False, True, frozenset(), whole(rights), STREAM)
    access = ProjectAccess(default_project("org-1", 1), owner, 0, 0, granted_sets=level)
    assert access.writes_sets is (level is Level.WRITE or len([*rights]) == 2)


@pytest.mark.parametrize(("owner", "member"), list(product(BOTH, repeat=2)))
def test_outsiders_search_nothing(owner: bool, member: bool) -> None:
    key = WrappedKey("org-1", 1, "k", b"")
    access = SearchAccess("org-1", "acme", owner, False, member, (), None, key)
    assert word(access.require_visible) == ("done" if owner or member else "not_found")
