"""Tokens: found by scanners, checked without asking, stored only as hashes."""

import hashlib
import re
from collections.abc import Callable

import pytest

from teamvars.security.tokens import (
    INVITATION,
    OF_JOB,
    PATTERN,
    RUNNER,
    TOKEN,
    has_invitation_form,
    hash_token,
    is_token,
    new_token,
)

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(("kind", "prefix"), [("user", "u"), ("team", "t"), ("organization", "o")])
def test_a_token_says_whose_kind_it_is_and_has_the_published_form(kind: str, prefix: str) -> None:
    token = new_token(kind)
    assert token.startswith(f"tv{prefix}_")
    assert re.fullmatch("tv[uto]_[0-9A-Za-z]{49}", token)
    assert re.fullmatch(PATTERN, token)
    assert is_token(token)


def test_tokens_never_repeat() -> None:
    assert len({new_token("user") for _ in range(10_000)}) == 10_000


def test_every_character_of_the_random_part_varies() -> None:
    tokens = [new_token("user")[4:47] for _ in range(3000)]
    # The first of 43 digits of a 256-bit number cannot be as large as the others.
    assert all(len({token[place] for token in tokens}) == 62 for place in range(1, 43))


def test_a_token_with_any_one_character_mistyped_is_none() -> None:
    token = new_token("team")
    for place in range(4, len(token)):
        for letter in ALPHABET:
            mistyped = token[:place] + letter + token[place + 1 :]
            assert is_token(mistyped) == (mistyped == token)


def test_a_token_of_one_kind_does_not_pass_for_one_of_another() -> None:
    token = new_token("user")
    assert not is_token("tvo_" + token[4:])
    assert not is_token("tvx_" + token[4:])


@pytest.mark.parametrize("text", ["", "tvu_", "Bearer", "tvu_" + "0" * 49, "é" * 53, "\0"])
def test_other_text_is_no_token(text: str) -> None:
    assert not is_token(text)


@pytest.mark.parametrize(
    ("kind", "has_form"), [(INVITATION, has_invitation_form), (RUNNER, OF_JOB.fullmatch)]
)
def test_what_is_for_one_purpose_is_no_token_and_no_token_is_for_it(
    kind: str, has_form: Callable[[str], object]
) -> None:
    secret, token = new_token(kind), new_token("user")
    assert has_form(secret)
    assert not TOKEN.fullmatch(secret)
    assert not is_token(secret)
    assert TOKEN.fullmatch(token)
    assert not has_form(token)
    assert not has_form(f"{secret}0")


@pytest.mark.parametrize("around", [" {}", "{} ", "{}\n", "x{}", "{}0"])
def test_a_token_with_something_around_it_is_none(around: str) -> None:
    assert not is_token(around.format(new_token("user")))


def test_what_is_stored_is_the_sha_256_of_the_whole_token() -> None:
    token = new_token("user")
    assert hash_token(token) == hashlib.sha256(token.encode()).digest()
    assert hash_token(token) != hash_token(token[:-1])
