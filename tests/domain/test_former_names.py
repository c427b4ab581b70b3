"""What a file that names something by a former name may mean."""

from typing import NamedTuple

import pytest

from teamvars.domain.names import FormerName, FormerNames, Origin, objection, to_rename


class Thing(NamedTuple):
    id: str


PLAIN, NEW = Origin(), Origin(new=True)
LIVE = {"acme-new": Thing("1"), "other": Thing("2")}
FORMER = FormerNames(
    [
        FormerName("1", "Acme", "Acme-New"),
        FormerName("2", "acme", "Other"),
        FormerName("1", "acme-old", "Acme-New"),
    ]
)


def test_a_former_name_leads_to_the_last_that_had_it() -> None:
    assert FORMER.present("ACME") == "Other"
    assert FORMER.present("acme-OLD") == "Acme-New"
    assert FORMER.present("acme-new") is None
    assert FORMER.hint("ACME") == " It is called Other now."
    assert FORMER.hint("acme-new") == ""
    assert FORMER.had("1", "aCME")
    assert not FORMER.had("2", "acme-old")


@pytest.mark.parametrize(
    ("name", "origin", "doubt"),
    [
        ("ACME-new", PLAIN, None),  # a live name always wins
        ("fresh", PLAIN, None),
        ("fresh", Origin("never"), None),  # as when the file makes a new installation
        ("acme", PLAIN, "is called Other now"),
        ("acme", NEW, None),
        ("fresh", Origin("acme-old"), "was acme-old, which is called Acme-New now"),
        ("acme-old", Origin("never"), "is called Acme-New now"),
        ("acme-new", Origin("acme"), None),  # it was renamed the last time
        ("acme-new", Origin("other"), "exists, and so does other"),
        ("other", Origin("acme-old"), None),
    ],
)
def test_a_file_is_refused_where_it_may_mean_something_else(
    name: str, origin: Origin, doubt: str | None
) -> None:
    said = objection(name, origin, LIVE, FORMER)
    assert (said is None) == (doubt is None)
    assert (doubt or "") in (said or "")


@pytest.mark.parametrize(
    ("name", "origin", "renamed"),
    [
        ("fresh", Origin("OTHER"), "2"),
        ("acme", Origin("other"), "2"),  # on purpose: a former name may be taken by anybody
        ("acme-new", Origin("other"), None),
        ("fresh", Origin("never"), None),
        ("fresh", PLAIN, None),
    ],
)
def test_what_has_the_former_name_is_renamed_unless_the_name_is_taken(
    name: str, origin: Origin, renamed: str | None
) -> None:
    found = to_rename(name, origin, LIVE)
    assert (found and found.id) == renamed


def test_who_had_a_name_that_another_has_now_is_not_in_doubt() -> None:
    former = FormerNames([FormerName("1", "other", "Acme-New")])
    assert objection("acme-new", Origin("other"), LIVE, former) is None


def test_a_doubt_says_which_of_the_two_names_was_had() -> None:
    by_name = objection("acme", PLAIN, LIVE, FORMER)
    by_former = objection("fresh", Origin("acme"), LIVE, FORMER)
    assert by_name is not None
    assert by_former is not None
    assert by_name.startswith("is called Other now")
    assert by_former.startswith("was acme, which is called Other now")
