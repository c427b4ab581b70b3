"""Invitations: how long they are good for, and whom they may give a token."""

import pytest
from msgspec.structs import replace

from teamvars.domain.invitations import Delivery, Invitation, Invited
from teamvars.domain.memberships import InvitationDraft, Membership, Status
from teamvars.domain.users import User

NEW = User("user-1", "carol", "carol@example.com", site_admin=False, placeholder=True)
LINK = Invitation(7, Delivery.SENT)
INVITED = Membership(
    *("ou-1", "org-1", "acme", NEW, Status.INVITED, 1), invited_as=NEW.email, invitation=LINK
)


@pytest.mark.parametrize(
    ("user", "address", "gets_one"),
    [
        (NEW, "carol@example.com", True),
        (NEW, "Carol@Example.com", True),
        (NEW, "carol@elsewhere.example", False),
        (NEW, "", False),
        (replace(NEW, email=None), "carol@example.com", False),
        (replace(NEW, placeholder=False), "carol@example.com", False),
        (replace(NEW, site_admin=True), "carol@example.com", False),
        (replace(NEW, disabled=True), "carol@example.com", False),
    ],
)
def test_a_link_gives_a_token_to_nobody_who_was_ever_known_or_has_another_address(
    user: User, address: str, gets_one: bool
) -> None:
    invited = Invited("ou-1", "org-1", "acme", None, address, user, 7)
    assert invited.first_token is gets_one


def test_an_invitation_is_good_until_it_expires() -> None:
    assert [LINK.is_live(now) for now in (6, 7, 8)] == [True, False, False]


@pytest.mark.parametrize(
    ("delivery", "has_link"),
    [
        (Delivery.NONE, False),
        (Delivery.SHOWN, True),
        (Delivery.WAITING, True),
        (Delivery.SENT, True),
        (Delivery.FAILED, False),
    ],
)
def test_somebody_has_a_link_that_is_good_and_was_not_lost(
    delivery: Delivery, has_link: bool
) -> None:
    membership = replace(INVITED, invitation=Invitation(7, delivery))
    assert Invitation(7, delivery).has_link(6) is has_link
    assert not Invitation(7, delivery).has_link(7)
    assert membership.lacks_link(6) is not has_link


@pytest.mark.parametrize(
    ("membership", "lacks"),
    [
        (replace(INVITED, invitation=None), True),
        (replace(INVITED, invitation=None, status=Status.ACTIVE), False),
        (replace(INVITED, invitation=None, invited_as=None), True),
        (replace(INVITED, invitation=None, invited_as=None, user=replace(NEW, email=None)), False),
    ],
)
def test_only_who_waits_and_has_an_address_lacks_a_link(
    membership: Membership, lacks: bool
) -> None:
    assert membership.lacks_link(6) is lacks


def test_each_team_is_looked_up_once_and_none_whose_item_is_at_fault() -> None:
    assert InvitationDraft(team_ids=["team-1", None, "team-0", "team-1"]).wanted() == [
        *("team-1", "team-0")
    ]
