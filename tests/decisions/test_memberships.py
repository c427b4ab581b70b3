"""What becomes of requests about memberships and invitations."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Locks, Needs, Update
from teamvars.decisions.invitations import (
    Asked,
    Fresh,
    Invite,
    Settle,
    Terms,
    accept,
    accept_by_link,
    expire,
    invite,
    invite_by_operator,
    resend,
    settle,
)
from teamvars.decisions.memberships import read, remove, revoke, revoke_by_operator
from teamvars.decisions.needs import (
    DataKeyOf,
    LinkOpens,
    LinksOfDay,
    MembershipOf,
    MembershipWithId,
    MembersOf,
    OrganizationCalled,
    TeamCalled,
    TeamIdsOf,
    TeamsOf,
    TeamsWithIds,
    ToOrganizationWithId,
    UserAt,
    UserCalled,
    UserWithId,
)
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.teams import PutMembers
from teamvars.decisions.tokens import Fresh as FreshToken
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.invitations import (
    LIFETIME,
    MAX_A_DAY_OF_ADDRESS,
    Delivery,
    Invitation,
    Invited,
)
from teamvars.domain.memberships import InvitationDraft, Membership
from teamvars.domain.users import User
from tests.decisions.directory import (
    ACME,
    ALICE,
    ALL,
    CREW,
    INVITED,
    MEMBER,
    NOW,
    OPERATOR,
    OWNERS,
    actions,
    found,
    refused,
    to_acme,
)

EMAIL = "new@example.com"
FRESH = Fresh("ou-9", "user-9", "spare", "unseen")
MAIL = Terms(Delivery.SHOWN, 50)
DRAFT = InvitationDraft(EMAIL, ["team-1"])
NOBODY = {
    UserAt(EMAIL): None,
    UserCalled(EMAIL): None,
    TeamsWithIds(("team-1",)): (CREW,),
    LinksOfDay("org-1", EMAIL): (0, 0),
}
KNOWN = {UserAt(EMAIL): ALICE, MembershipOf("org-1", "user-1"): MEMBER}
LIVE = replace(INVITED, invitation=Invitation(NOW + 1, Delivery.SENT))


def there(membership: Membership = MEMBER, *inside: str) -> dict[Any, Any]:
    """A membership that is in these teams, and the teams of its organization."""
    teams = {team.id: team for team in (OWNERS, CREW)}
    return {
        MembershipWithId(membership.id): membership,
        TeamIdsOf((membership.id,)): {membership.id: inside},
        TeamsWithIds(inside): [teams[id_] for id_ in inside],
        TeamsOf("org-1"): (CREW, OWNERS),
    }


def test_whoever_goes_leaves_all_teams_which_are_locked_first() -> None:
    other = replace(MEMBER, id="ou-5")
    answers = there(MEMBER, "team-0", "team-1") | {MembersOf("team-0"): (MEMBER, other)}
    with pytest.raises(Needs):
        remove(found(to_acme(), answers), "ou-1")
    decision = remove(found(to_acme(), answers, locked=ALL), "ou-1")
    assert decision.writes == (
        PutMembers("team-1", "remove", ("ou-1",)),
        PutMembers("team-0", "remove", ("ou-1",)),
        Delete(Membership, ("ou-1",)),
    )
    assert all(note.event.only_takes_away for note in decision.notes)


@pytest.mark.parametrize(
    ("owners", "codes"),
    [
        ((MEMBER,), ["last_owner"]),
        ((MEMBER, replace(INVITED, id="ou-5")), ["last_owner"]),
        ((MEMBER, replace(MEMBER, id="ou-5", user=replace(ALICE, disabled=True))), ["last_owner"]),
    ],
)
def test_the_last_active_owner_stays(owners: Any, codes: list[str]) -> None:
    answers = there(MEMBER, "team-0") | {MembersOf("team-0"): owners}
    assert refused(remove, found(to_acme(), answers, locked=ALL), "ou-1") == codes


def test_only_invitations_are_taken_back_by_owner_and_operator_alike() -> None:
    known = found(to_acme(), there(), locked=ALL)
    assert refused(revoke, known, "ou-1") == ["already_member"]
    operator = found(there(LIVE), actor=OPERATOR, locked=ALL)
    owner = found(to_acme(), there(LIVE), locked=ALL)
    recorded = [("org-1", "invitation.revoke"), ("org-1", "membership.delete")]
    assert actions(revoke_by_operator(operator, "ou-2")) == recorded
    assert actions(revoke(owner, "ou-2")) == recorded
    assert refused(revoke, found(to_acme(owner=False), there(LIVE)), "ou-2") == ["forbidden"]
    unlinked = revoke(found(to_acme(), there(INVITED), locked=ALL), "ou-2")
    assert actions(unlinked) == [("org-1", "membership.delete")]


@pytest.mark.parametrize(("member", "code"), [(True, "forbidden"), (False, "not_found")])
def test_who_is_no_owner_invites_and_removes_nobody(member: bool, code: str) -> None:
    somebody = replace(LIVE, user=replace(ALICE, id="user-7"))
    answers = NOBODY | there(somebody) | {MembersOf("team-0"): ()}
    known = found(to_acme(owner=False, member=member), answers, locked=ALL)
    assert refused(invite, known, "acme", DRAFT, FRESH, MAIL) == [code]
    assert refused(resend, known, "ou-2", "secret", MAIL) == [code]
    assert refused(remove, known, "ou-2") == [code]
    assert refused(revoke, known, "ou-2") == [code]


def test_of_a_membership_secret_teams_are_shown_to_those_in_them_alone() -> None:
    answers = there(replace(MEMBER, user=replace(ALICE, id="user-7")), "team-0", "team-1")
    for access, shown in (
        (to_acme(), ["team-0", "team-1"]),
        (to_acme(owner=False), ["team-0"]),
        (to_acme(owner=False, teams=("team-1",)), ["team-0", "team-1"]),
    ):
        (membership,) = read(found(access, answers), "ou-1").memberships
        assert membership.team_ids == shown
    stranger = found(to_acme(owner=False, member=False), answers)
    assert refused(read, stranger, "ou-1") == ["not_found"]
    token = found(to_acme(member=False), answers)  # the organization's own is nobody's membership
    assert read(token, "ou-1").total == 1
    assert list(read(token, "ou-1").teams) == ["team-0", "team-1"]


def test_whoever_is_invited_sees_the_invitation_and_no_team() -> None:
    invited = found(to_acme(owner=False, member=False), {MembershipWithId("ou-2"): LIVE})
    page = read(invited, "ou-2")
    assert (list(page.memberships), page.total, page.teams) == ([LIVE], 1, {})


@pytest.mark.parametrize("decide", [read, remove, revoke])
def test_who_owns_what_has_taken_the_name_of_an_organization_has_no_rights_to_its_memberships(
    decide: Callable[..., object],
) -> None:
    somebody = replace(ALICE, id="user-7")
    renamed = there(replace(INVITED, organization_id="org-2", user=somebody))
    stranger = to_acme(owner=False, member=False)[ToOrganizationWithId("org-1")]
    known = found(to_acme(), renamed, {ToOrganizationWithId("org-2"): stranger}, locked=ALL)
    assert refused(decide, known, "ou-2") == ["not_found"]


def test_whoever_is_not_known_is_made_and_invited_into_teams() -> None:
    decision = invite(found(to_acme(), NOBODY, locked=ALL), "acme", DRAFT, FRESH, MAIL)
    user = User("user-9", EMAIL, EMAIL, site_admin=False, placeholder=True)
    assert decision.writes[0] == Insert(user)
    assert actions(decision) == [
        (SYSTEM_STREAM, "user.create"),
        ("org-1", "membership.create"),
        ("team-1", "member.add"),
        ("org-1", "invitation.create"),
    ]
    (membership,) = decision.answer.memberships
    assert membership.team_ids == ["team-1"]
    assert membership.invitation == Invitation(NOW + LIFETIME, Delivery.SHOWN)
    assert "unseen" not in repr(decision)


def test_whoever_is_known_and_elsewhere_is_invited_and_not_made() -> None:
    known = {UserAt(EMAIL): ALICE, MembershipOf("org-1", "user-1"): None}
    decision = invite(found(to_acme(), NOBODY, known, locked=ALL), "acme", DRAFT, FRESH, MAIL)
    assert actions(decision)[0] == ("org-1", "membership.create")
    assert decision.answer.memberships[0].user == ALICE
    assert decision.answer.memberships[0].shown_username == EMAIL


def test_a_message_waits_only_where_its_secret_can_be_sealed() -> None:
    waiting = Terms(Delivery.WAITING, 50)
    known = found(to_acme(), NOBODY, locked=ALL)
    with pytest.raises(Needs) as needs:
        invite(known, "acme", DRAFT, FRESH, waiting)
    assert needs.value.need == DataKeyOf("org-1")


@pytest.mark.parametrize("streams", [(), ("org-1",), ("org-1", SYSTEM_STREAM)])
def test_links_are_counted_and_made_under_the_locks_of_all_that_they_change(
    streams: tuple[str, ...],
) -> None:
    with pytest.raises(Needs):
        invite(found(to_acme(), NOBODY, locked=streams), "acme", DRAFT, FRESH, MAIL)
    if len(streams) < 2:
        links = {LinksOfDay("org-1", "a@example.com"): (0, 0)}
        with pytest.raises(Needs):
            resend(found(to_acme(), there(LIVE), links, locked=streams), "ou-2", "secret", MAIL)


def test_a_name_that_is_taken_is_another() -> None:
    answers = NOBODY | {UserCalled(EMAIL): ALICE}
    decision = invite(found(to_acme(), answers, locked=ALL), "acme", DRAFT, FRESH, MAIL)
    assert decision.answer.memberships[0].user.username == "spare"


@pytest.mark.parametrize(
    ("answers", "draft", "codes"),
    [
        (
            {UserAt(EMAIL): ALICE, MembershipOf("org-1", "user-1"): MEMBER},
            DRAFT,
            ["already_member"],
        ),
        ({LinksOfDay("org-1", EMAIL): (50, 0)}, DRAFT, ["too_many_items"]),
        ({LinksOfDay("org-1", EMAIL): (0, MAX_A_DAY_OF_ADDRESS)}, DRAFT, ["too_many_items"]),
        ({TeamsWithIds(("team-1",)): ()}, DRAFT, ["not_found"]),
        (
            {TeamsWithIds(("team-1",)): (replace(CREW, organization_id="org-2"),)},
            InvitationDraft("nobody", ["team-1"]),
            ["invalid_value", "not_found"],
        ),
    ],
)
def test_every_fault_of_an_invitation_is_told_and_nothing_is_locked(
    answers: dict[Any, Any], draft: InvitationDraft, codes: list[str]
) -> None:
    known = found(to_acme(), NOBODY, answers)
    assert refused(invite, known, "acme", draft, FRESH, MAIL) == codes


def test_the_bounds_of_a_day_do_not_hold_for_an_operator() -> None:
    answers = {OrganizationCalled("acme"): ACME, TeamCalled("acme", "crew"): CREW}
    full = {LinksOfDay("org-1", EMAIL): (50, 50)}
    known = found(NOBODY, answers, full, actor=OPERATOR, locked=ALL)
    asked = Asked(EMAIL, "acme", ("crew", "crew"))
    decision = invite_by_operator(known, asked, FRESH, Terms(Delivery.SHOWN))
    assert decision.answer.memberships[0].team_ids == ["team-1"]


def test_a_new_link_is_sent_again_only_if_there_was_one() -> None:
    answers = {LinksOfDay("org-1", "a@example.com"): (0, 0)}
    for membership, verb in ((INVITED, "create"), (LIVE, "resend")):
        known = found(to_acme(), there(membership), answers, locked=ALL)
        decision = resend(known, "ou-2", "secret", MAIL)
        assert actions(decision) == [("org-1", f"invitation.{verb}")]
        assert isinstance(decision.writes[0], Invite)
    known = found(to_acme(), there(MEMBER), locked=ALL)
    assert refused(resend, known, "ou-1", "secret", MAIL) == ["already_member"]
    unaddressed = replace(INVITED, invited_as=None, user=replace(ALICE, email=None))
    known = found(to_acme(), there(unaddressed), locked=ALL)
    assert refused(resend, known, "ou-2", "secret", MAIL) == ["invalid_value"]


def test_an_invitation_is_accepted_once_by_whom_it_is_for_while_it_is_good() -> None:
    stranger = to_acme(owner=False, member=False)
    decision = accept(found(stranger, there(LIVE, "team-1"), locked=ALL), "ou-2")
    assert actions(decision) == [("org-1", "membership.update"), ("org-1", "invitation.accept")]
    assert decision.answer.memberships[0].team_ids == ["team-1"]
    assert accept(found(to_acme(owner=False), there()), "ou-1").writes == ()
    late = replace(LIVE, invitation=Invitation(NOW, Delivery.SENT))
    assert refused(accept, found(stranger, there(late)), "ou-2") == ["not_found"]
    other = found(to_acme(), there(LIVE), actor=Actor("user", "user-7", "at-7"))
    assert refused(accept, other, "ou-2") == ["forbidden"]
    unlinked = accept(found(stranger, there(INVITED), locked=ALL), "ou-2")
    assert actions(unlinked) == [("org-1", "membership.update")]
    assert not any(isinstance(write, TellOwners) for write in decision.writes)


def test_owners_are_told_of_whoever_accepts_to_be_one_and_both_trails_are_locked_before() -> None:
    answers = (
        there(LIVE, "team-0"),
        to_acme(owner=False, member=False),
        {UserWithId("user-1"): ALICE},
    )
    with pytest.raises(Needs) as needs:
        accept(found(*answers), "ou-2")
    assert needs.value.need == Locks(frozenset({"org-1", "team-0"}))
    told, *_ = accept(found(*answers, locked=ALL), "ou-2").writes
    assert isinstance(told, TellOwners)
    assert told.organization_id == "org-1"
    assert "UTC: alice. alice accepted an invitation." in told.text
    assert "a@example.com" not in repr(told)


def test_who_accepts_is_told_of_teams_only_where_their_token_has_rights() -> None:
    stranger, to = to_acme(owner=False, member=False), ToOrganizationWithId("org-1")
    closed = {to: replace(stranger[to], organization=replace(ACME, sso_required=True))}
    for reach, told in ((None, []), (frozenset({"org-1"}), ["team-1"])):
        known = found(stranger, closed, there(LIVE, "team-1"), locked=ALL)
        known.caller.reach = reach
        assert accept(known, "ou-2").answer.memberships[0].team_ids == told
    member = to_acme(owner=False, teams=("team-1",))
    for granted, count in ((stranger, 0), (member, 1)):
        again = accept(found(granted, there(MEMBER, "team-1")), "ou-1")
        assert len(again.answer.memberships[0].team_ids) == count


def opened(user: User) -> dict[Any, Any]:
    """What the link opens, for that user."""
    place = "ou-2", "org-1", "acme", None, "a@example.com"
    return {LinkOpens(b"hash"): Invited(*place, user, NOW + 1), UserWithId(user.id): user}


def test_a_link_gives_its_first_token_to_whoever_was_never_known() -> None:
    fresh = FreshToken("at-9", "token", b"h")
    new = replace(ALICE, email="a@example.com", placeholder=True)
    decision = accept_by_link(found(opened(new), there(LIVE), locked=ALL), b"hash", fresh)
    assert decision.answer.secret == "token"
    assert Update(new, replace(new, placeholder=False)) in decision.writes
    assert decision.streams == {"org-1", SYSTEM_STREAM}
    assert refused(accept_by_link, found(opened(ALICE)), b"hash", fresh) == ["forbidden"]
    gone = found({LinkOpens(b"hash"): None})
    assert refused(accept_by_link, gone, b"hash", fresh) == ["invalid_value"]


def test_what_has_expired_ends_and_what_an_older_release_accepted_is_forgotten() -> None:
    late = replace(LIVE, invitation=Invitation(NOW, Delivery.SENT))
    decision = expire(found(there(late), locked=ALL), "ou-2")
    assert actions(decision)[0] == ("org-1", "invitation.expire")
    assert expire(found(there(LIVE)), "ou-2").writes == ()
    assert expire(found(there(INVITED)), "ou-2").writes == ()
    with pytest.raises(Needs):
        expire(found(there(MEMBER)), "ou-1")
    accepted = expire(found(there(MEMBER), locked=ALL), "ou-1")
    assert (accepted.writes, accepted.notes) == ((Delete(Invitation, ("ou-1",)),), ())


@pytest.mark.parametrize(
    ("delivery", "reply", "action", "more"),
    [
        (Delivery.SENT, None, "invitation.send", {}),
        (Delivery.FAILED, 550, "invitation.fail", {"reply": 550}),
    ],
)
def test_what_became_of_a_message_is_told_with_the_reply_of_whoever_refused_it(
    delivery: Delivery, reply: int | None, action: str, more: dict[str, object]
) -> None:
    invited = Invited("ou-2", "org-1", "acme", None, "a@example.com", ALICE, NOW + 1)
    decision = settle(found(), invited, b"hash", delivery, reply)
    assert decision.writes == (Settle("ou-2", b"hash", delivery),)
    assert actions(decision) == [("org-1", action)]
    assert decision.notes[0].event.details == {"user": "user-1", **more}
