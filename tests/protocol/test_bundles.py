"""What is delivered opens for the job that asked, as what it is bound to, and for nothing else."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from teamvars.kernel.variables import Category
from teamvars.protocol import Malformed, decoded, encoded
from teamvars.protocol.bundles import (
    PUBLIC_KEY_BYTES,
    Delivered,
    Delivery,
    Info,
    JobKey,
    _signed,
    deliver,
    received,
    seal,
    thumbprint,
)

SERVICE, JOB, OTHER = Ed25519PrivateKey.generate(), JobKey.generate(), JobKey.generate()
INFO = Info("org-1", "ws-1", "run-1", 2, "rt-1", JOB.thumbprint, "ab" * 32, 1_800_000_000)
VARIABLES = [
    Delivered("var-1", "password", "hunter2 ü\0", Category.TOOL, False, True, "version-1"),
    Delivered("var-2", "region", "eu", Category.ENV, False, False, "version-2"),
]
MADE = deliver(VARIABLES, INFO, JOB.public, SERVICE)
PINNED = [SERVICE.public_key()]


def test_the_job_that_asked_gets_every_value() -> None:
    assert received(MADE, JOB, PINNED) == (INFO, VARIABLES)


def test_no_value_stands_in_the_open_or_in_a_repr() -> None:
    shown = [MADE.info, MADE.bundle, MADE.signature, repr(MADE).encode(), repr(VARIABLES).encode()]
    assert not [text for text in shown if b"hunter2" in text or b"password" in text]


def test_two_deliveries_of_the_same_share_no_bytes() -> None:
    again = deliver(VARIABLES, INFO, JOB.public, SERVICE)
    assert again.info == MADE.info
    assert again.bundle[:32] != MADE.bundle[:32]
    assert again.bundle[-32:] != MADE.bundle[-32:]


@pytest.mark.parametrize("info", [b"{", b'{"organization": "\xff"}'])
def test_what_the_service_signs_is_no_delivery_unless_it_reads_as_one(info: bytes) -> None:
    signed = Delivery(info, MADE.bundle, SERVICE.sign(_signed(info, MADE.bundle)))
    with pytest.raises(Malformed):
        received(signed, JOB, PINNED)


def test_another_job_cannot_open_it() -> None:
    with pytest.raises(Malformed):
        received(MADE, OTHER, PINNED)


def test_what_another_has_signed_is_not_opened() -> None:
    forger = Ed25519PrivateKey.generate()
    with pytest.raises(Malformed):
        received(deliver(VARIABLES, INFO, JOB.public, forger), JOB, PINNED)


@pytest.mark.parametrize("at", Delivery.__struct_fields__)
def test_no_byte_of_it_can_be_another(at: str) -> None:
    content = getattr(MADE, at)
    for n in range(len(content)):
        flipped = content[:n] + bytes([content[n] ^ 1]) + content[n + 1 :]
        with pytest.raises(Malformed):
            received(replace(MADE, **{at: flipped}), JOB, PINNED)


OTHERS = {
    "organization": "org-2",
    "workspace": "ws-2",
    "runner": "run-2",
    "version": 3,
    "token": "rt-2",
    "thumbprint": OTHER.thumbprint,
    "head": "cd" * 32,
    "expires_at": INFO.expires_at + 1,
    "only": ("*",),
}


@pytest.mark.parametrize("name", Info.__struct_fields__)
def test_a_bundle_opens_with_its_own_info_alone(name: str) -> None:
    said = replace(INFO, **{name: OTHERS[name]}).encode()
    with pytest.raises(Malformed):
        JOB.open(MADE.bundle, said)


@given(st.binary(max_size=PUBLIC_KEY_BYTES + 1))
def test_what_is_no_public_key_is_sealed_nothing(public: bytes) -> None:
    with pytest.raises(Malformed):
        seal(public if len(public) != PUBLIC_KEY_BYTES else b"", b"x", b"info")


def test_a_key_that_makes_every_secret_the_same_is_none() -> None:
    with pytest.raises(Malformed):
        seal(JOB.public[:-32] + bytes(32), b"x", b"info")


def test_a_thumbprint_names_the_suite_and_both_parts() -> None:
    assert thumbprint(JOB.public) == JOB.thumbprint != OTHER.thumbprint
    assert len(decoded(JOB.thumbprint)) == 32
    for at in (0, -1):
        public = bytearray(JOB.public)
        public[at] ^= 1
        assert thumbprint(bytes(public)) != JOB.thumbprint


@given(st.binary())
def test_bytes_are_written_in_one_way(content: bytes) -> None:
    text = encoded(content)
    assert decoded(text) == content
    assert "=" not in text
    for other in (f"{text}=", f"{text} ", text.replace("A", "A\n", 1) + "\n"):
        with pytest.raises(Malformed):
            decoded(other)
