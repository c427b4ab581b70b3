"""A service's keys are one text, which no other text stands for."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.protocol import Malformed, server_keys

KEYS = [Ed25519PrivateKey.generate().public_key() for _ in range(2)]


def test_the_keys_are_read_as_they_were_shown() -> None:
    text = server_keys.shown(KEYS)
    assert "\n" not in text
    assert server_keys.read(text) == KEYS
    assert server_keys.read(server_keys.shown(KEYS[:1])) == KEYS[:1]


@pytest.mark.parametrize("wrong", ["", "{},", "{} ", "{}=", "A{}", "{}\n"])
def test_any_other_text_has_none(wrong: str) -> None:
    with pytest.raises(Malformed):
        server_keys.read(wrong.replace("{}", server_keys.shown(KEYS)))
