"""Who may do what: every right against every level, and in which order things are refused."""

from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    Permission,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team, Visibility
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
        (Level.NONE, "not_found", ["not_found", "not_found", "not_found"]),
        (Level.READ, "done", ["done", "forbidden", "forbidden"]),
        (Level.WRITE, "done", ["done", "done", "forbidden"]),
        (Level.OWNER, "done", ["done", "done", "done"]),
    ],
)
def test_a_level_gives_what_is_below_it_and_of_what_is_not_seen_nothing_is_said(
    level: Level, seen: str, words: list[str]
) -> None:
    workspace = Workspace("ws-1", "network", "org-1", "acme")
    access = WorkspaceAccess(workspace, level, STREAM, WrappedKey("org-1", 1, "k", b""))
    assert word(access.require_visible) == seen
    permissions = [
        Permission.READ_VARIABLES,
        Permission.WRITE_VARIABLES,
        Permission.MANAGE_WORKSPACE,
    ]
    assert [word(partial(access.require, one)) for one in permissions] == words
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
    access = OrganizationAccess(acme, owner, member, frozenset({"team-1"}), False, STREAM)
    assert word(access.require_visible) == seen
    assert word(access.require_owner) == owned
    assert access.sees_secret == (None if owner else {"team-1"})


@pytest.mark.parametrize("visibility", Visibility)
@pytest.mark.parametrize("is_owners", BOTH)
def test_a_team_is_changed_by_owners_and_by_whoever_sees_and_manages_it(
    visibility: Visibility, is_owners: bool
) -> None:
    team = Team("team-1", "org-1", "crew", visibility, False, is_owners)
    for is_owner, inside, in_team, manages, tokens in product(BOTH, repeat=5):
        access = TeamAccess(team, "acme", is_owner, inside, in_team, manages, tokens, STREAM)
        sees = is_owner or (inside and (in_team or visibility is not Visibility.SECRET))
        changes = is_owner or (manages and not is_owners)
        expected = {True: "done", False: "forbidden"} if sees else dict.fromkeys(BOTH, "not_found")
        assert word(access.require_visible) == expected[True]
        assert word(access.require_see_changes) == expected[is_owner or manages]
        assert word(access.require_manage_token) == expected[tokens]
        assert word(access.require_manage_membership) == expected[changes]
        assert access.may_change is (sees and changes)


@pytest.mark.parametrize(
    ("is_owners", "said"),
    [(True, "Only owners may change the members of the owners team."), (False, "You may see this")],
)
def test_who_is_refused_is_told_whether_it_is_for_the_owners_team(
    is_owners: bool, said: str
) -> None:
    team = Team("team-1", "org-1", "crew", Visibility.ORGANIZATION, False, is_owners)
    access = TeamAccess(team, "acme", False, True, False, False, False, STREAM)
    with pytest.raises(Refusal) as refusal:
        access.require_manage_membership()
    assert refusal.value.faults[0].detail.startswith(said)


@pytest.mark.parametrize(
    ("actor", "user_id"),
    [(None, None), (Actor("team", "team-1"), None), (Actor("user", "user-1"), "user-1")],
)
def test_only_a_users_token_says_which_user_calls(actor: Actor | None, user_id: str | None) -> None:
    assert Caller(b"", "req-1", actor).user_id == user_id


@pytest.mark.parametrize(("owner", "member"), list(product(BOTH, repeat=2)))
def test_outsiders_search_nothing(owner: bool, member: bool) -> None:
    key = WrappedKey("org-1", 1, "k", b"")
    access = SearchAccess("org-1", "acme", owner, member, (), None, key)
    assert word(access.require_visible) == ("done" if owner or member else "not_found")
