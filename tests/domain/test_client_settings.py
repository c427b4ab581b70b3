"""What a setting may be: what is not offered is refused, and what is its default never is."""

from typing import Any

import pytest

from teamvars.domain import projects
from teamvars.domain.client_settings import MAX_CHARACTERS, MAX_ITEMS, Setting, Settings
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.projects import OWN_MODE
from teamvars.domain.tags import Tags

REFUSED = Setting("runs", False, "What.", not_offered="There are none.")
ALWAYS = Setting("tokens", True, "What.", not_offered="They stay.")
OBJECT = Setting("repo", "", "What.", not_offered="There are none.", is_object=True)
WORD = Setting("mode", "read", "What.", words={"read": "", "update": "No."})
LINE, LINES = Setting("line", "", "What."), Setting("lines", "", "What.", has_lines=True)
URL = Setting("url", "", "What.", is_url=True)
LIST = Setting("list", (), "What.")
GUARD = Setting("guard", False, "What.", unread=True)


@pytest.mark.parametrize(
    ("setting", "value", "codes"),
    [
        (REFUSED, False, []),
        (REFUSED, True, ["not_offered"]),
        (ALWAYS, True, []),
        (ALWAYS, False, ["not_offered"]),
        (OBJECT, "", []),
        (OBJECT, {}, []),
        (OBJECT, {"a": "b"}, ["not_offered"]),
        (Setting("on", False, "What."), True, []),
        (WORD, "read", []),
        (WORD, "update", ["not_offered"]),
        (WORD, "write", ["invalid_value"]),
        (LINE, "x" * MAX_CHARACTERS, []),
        (LINE, "x" * (MAX_CHARACTERS + 1), ["invalid_value"]),
        (LINE, "two\nlines", ["invalid_value"]),
        (LINES, "two\nlines", []),
        (URL, "", []),
        (URL, "https://a.example", []),
        (URL, "ftp://a.example", ["invalid_value"]),
        (LIST, ("x",) * MAX_ITEMS, []),
        (LIST, ("x",) * (MAX_ITEMS + 1), ["invalid_value"]),
        (LIST, ("x", "two\nlines"), ["invalid_value"]),
    ],
)
def test_a_value_is_refused_for_what_is_wrong_with_it(
    setting: Setting, value: Any, codes: list[str]
) -> None:
    assert [fault.code.word for fault in setting.faults(value)] == codes


@pytest.mark.parametrize(
    ("setting", "value", "may"),
    [
        (REFUSED, True, True),
        (REFUSED, "on", False),
        (LINE, "any", True),
        (WORD, "update", True),
        (WORD, "gone", False),
        (LIST, ["x"], False),
    ],
)
def test_what_is_stored_counts_where_it_is_of_the_type_and_one_of_the_words(
    setting: Setting, value: object, may: bool
) -> None:
    assert setting.may_be(value) is may


@pytest.mark.parametrize(
    ("stored", "values"),
    [
        (
            {"line": "a", "list": ["b"], "guard": False},
            {"line": "a", "list": ("b",), "guard": False},
        ),
        ({"other": "a"}, {}),
        ({"line": 7, "list": "b"}, {}),
        ({"guard": "no"}, {"guard": True}),
    ],
)
def test_of_what_is_stored_whatever_protects_counts_where_it_cannot_be_read(
    stored: Any, values: Any
) -> None:
    assert Settings(LINE, LIST, GUARD).known(stored) == values


def test_a_mode_is_a_projects_own_while_it_says_so() -> None:
    own = projects.changed_settings({}, {DEFAULT_MODE: "local"})
    assert (own[DEFAULT_MODE], own[OWN_MODE]) == ("local", True)
    other = projects.changed_settings(own, {"description": "what"})
    assert other == {**own, "description": "what"}
    given_up = projects.changed_settings(own, {OWN_MODE: False})
    assert DEFAULT_MODE not in given_up
    assert DEFAULT_MODE not in projects.changed_settings(
        {}, {DEFAULT_MODE: "local", OWN_MODE: False}
    )
    plain = projects.changed_settings({}, {"description": "what"})
    assert plain == {"description": "what"}


def test_tags_say_which_of_them_are_others() -> None:
    before = Tags(("live",), {"env": "eu"})
    assert before.changed_from(before) == []
    assert Tags((), {"env": "eu"}).changed_from(before) == ["tag-names"]
    assert Tags((), {}).changed_from(before) == ["tag-bindings", "tag-names"]


def test_a_setting_that_is_its_default_again_is_not_kept() -> None:
    settings = Settings(LINE, LIST)
    assert settings.changed({"line": "a"}, {"list": ("b",)}) == {"line": "a", "list": ("b",)}
    assert settings.changed({"line": "a", "list": ("b",)}, {"line": ""}) == {"list": ("b",)}
