"""What the row of an access check says: who calls, what they may do, and whom it counts to."""

from typing import Any

import pytest

from teamvars.domain.access import Caller, Level
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Refusal
from teamvars.domain.teams import ALL_RIGHTS, Right
from teamvars.storage.access import identify, set_of, to_set, to_team, to_workspace
from teamvars.storage.access_statements import BITS, TeamRight

USER = ("at-1", "user-1", None, None, None)
TEAMS = ("at-2", None, "team-1", None, None)
ORGANIZATIONS = ("at-3", None, None, "org-1", None)
STREAM = ("one", 3, b"link", b"head", 0, 0)
NOTHING = (None,) * len(STREAM)
KEY = (1, "mk-1", b"wrapped")
SET = ("varset-1", "shared", "what", "varset-1", 0, 7, None)


def caller() -> Caller:
    return Caller(b"hash", "req-1")


def workspace_row(level: Level, stream: Any = STREAM) -> Any:
    return (*USER, "ws-1", "network", "org-1", "acme", *KEY, *stream, int(level))


def set_row(level: Level, stream: Any = STREAM) -> Any:
    return (*USER, *SET, "org-1", "acme", *KEY, *stream, int(level))


def team_row(
    bits: int, who: Any = USER, *, manages_token: bool = False, stream: Any = STREAM
) -> Any:
    flags = (0,) * len(Right)
    its = "secret", 0, int(manages_token), *flags, "{}"
    return (*who, "team-1", "crew", "org-1", "acme", *its, *stream, bits)


def refusal(read: Any, row: Any) -> str:
    with pytest.raises(Refusal) as refused:
        read(caller(), row)
    (fault,) = refused.value.faults
    return fault.code.word


@pytest.mark.parametrize(
    ("row", "actor"),
    [
        (USER, Actor("user", "user-1", "at-1")),
        (TEAMS, Actor("team", "team-1", "at-2")),
        (ORGANIZATIONS, Actor("organization", "org-1", "at-3")),
    ],
)
def test_a_token_is_of_a_user_a_team_or_an_organization(row: Any, actor: Actor) -> None:
    who = caller()
    assert identify(who, (*row, "more")) == ("more",)
    assert who.actor == actor


@pytest.mark.parametrize(
    ("reach", "reaches"),
    [(None, {"org-1", "org-2"}), ("org-1", {"org-1"}), ("org-2 org-1", {"org-1", "org-2"})],
)
def test_a_token_reaches_the_organizations_that_it_lists_or_all(
    reach: str | None, reaches: set[str]
) -> None:
    who = caller()
    identify(who, (*USER[:-1], reach))
    assert {id_ for id_ in ("org-1", "org-2") if who.reaches(id_)} == reaches


@pytest.mark.parametrize("read", [identify, to_workspace, to_set, to_team])
def test_who_is_not_found_is_nobody(read: Any) -> None:
    assert refusal(read, None) == "unauthenticated"


@pytest.mark.parametrize(
    ("read", "row"),
    [
        (to_workspace, workspace_row(Level.OWNER, NOTHING)),
        (to_set, set_row(Level.OWNER, NOTHING)),
        (to_team, team_row(TeamRight.OWNER, stream=NOTHING)),
    ],
)
def test_what_has_no_stream_is_not_there(read: Any, row: Any) -> None:
    assert refusal(read, row) == "not_found"


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize(("read", "row"), [(to_workspace, workspace_row), (to_set, set_row)])
def test_a_request_counts_to_the_organization_of_what_its_caller_sees(
    read: Any, row: Any, level: Level
) -> None:
    who = caller()
    granted = read(who, row(level))
    assert (granted.level, granted.key.organization_id, granted.stream.id) == (
        level,
        "org-1",
        "one",
    )
    assert who.organization_id == ("org-1" if level is not Level.NONE else None)
    assert who.place is not None
    assert who.place.organization_id == "org-1"


@pytest.mark.parametrize(
    ("bits", "counts"),
    [
        (0, False),
        (TeamRight.IN_TEAM, False),
        (TeamRight.IN_ORGANIZATION, True),
        (TeamRight.OWNER, True),
    ],
)
def test_a_request_about_a_team_counts_to_the_organization_of_its_members(
    bits: int, counts: bool
) -> None:
    who = caller()
    granted = to_team(who, team_row(bits))
    assert (who.organization_id is not None) is counts
    said = granted.is_owner, granted.in_organization, granted.in_team
    each = TeamRight.OWNER, TeamRight.IN_ORGANIZATION, TeamRight.IN_TEAM
    assert said == tuple(bool(bits & one) for one in each)


def test_rights_are_those_of_the_callers_teams_and_an_owner_has_all() -> None:
    def rights(bits: int) -> Any:
        return to_team(caller(), team_row(bits)).rights

    assert rights(TeamRight.IN_ORGANIZATION) == frozenset()
    assert rights(TeamRight.OWNER) == ALL_RIGHTS
    for right, bit in BITS.items():
        assert right in rights(bit)
    assert rights(BITS[Right.READ_WORKSPACES]) == {Right.READ_WORKSPACES}
    lacking = to_team(caller(), team_row(TeamRight.LACKS_GRANT))
    assert (lacking.lacks_grant, lacking.in_team) == (True, False)


@pytest.mark.parametrize(
    ("bits", "who", "manages", "has"),
    [
        (TeamRight.IN_TEAM, USER, True, True),
        (TeamRight.IN_TEAM, USER, False, False),
        (TeamRight.IN_TEAM, TEAMS, True, False),
        (0, USER, True, False),
    ],
)
def test_a_teams_token_is_managed_by_its_users_where_it_lets_them(
    bits: int, who: Any, manages: bool, has: bool
) -> None:
    granted = to_team(caller(), team_row(bits, who, manages_token=manages))
    assert granted.has_own_token is has


@pytest.mark.parametrize(("scope", "is_global"), [("org-1", True), ("varset-1", False)])
def test_a_set_is_global_whose_keys_are_once_in_the_organization(
    scope: str, is_global: bool
) -> None:
    row: Any = ("varset-1", "shared", "what", scope, 1, 7, None)
    found = set_of(row, "org-1", "acme")
    assert (found.is_global, found.is_priority, found.created_at) == (is_global, True, 7)
