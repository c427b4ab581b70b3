"""What actions say, whom they say it to, and which of them only take rights away."""

import pytest

from teamvars.domain.audit import (
    ACTIONS,
    Actor,
    Event,
    places_in,
    shown_details,
    tells_of_part,
)


@pytest.mark.parametrize(
    ("action", "details", "takes_away"),
    [
        ("grant.remove", {"workspaces": []}, True),
        ("token.revoke", {}, True),
        ("token.create", {}, False),
        ("grant.put", {"changed": []}, False),
        ("variable.update", {"changed": ["sensitive"]}, True),
        ("variable.update", {"changed": ["sensitive", "value"]}, False),
        ("variable.update", {"changed": []}, False),
        ("variable.update", {}, False),
    ],
)
def test_an_action_takes_rights_away_where_it_changes_nothing_else(
    action: str, details: dict[str, object], takes_away: bool
) -> None:
    event = Event(Actor("user", "user-1", None), "r", action, "vars", "var-1", details, 0)
    assert event.only_takes_away is takes_away


def test_details_are_complete_and_have_nothing_beside() -> None:
    action = ACTIONS["variable.create"]
    whole = ["key", "category", "sensitive", "version-id"]
    assert action.admits(whole)
    assert action.admits([*whole, "copy-of"])
    assert not action.admits(whole[1:])
    assert not action.admits([*whole, "value"])


DETAILS = {
    "workspace": "ws-1",
    "workspaces": ["ws-1", "ws-2", {}],
    "project": "prj-1",
    "projects": ["prj-1"],
    "former-project": "prj-2",
    "to": 7,
    "copy-of": "var-1",
    "name": "ws-2",
}


def test_a_reader_is_shown_no_place_that_they_do_not_see() -> None:
    assert sorted(places_in(DETAILS)) == ["prj-1", "prj-1", "prj-2", "ws-1", "ws-1", "ws-2"]
    shown = {
        "workspace": "ws-1",
        "workspaces": ["ws-1", None, None],
        "project": "prj-1",
        "projects": ["prj-1"],
        "former-project": None,
        "to": None,
        "copy-of": "var-1",
        "name": "ws-2",
    }
    assert shown_details(DETAILS, {"ws-1", "prj-1", "var-1"}) == shown
    assert shown_details(DETAILS, ()) == {
        **shown,
        "workspace": None,
        "copy-of": None,
        "workspaces": [None, None, None],
        "project": None,
        "projects": [None],
    }


@pytest.mark.parametrize(
    ("details", "found"),
    [
        ('{"key":"DB_URL"}', True),
        (b'{"key":"URLS"}', True),
        ('{"key":"ADDRESS","from":"old_url"}', True),
        ('{"key":"ADDRESS","description":"url","category":"env"}', False),
        ('{"category":"env"}', False),
        # Of a row that somebody has touched.
        ('{"key":5,"from":["url"]}', False),
        ('["url"]', False),
        ('{"key":"url"', False),
        (b'{"key":"url\xff"}', False),
    ],
)
def test_details_tell_of_a_part_of_a_key_or_of_a_former_one(
    details: str | bytes, found: bool
) -> None:
    assert tells_of_part("Url", details) is found
