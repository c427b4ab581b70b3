"""Which names and addresses are allowed, which are equal, and how text is shown on a terminal."""

import json
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.names import (
    escaped,
    fold,
    is_email,
    is_name,
    is_safe,
    is_team_name,
    is_username,
)

UNSEEN = ["\x00", "\n", "\x1b", "\x7f", "\x85", "\x9b", "\u061c", "\u200b", "\u200e", "\u200f"]
UNSEEN += ["\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff", "\ue000"]
UNSEEN += ["\U000e0001", "\U000f0000", "\ud800"]
ONE_AND_THE_OTHER = str.maketrans(string.ascii_letters, string.ascii_letters.swapcase())


@pytest.mark.parametrize("char", UNSEEN, ids=ascii)
def test_what_is_not_seen_names_nobody_and_commands_no_terminal(char: str) -> None:
    assert not is_safe(char)
    assert not is_email(f"al{char}ice@example.com")
    assert not is_email(f"alice@exam{char}ple.com")
    assert not is_username(f"al{char}ice")
    assert not is_name(f"al{char}ice")
    assert not is_team_name(f"al{char}ice")
    shown = escaped(f"al{char}ice")
    assert char not in shown
    assert json.loads(f'"{shown}"') == f"al{char}ice"


@pytest.mark.parametrize(
    "email", ["alice@example.com", "a+b@x", "jörg@straße.example", "李@例.test"]
)
def test_addresses_of_every_script_are_allowed(email: str) -> None:
    assert is_email(email)
    assert escaped(email) == email


def test_of_two_ways_to_write_an_address_one_is_allowed() -> None:
    composed = "jörg@example.com"
    assert is_email(composed)
    assert not is_email(unicodedata.normalize("NFD", composed))


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "Platform Team 2.0",
        "eu/platform",
        "-",
        "_x.",
        "Équipe d_été",
        "プラットフォーム",
        "команда",
        "टीम",
    ],
)
def test_teams_have_names_in_every_script(name: str) -> None:
    assert is_team_name(name)
    assert is_team_name(name[0] * 90)
    assert not is_team_name(name[0] * 91)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "a,b",
        "a\tb",
        "a\u00a0b",
        "it's",
        "😀",
        "²",
        "\u0301a",
        "a \u0301",
    ],
)
def test_other_names_of_teams_are_refused(name: str) -> None:
    assert not is_team_name(name)


@pytest.mark.parametrize("char", ["\u034f", "\u115f", "\u3164", "\ufe0f", "\U000e0100"], ids=ascii)
def test_a_letter_or_mark_that_is_not_seen_is_in_no_name_of_a_team(char: str) -> None:
    assert not is_team_name(f"crew{char}")


def test_of_two_ways_to_write_the_name_of_a_team_one_is_allowed() -> None:
    assert is_team_name("équipe")
    assert not is_team_name(unicodedata.normalize("NFD", "équipe"))


@given(st.text(max_size=95))
def test_a_name_of_a_team_is_safe_to_show_and_its_own_only_form(name: str) -> None:
    if is_team_name(name):
        assert is_safe(name)
        assert name == unicodedata.normalize("NFC", name.strip())
        assert len(name) <= 90


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("straße@example.com", "STRASSE@example.com"),
        ("straße@example.com", "strasse@example.com"),
        ("É@example.com", "é@example.com"),
        ("\u212aim@example.com", "kim@example.com"),
        ("\u017fam@example.com", "sam@example.com"),
        ("İ@example.com", "i\u0307@example.com"),
    ],
)
def test_different_letters_are_different_people(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_the_case_of_the_letters_a_to_z_is_all_that_does_not_count(text: str) -> None:
    assert fold(text) == fold(text.translate(ONE_AND_THE_OTHER)) == fold(fold(text))
    assert len(fold(text)) == len(text)
    assert all(a == b or a in string.ascii_uppercase for a, b in zip(text, fold(text), strict=True))


@given(st.text())
def test_whatever_is_shown_is_one_line_without_a_command(text: str) -> None:
    shown = escaped(text)
    assert is_safe(shown.replace("\u200c", "").replace("\u200d", ""))
    assert len(shown.splitlines()) <= 1
    assert escaped(shown) == shown


JOINED = [
    "نمی\u200cشود",  # Persian: it does not go
    "نمی\u064e\u200cشود",  # with a mark before the joiner
    "ක්\u200dෂ",  # Sinhala, after a virama
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f9d1\U0001f3fd\u200d\U0001f680",  # of a skin colour
]
LOOSE = [
    "DB\u200c_URL",
    "\u200dKEY",
    "KEY\u200c",
    "می\u200c",
    "1\u200c2",
    "\U0001f468\u200dx",
    "e\u0301\u200d=",
    "\U0001f468\u200d+",
]


@pytest.mark.parametrize("text", JOINED, ids=ascii)
def test_what_is_written_with_a_joiner_is_shown_with_it(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize("text", LOOSE)
def test_a_joiner_that_joins_nothing_is_seen(text: str) -> None:
    assert escaped(text) == text.replace("\u200c", "\\u200c").replace("\u200d", "\\u200d")


@given(st.recursive(st.text() | st.integers(), st.lists, max_leaves=5))
def test_a_line_of_json_keeps_its_meaning(document: object) -> None:
    line = json.dumps(document, ensure_ascii=False)
    assert json.loads(escaped(line)) == document
