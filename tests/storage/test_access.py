"""What the row of an access check says: who calls, what they may do, and whom it counts to."""

from collections.abc import Sequence
from typing import Any

import pytest

from teamvars.domain.access import Caller, Level
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Refusal
from teamvars.domain.teams import ALL_RIGHTS, Right
from teamvars.storage import access, access_by_name
from teamvars.storage.access import identify, set_of, to_set, to_team, to_workspace
from teamvars.storage.access_by_name import MAX_LISTED
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


class Answering:
    """A transaction that answers with these, one after another; `asked` says to what."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    @property
    def asking(self) -> Any:
        """As what is asked."""
        return self

    async def look_up(self, *_: object) -> Any:
        return self._next("look")

    async def lock_each(self, *_: object) -> Any:
        return [self._next("lock")]

    async def fetch_one(self, *_: object) -> Any:
        return self._next("row")

    async def fetch(self, *_: object) -> Any:
        return self._next("rows")

    def _next(self, kind: str) -> Any:
        self.asked.append(kind)
        return self._answers.pop(0)


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


WAITS = (workspace_row(Level.WRITE), False)
HELD = (workspace_row(Level.WRITE), True)
READS = (workspace_row(Level.READ), False)


@pytest.mark.parametrize("locked", [[HELD], [READS], [WAITS, HELD], [WAITS] * 7 + [HELD]])
async def test_a_place_is_looked_up_until_it_is_locked_for_whoever_may_change_it(
    locked: Sequence[Any],
) -> None:
    tx = Answering(*locked)
    granted = await access.workspace(tx.asking, caller(), 0, "ws-1", lock=True)
    assert granted.may_change is (locked[0] is not READS)
    assert tx.asked == ["lock"] * len(locked)


async def test_who_waits_for_a_place_that_changes_again_and_again_is_told_so() -> None:
    tx = Answering(*[(set_row(Level.WRITE), False)] * 8)
    with pytest.raises(Refusal) as refused:
        await access.variable_set(tx.asking, caller(), 0, "varset-1", lock=True)
    assert refused.value.faults[0].code.word == "storage_unavailable"
    assert len(tx.asked) == 8


@pytest.mark.parametrize(
    ("look", "row"),
    [(access.workspace, workspace_row), (access.variable_set, set_row)],
)
async def test_who_only_looks_locks_nothing(look: Any, row: Any) -> None:
    tx = Answering(row(Level.WRITE))
    assert (await look(tx.asking, caller(), 0, "one")).may_change
    assert tx.asked == ["look"]


@pytest.mark.parametrize("heads", [None, b"heads"])
async def test_a_workspace_is_found_with_the_heads_of_its_sets(heads: bytes | None) -> None:
    tx = Answering((heads, *workspace_row(Level.READ)))
    granted, found = await access.workspace_and_sets(tx.asking, caller(), 0, "ws-1")
    assert (granted.level, found) == (Level.READ, heads or b"")
    with pytest.raises(Refusal) as refused:
        await access.workspace_and_sets(Answering(None).asking, caller(), 0, "ws-1")
    assert refused.value.faults[0].code.word == "unauthenticated"


@pytest.mark.parametrize(
    ("is_owner", "is_member", "counts"), [(1, 1, True), (1, 0, True), (0, 1, True), (0, 0, False)]
)
async def test_who_sees_nothing_of_an_organization_is_asked_about_no_teams(
    is_owner: int, is_member: int, counts: bool
) -> None:
    who = caller()
    found = (*USER, "org-1", "acme", None, 0, "{}", 0, is_owner, is_member, *STREAM)
    tx = Answering(found, [("team-1", *(0 for _ in Right))])
    granted = await access.organization(tx.asking, who, 0, "org-1")
    assert (granted.is_owner, granted.is_member) == (bool(is_owner), bool(is_member))
    assert tx.asked == (["row", "rows"] if counts else ["row"])
    assert who.organization_id == ("org-1" if counts else None)
    assert granted.rights == (ALL_RIGHTS if is_owner else frozenset())


NONE = (None, None, None, *(None for _ in Right))
ACTING = ("team-1", "org-2", 0, *(int(right is Right.MANAGE_TEAMS) for right in Right))
OWNERS = ("team-2", "org-3", 1, *(0 for _ in Right))


@pytest.mark.parametrize(
    ("rows", "rights", "owned"),
    [
        ([(*USER, *NONE)], {}, set()),
        ([(*ORGANIZATIONS, *NONE)], {"org-1": ALL_RIGHTS}, {"org-1"}),
        (
            [(*USER, *ACTING), (*USER, *OWNERS)],
            {"org-2": {Right.MANAGE_TEAMS}, "org-3": ALL_RIGHTS},
            {"org-3"},
        ),
        ([(*TEAMS, *ACTING)], {"org-2": {Right.MANAGE_TEAMS}}, set()),
    ],
)
async def test_rights_everywhere_are_those_of_teams_and_an_organization_owns_itself(
    rows: Sequence[Any], rights: object, owned: object
) -> None:
    seen = await access.sight(Answering(rows).asking, caller(), 0)
    assert (seen.rights, seen.owned) == (rights, owned)
    assert seen.team_ids == {row[5] for row in rows} - {None}


@pytest.mark.parametrize(("many", "is_listed"), [(MAX_LISTED, True), (MAX_LISTED + 1, False)])
async def test_a_search_goes_through_workspaces_one_by_one_while_they_are_few(
    many: int, is_listed: bool
) -> None:
    ids = [f"ws-{number:03}" for number in range(many)]
    row = (*USER, "org-1", "acme", 0, 0, 1, *KEY, '["team-1"]', " ".join(ids), None)
    granted = await access_by_name.search(Answering(row).asking, caller(), 0, "acme", None)
    assert granted.workspace_ids == (tuple(ids) if is_listed else None)
    one = await access_by_name.search(Answering(row).asking, caller(), 0, "acme", "network")
    assert one.workspace_ids == tuple(ids)
