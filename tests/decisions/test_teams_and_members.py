"""What becomes of requests about members of teams, for everything that there may be to find."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Found, Need, Needs
from teamvars.decisions.needs import MembershipsWithIds, MembersOf, ToTeam, UserWithId
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.teams import (
    Direction,
    LinkedBy,
    MembersChange,
    PutMembers,
    UserIds,
    change_members,
)
from teamvars.domain.access import Caller, TeamAccess
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import LinkageType, Linked, MembersDraft, Status
from teamvars.domain.teams import Right, Team, Visibility
from tests.decisions.directory import ALICE, MEMBER

TEAM = Team("team-1", "org-1", "crew", Visibility.SECRET, frozenset(), False)
ACCESS = ToTeam("team-1")
USERS, MEMBERSHIPS = LinkageType.USERS, LinkageType.ORGANIZATION_MEMBERSHIPS
OUT = Linked("user-1", "ou-1", Status.ACTIVE, False)
IN = Linked("user-2", "ou-2", Status.ACTIVE, True)
INVITED = Linked("user-3", "ou-3", Status.INVITED, False)


def granted(**rights: Any) -> TeamAccess:
    none: dict[str, Any] = dict.fromkeys(
        ("is_owner", "in_organization", "in_team", "lacks_grant", "has_own_token"), False
    )
    if rights.pop("manages_membership", False):
        none["rights"] = frozenset({Right.MANAGE_MEMBERSHIP})
    team = rights.pop("team", TEAM)
    return TeamAccess(
        team,
        "acme",
        **{"rights": frozenset(), **none, **rights},
        stream=Stream("team-1", "o", 1, b"", b""),
    )


OWNER = granted(is_owner=True)
OF_OWNERS = granted(is_owner=True, team=replace(TEAM, is_owners=True))
MANAGES = {"in_organization": True, "manages_membership": True}


def asking(
    *ids: str | None,
    direction: Direction = "add",
    linkage: LinkageType = USERS,
    usernames: bool = False,
) -> MembersChange:
    return MembersChange(ACCESS, linkage, direction, MembersDraft(ids), usernames)


def found(asked: MembersChange, *linked: Linked, access: TeamAccess = OWNER) -> Found:
    """What a user decides by who has that access, and whose ids name these."""
    known = Found(Caller(b"", "req-1", Actor("user", "user-9", "at-1")), 7)
    by = LinkedBy(ACCESS, asked.linkage, asked.draft.wanted)
    known.answers |= {ACCESS: access, by: linked}
    return known


@pytest.mark.parametrize(("direction", "concerned"), [("add", ("ou-1",)), ("remove", ("ou-2",))])
def test_those_who_are_in_or_out_already_count_and_the_others_are_written(
    direction: Direction, concerned: tuple[str, ...]
) -> None:
    asked = asking("user-1", "user-2", direction=direction)
    decision = change_members(found(asked, OUT, IN), asked)
    assert decision.writes == (PutMembers("team-1", direction, concerned),)
    (note,) = decision.notes
    assert (note.stream_id, note.event.action) == ("team-1", f"member.{direction}")
    assert note.event.details == {"organization-memberships": list(concerned)}


def test_what_changes_nothing_writes_and_records_nothing() -> None:
    asked = asking("user-2")
    decision = change_members(found(asked, IN), asked)
    assert (decision.writes, decision.notes) == ((), ())


PLAIN = granted(in_organization=True, in_team=True)


@pytest.mark.parametrize(
    ("access", "code"),
    [
        (granted(), "not_found"),
        (granted(in_organization=True, manages_membership=True), "not_found"),
        (PLAIN, "forbidden"),
        (granted(in_team=True, **MANAGES, team=replace(TEAM, is_owners=True)), "forbidden"),
    ],
)
def test_who_may_not_is_refused_before_anybody_is_looked_up(access: TeamAccess, code: str) -> None:
    known = found(asking())
    known.answers = {ACCESS: access}
    with pytest.raises(Refusal) as refusal:
        change_members(known, asking("user-1"))
    assert [fault.code.word for fault in refusal.value.faults] == [code]
    assert not access.may_change


@pytest.mark.parametrize(
    "access",
    [
        OWNER,
        OF_OWNERS,
        granted(in_team=True, **MANAGES),
        granted(**MANAGES, team=replace(TEAM, visibility=Visibility.ORGANIZATION)),
    ],
)
def test_who_may_is_not(access: TeamAccess) -> None:
    asked = asking("user-1")
    known = found(asked, OUT, access=access)
    known.answers |= {MembershipsWithIds(("ou-1",)): [MEMBER], UserWithId("user-9"): ALICE}
    assert change_members(known, asked).writes
    assert access.may_change


@pytest.mark.parametrize(
    ("actor", "by"),
    [
        (Actor("user", "user-9", "at-1"), "mallory"),
        (Actor("team", "team-1", "at-1"), "Somebody with a token of the owners team"),
        (Actor("organization", "org-1", "at-1"), "Somebody with the organization's token"),
    ],
)
def test_owners_are_told_who_became_one_and_by_whom_and_of_nobody_who_cannot_act_yet(
    actor: Actor, by: str
) -> None:
    ids = [f"user-{n}" for n in range(1, 26)]
    asked = asking(*ids)
    linked = [Linked(id_, f"ou-{id_}", Status.ACTIVE, False) for id_ in ids]
    known = found(asked, *linked, access=OF_OWNERS)
    known.caller.actor = actor
    people = [replace(MEMBER, id=f"ou-{id_}", user=replace(ALICE, username=id_)) for id_ in ids]
    people[0] = replace(people[0], user=replace(ALICE, username="disabled", disabled=True))
    people[1] = replace(people[1], status=Status.INVITED, user=replace(ALICE, username="invited"))
    known.answers |= {
        MembershipsWithIds(tuple(sorted(one.id for one in people))): people,
        UserWithId("user-9"): replace(ALICE, username="mallory"),
    }
    told, put = change_members(known, asked).writes
    assert isinstance(told, TellOwners)
    assert isinstance(put, PutMembers)
    assert (told.organization_id, told.subject) == ("org-1", "New owners of acme")
    assert f"and 3 more. {by} did that." in told.text
    assert "disabled" not in told.text
    assert "invited" not in told.text
    assert "@" not in told.text


@pytest.mark.parametrize(
    ("asked", "linked", "faults"),
    [
        (asking("user-1", "ghost"), [OUT], [("not_found", "/data/1/id")]),
        (asking("user-3"), [INVITED], [("invitation_not_accepted", "/data/0/id")]),
        (asking("user-3", "ghost"), [INVITED], [("not_found", 1), ("invitation_not_accepted", 0)]),
    ],
)
def test_all_faults_are_told_at_once(
    asked: MembersChange, linked: list[Linked], faults: list[tuple[str, Any]]
) -> None:
    with pytest.raises(Refusal) as refusal:
        change_members(found(asked, *linked), asked)
    expected = [(code, at if isinstance(at, str) else f"/data/{at}/id") for code, at in faults]
    assert [(fault.code.word, fault.pointer) for fault in refusal.value.faults] == expected


def test_whoever_is_invited_is_added_by_membership() -> None:
    invited = replace(INVITED, id="ou-3")
    asked = asking("ou-3", linkage=MEMBERSHIPS)
    assert change_members(found(asked, invited), asked).writes == (
        PutMembers("team-1", "add", ("ou-3",)),
    )


@pytest.mark.parametrize(
    ("owners", "codes"), [(["ou-2"], ["last_owner"]), (["ou-2", "ou-9"], []), ([], [])]
)
def test_the_last_active_owner_stays(owners: list[str], codes: list[str]) -> None:
    asked = asking("user-2", direction="remove")
    known = found(asked, IN, access=OF_OWNERS)
    with pytest.raises(Needs) as needs:
        change_members(known, asked)
    assert needs.value.need == MembersOf("team-1")
    known.answers[MembersOf("team-1")] = [replace(MEMBER, id=id_) for id_ in owners]
    told: list[str] = []
    try:
        change_members(known, asked)
    except Refusal as refusal:
        told = [fault.code.word for fault in refusal.faults]
    assert told == codes


def test_a_username_stands_for_an_id_where_it_may_and_is_nobodys_id() -> None:
    asked = asking("user-1", "ann", usernames=True)
    known = found(asked, OUT)
    with pytest.raises(Needs) as needs:
        change_members(known, asked)
    assert needs.value.need == UserIds(ACCESS, frozenset({"ann"}))
    known.answers |= answers_for(asked)
    assert change_members(known, asked).writes == (PutMembers("team-1", "add", ("ou-1", "ou-4")),)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [(asking("user-1"), []), (asking("ann", linkage=MEMBERSHIPS), ["not_found"])],
)
def test_no_username_is_looked_for_where_none_can_be_meant(
    asked: MembersChange, refused: list[str]
) -> None:
    named = replace(asked, usernames=True)
    told: list[str] = []
    try:
        change_members(found(named, OUT), named)
    except Refusal as refusal:
        told = [fault.code.word for fault in refusal.faults]
    assert told == refused


def answers_for(asked: MembersChange) -> dict[Need[Any], Any]:
    """Ann is user-4."""
    ann = Linked("user-4", "ou-4", Status.ACTIVE, False)
    return {
        UserIds(ACCESS, frozenset({"ann"})): {"ann": "user-4"},
        LinkedBy(ACCESS, asked.linkage, ("user-1", "user-4")): [OUT, ann],
    }
