"""Whom a provider speaks for, and what is told of a browser."""

import pytest

from teamvars.domain.sign_ins import Provider, device_of, is_entra, is_subject

ONE = Provider("one", "One", "https://id.example.com", "us", ("acme",), ("example.com",), 0)


@pytest.mark.parametrize(
    ("email", "is_its"),
    [
        ("ann@example.com", True),
        ("Ann@EXAMPLE.com", True),
        ("ann@other.example", False),
        ("ann@sub.example.com", False),
        ("ann@example.com@other.example", False),
        ("\u0430nn@example.com", False),
        ("ann@ex\u0430mple.com", False),
    ],
)
def test_a_provider_speaks_for_plain_addresses_of_its_domains(email: str, is_its: bool) -> None:
    assert ONE.speaks_for(email) is is_its


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *[("a", True), ("a b|c", True), ("a" * 255, True)],
        *[("a" * 256, False), ("", False), ("\u0430", False), ("a\n", False), ("a\0", False)],
    ],
)
def test_what_names_somebody_is_short_and_can_be_read(text: str, is_one: bool) -> None:
    assert is_subject(text) is is_one


def test_entra_is_known_in_each_of_its_clouds_and_by_the_whole_host() -> None:
    assert is_entra("https://login.microsoftonline.com/tenant/v2.0")
    assert is_entra("https://login.microsoftonline.us/tenant/v2.0")
    assert not is_entra("https://login.microsoftonline.com.evil.test/")
    assert not is_entra("https://id.example.com")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/128.0", "Firefox on Linux"),
        ("(Windows NT 10.0) Chrome/126.0 Safari/537.36 Edg/126.0", "Edge on Windows"),
        ("(Macintosh; Intel Mac OS X 10_15) Version/17.5 Safari/605.1", "Safari on macOS"),
        ("(Linux; Android 14) Chrome/126.0 Mobile Safari/537.36", "Chrome on Android"),
        ("(Windows NT 10.0) Chrome/126.0 Safari/537.36 OPR/111.0", "Opera on Windows"),
        ("(iPhone; CPU iPhone OS 17_5 like Mac OS X) Safari/604.1", "Safari on iOS"),
        ("curl/8.0 (Linux)", "a browser on Linux"),
        ("Firefox/1", "Firefox"),
        ("", "a browser"),
    ],
)
def test_a_browser_and_its_system_are_told_in_words(said: str, told: str) -> None:
    assert device_of(said) == told
