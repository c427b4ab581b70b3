"""What a directory file makes of users, of whom some were only invited before."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.directory import UserEntry
from teamvars.domain.users import User
from teamvars.services.directory_files.changeset import Changeset
from teamvars.services.directory_files.people import People

ANN = User("user-ann", "Ann", "ann@example.com", site_admin=False)
BEN = User("user-ben", "ben", None, site_admin=True, disabled=True)
EVE = User("user-eve", "eve@example.com", "Eve@example.com", site_admin=False, placeholder=True)
KIM = replace(EVE, id="user-kim", username="kim", email="kim@example.com")
NAMELESS = replace(EVE, id="user-nameless", username="nameless", email=None)


class Read:
    """Users, and what a file was found to change of them."""

    def __init__(self, *present: User) -> None:
        self.changeset = Changeset(7)
        self.people = People(present, self.changeset)

    def user(self, present: User) -> User:
        """What somebody has become."""
        return self.people.latest(present)

    @property
    def told(self) -> Sequence[str]:
        """The lines of the report."""
        return self.changeset.told

    @property
    def faults(self) -> Sequence[str]:
        """What is wrong with the file."""
        return [fault.detail for fault in self.changeset.faults]


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        (UserEntry("ann"), {}),
        (UserEntry("ANN", "ANN@example.com"), {"email": "ANN@example.com"}),
        (UserEntry("ann", "ann@example.com", site_admin=False), {}),
        (UserEntry("ann", "ann@other.example"), {"email": "ann@other.example"}),
        (UserEntry("ann", site_admin=True), {"site_admin": True}),
        (UserEntry("ben"), {}),
        (UserEntry("ben", site_admin=False), {"site_admin": False}),
        (UserEntry("ben", "ben@example.com"), {"email": "ben@example.com"}),
    ],
)
def test_of_somebody_known_becomes_what_the_file_says_and_no_more(
    entry: UserEntry, after: dict[str, Any]
) -> None:
    read = Read(ANN, BEN)
    read.people.apply(entry)
    before = ANN if entry.username.lower() == "ann" else BEN
    assert read.user(before) == replace(before, **after)
    assert read.told == ([f"update user {before.username}"] if after else [])
    assert list(read.changeset.changed_users.values()) == ([before] if after else [])


@pytest.mark.parametrize(("said", "is_admin"), [(None, False), (False, False), (True, True)])
def test_somebody_new_is_a_site_admin_where_the_file_says_so(
    said: bool | None, is_admin: bool
) -> None:
    read = Read(ANN)
    read.people.apply(UserEntry("new", "new@example.com", said))
    made = read.people.named("NEW")
    assert made is not None
    assert made == User(made.id, "new", "new@example.com", site_admin=is_admin)
    assert read.told == ["create user new"]
    read.people.apply(UserEntry("newer", "new@example.com"))
    assert len(read.faults) == 1  # it is found by the address from then on


def test_the_address_of_somebody_known_is_nobody_elses() -> None:
    read = Read(ANN, BEN)
    read.people.apply(UserEntry("ben", "Ann@Example.com", at="f:1"))
    (fault,) = read.faults
    assert fault == (
        "f:1: The e-mail address of user ben is taken: it is that of user Ann, who is already "
        "known here."
    )
    assert (read.told, read.user(BEN)) == ([], BEN)


def test_an_address_that_somebody_gives_up_in_the_same_file_is_anothers_then() -> None:
    read = Read(ANN, BEN)
    read.people.apply(UserEntry("ann", "ann@other.example"))
    read.people.apply(UserEntry("ben", "ann@example.com"))
    assert (read.faults, read.user(BEN).email) == ([], "ann@example.com")


@pytest.mark.parametrize(
    ("entry", "told", "after"),
    [
        (
            UserEntry("kim"),
            ["take over invited user kim as kim"],
            [EVE, replace(KIM, placeholder=False)],
        ),
        (
            UserEntry("Kim", "kim@example.com"),
            ["take over invited user kim as Kim"],
            [EVE, replace(KIM, username="Kim", placeholder=False)],
        ),
        (
            UserEntry("new", "kim@example.com"),
            ["take over invited user kim as new"],
            [EVE, replace(KIM, username="new", placeholder=False)],
        ),
        (
            UserEntry("kim", "new@example.com"),
            ["take over invited user kim as kim"],
            [EVE, replace(KIM, email="new@example.com", placeholder=False)],
        ),
        (
            UserEntry("ann", "eve@example.com"),
            ["take the e-mail address from invited user eve@example.com", "update user Ann"],
            [replace(EVE, email=None), KIM],
        ),
    ],
)
def test_whoever_was_only_invited_is_taken_over_or_gives_the_address_up(
    entry: UserEntry, told: Sequence[str], after: Sequence[User]
) -> None:
    read = Read(ANN, EVE, KIM)
    read.people.apply(entry)
    assert (read.told, read.faults) == (told, [])
    assert [read.user(one) for one in (EVE, KIM)] == after


@pytest.mark.parametrize("named", [KIM, NAMELESS])
def test_of_two_who_were_invited_the_one_with_the_address_is_taken_over(named: User) -> None:
    read = Read(EVE, named)
    read.people.apply(UserEntry(named.username, "eve@example.com"))
    aside = read.user(named)
    assert aside == replace(named, username=aside.username)
    assert aside.username.startswith((named.email or named.username) + "-")
    assert read.told == [
        f"rename invited user {named.username} to {aside.username}",
        f"take over invited user eve@example.com as {named.username}",
    ]
    assert read.people.named(named.username) == replace(
        EVE, username=named.username, email="eve@example.com", placeholder=False
    )


def test_an_active_member_is_known_from_then_on() -> None:
    read = Read(ANN, EVE)
    for user in (ANN, EVE):
        read.people.know(user)
    assert (read.user(ANN), read.user(EVE)) == (ANN, replace(EVE, placeholder=False))
    assert read.told == ["take over invited user eve@example.com as eve@example.com"]


def test_who_is_disabled_is_told_by_name() -> None:
    read = Read(BEN, ANN, replace(KIM, disabled=True), replace(EVE, username="cy", disabled=True))
    assert read.people.disabled() == ("ben", "cy", "kim")
