"""A service's keys are one text, which no other text stands for."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.protocol import Malformed, bundles

KEYS = [Ed25519PrivateKey.generate().public_key() for _ in range(2)]


def test_the_keys_are_read_as_they_were_shown() -> None:
    text = bundles.shown_keys(KEYS)
    assert "\n" not in text
    assert bundles.read_keys(text) == KEYS
    assert bundles.read_keys(bundles.shown_keys(KEYS[:1])) == KEYS[:1]


@pytest.mark.parametrize("wrong", ["", "{},", "{} ", "{}=", "A{}", "{}\n"])
def test_any_other_text_has_none(wrong: str) -> None:
    with pytest.raises(Malformed):
        bundles.read_keys(wrong.replace("{}", bundles.shown_keys(KEYS)))
