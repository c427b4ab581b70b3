"""Cursors: nobody reads them, makes them, or takes one of another list."""

import pytest

from teamvars.domain.errors import Refusal
from teamvars.domain.variable_search import Place
from teamvars.security import keyring
from teamvars.security.cursors import Cursors
from teamvars.security.keyring import Keyring, KeySet

PLACE = Place("KEY", "name", "env")


def test_a_cursor_opens_where_it_was_made_and_is_the_same_each_time() -> None:
    cursors = Cursors(keyring.generate())
    made = cursors.seal(PLACE, "list")
    assert cursors.open(made, "list", Place) == PLACE
    assert cursors.seal(PLACE, "list") == made
    assert cursors.open(made, "other", Place) is None
    assert Cursors(keyring.generate()).open(made, "list", Place) is None


def test_a_cursor_opens_after_a_rotation_and_no_more_once_its_key_is_gone() -> None:
    before, new = keyring.generate(), keyring.generate().master
    made = Cursors(before).seal(PLACE, "list")
    both = KeySet(new.active, {**before.master.keys, **new.keys})
    assert Cursors(Keyring(both, before.audit)).open(made, "list", Place) == PLACE
    assert Cursors(Keyring(new, before.audit)).open(made, "list", Place) is None


def test_the_length_of_a_cursor_does_not_tell_that_of_what_it_hides() -> None:
    cursors = Cursors(keyring.generate())
    places = (Place("a", "", ""), Place("a" * 40, "b" * 40, "tool"))
    assert len({len(cursors.seal(place, "list")) for place in places}) == 1


@pytest.mark.parametrize("text", ["", "a", "nonsense", "é", "====", "A" * 1024, "%00"])
def test_what_is_no_cursor_opens_to_nothing(text: str) -> None:
    assert Cursors(keyring.generate()).open(text, "list", Place) is None


def test_a_cursor_is_written_in_one_way() -> None:
    cursors = Cursors(keyring.generate())
    made = cursors.seal(PLACE, "list")
    others = (f" {made}", f"{made}=", f"{made}==", f"{made[:9]}!{made[9:]}", f"{made}\x00")
    assert [cursors.open(one, "list", Place) for one in others] == [None] * len(others)


def test_a_list_begins_without_a_cursor_and_goes_on_with_none_but_its_own() -> None:
    cursors = Cursors(keyring.generate())
    made = cursors.seal(PLACE, "list")
    assert cursors.opened(None, "list", Place) is None
    assert cursors.opened(made, "list", Place) == PLACE
    for cursor, of in ((made, "other"), ("", "list"), ("nonsense", "list")):
        with pytest.raises(Refusal) as refusal:
            cursors.opened(cursor, of, Place)
        assert [fault.code.word for fault in refusal.value.faults] == ["invalid_parameter"]
