"""Who is told what somebody has left behind, and what ends of it."""

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Locks, Needs
from teamvars.decisions.memberships import end_by_operator, end_left_behind, left_behind
from teamvars.decisions.needs import LeftBehindBy, MembershipOf, TeamIdsOf, TeamsOf, UserWithId
from teamvars.decisions.teams import PutMembers
from teamvars.domain.memberships import LeftBehind
from teamvars.domain.runners import Runner, RunnerSpec
from teamvars.domain.teams import Team
from teamvars.domain.tokens import Token
from tests.decisions.directory import (
    ALICE,
    CREW,
    INVITED,
    MEMBER,
    Answers,
    actions,
    found,
    refused,
    to_acme,
)

TOKEN = Token("at-9", "team", "team-1", 1, None, None)
RUNNER = Runner("run-1", "org-1", 1, RunnerSpec("ci", 1), 1)
NOTHING = LeftBehind("org-1", "acme", "user-1", (), (), (), ())
LEFT = replace(NOTHING, tokens=(TOKEN,), runners=(RUNNER,), invitations=(INVITED,), teams=(CREW,))
LOCKED = ("org-1", "team-1", "run-1")


def left(what: LeftBehind, *, is_there: bool = False) -> Answers:
    """What somebody has left, and whether they are still in the organization."""
    there = MEMBER if is_there else None
    return {
        LeftBehindBy("org-1", "user-1"): what,
        MembershipOf("org-1", "user-1"): there,
        UserWithId("user-1"): ALICE,
        TeamsOf("org-1"): (CREW,),
        TeamIdsOf((INVITED.id,)): {INVITED.id: ()},
    }


@pytest.mark.parametrize(
    ("access", "what", "is_there", "code"),
    [
        (to_acme(), LEFT, False, None),
        (to_acme(), NOTHING, True, None),
        (to_acme(), NOTHING, False, "not_found"),
        (to_acme(owner=False), LEFT, True, "forbidden"),
        (to_acme(owner=False, member=False), LEFT, True, "not_found"),
    ],
)
def test_owners_are_told_of_whoever_is_or_was_in_the_organization(
    access: Answers, what: LeftBehind, is_there: bool, code: str | None
) -> None:
    known = found(access, left(what, is_there=is_there), locked=LOCKED)
    if code is None:
        assert left_behind(known, "acme", "user-1") == what
        assert end_left_behind(known, "acme", "user-1").answer == what
    else:
        assert refused(left_behind, known, "acme", "user-1") == [code]
        assert refused(end_left_behind, known, "acme", "user-1") == [code]


@pytest.mark.parametrize("one", [LEFT.tokens, LEFT.runners, LEFT.invitations, LEFT.teams])
def test_each_of_it_is_something(one: tuple[object, ...]) -> None:
    names = "tokens", "runners", "invitations", "teams"
    (name,) = (name for name in names if getattr(LEFT, name) is one)
    assert not replace(NOTHING, **{name: one}).is_nothing
    assert NOTHING.is_nothing


def test_all_but_teams_ends_under_the_locks_of_what_it_is_in() -> None:
    known = left(LEFT)
    with pytest.raises(Needs) as needs:
        end_by_operator(found(known), "org-1", "user-1")
    assert needs.value.need == Locks(frozenset(LOCKED))
    decision = end_by_operator(found(known, locked=LOCKED), "org-1", "user-1")
    assert decision.answer == LEFT
    assert {action for _, action in actions(decision)} >= {"token.revoke", "runner.delete"}
    assert not any(getattr(write, "kind", None) is Team for write in decision.writes)


def test_all_invitations_end_by_one_look_and_each_team_says_whom_it_loses() -> None:
    ids = tuple(f"ou-{n}" for n in range(350))
    many = replace(NOTHING, invitations=tuple(replace(INVITED, id=id_) for id_ in ids))
    inside = {id_: ("team-1",) if id_ in ids[:2] else () for id_ in ids}
    known = found(left(many), {TeamIdsOf(ids): inside}, locked=LOCKED)
    decision = end_by_operator(known, "org-1", "user-1")
    assert [write for write in decision.writes if isinstance(write, PutMembers)] == [
        PutMembers("team-1", "remove", ids[:2])
    ]
    gone = [write.keys for write in decision.writes if isinstance(write, Delete)]
    assert gone == [(id_,) for id_ in ids]
