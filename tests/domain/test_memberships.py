"""What an organization is told of its members, and who counts as an owner."""

from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.memberships import Membership, Status
from teamvars.domain.names import is_username
from teamvars.domain.users import User, other_username_for, username_for

INVITED_AS = "carol@example.com"


def membership(
    status: Status, invited_as: str | None = None, *, disabled: bool = False
) -> Membership:
    """Of a user with a name and an address of their own."""
    user = User("user-1", "cj", "cj@elsewhere.example", site_admin=False, disabled=disabled)
    return Membership("ou-1", "org-1", "acme", user, status, 1, invited_as)


def test_whoever_is_invited_goes_by_the_invitation_alone_until_they_accept() -> None:
    invited = membership(Status.INVITED, INVITED_AS)
    assert (invited.shown_username, invited.shown_email) == (INVITED_AS, INVITED_AS)
    accepted = invited.with_status(Status.ACTIVE)
    assert (accepted.shown_username, accepted.shown_email) == ("cj", "cj@elsewhere.example")


def test_an_owner_has_accepted_and_is_not_disabled() -> None:
    assert membership(Status.ACTIVE).counts_as_owner
    assert not membership(Status.ACTIVE, disabled=True).counts_as_owner
    assert not membership(Status.INVITED, INVITED_AS).counts_as_owner


@given(email=st.emails() | st.text(min_size=1, max_size=400))
def test_every_address_makes_names_that_a_user_can_have(email: str) -> None:
    assert is_username(username_for(email))
    assert is_username(other_username_for(email))


def test_an_address_that_may_be_a_name_is_the_name() -> None:
    longest = f"{'a' * 60}@{'b' * 29}"
    assert is_username(longest)
    assert username_for(longest) == longest
