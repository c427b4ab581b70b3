"""Records of changes: found, compared and opened by whoever has the keys they were made with."""

import secrets

import pytest
from msgspec.structs import replace

from teamvars.domain.access import Caller
from teamvars.domain.idempotency import Asked, Record
from teamvars.security import keyring
from teamvars.security.idempotency import RecordKeys
from teamvars.security.keyring import Keyring, KeySet
from teamvars.security.sealing import SealBroken

ASKED = Asked(Caller(b"t" * 32, "request"), "key", ("POST", "/path", b"", None), b"h" * 32)
DAY = 86_400_000_000


def with_new_key(keys: Keyring) -> Keyring:
    """The keyring after a rotation: what is new is made with another key."""
    new = {"mk-new": secrets.token_bytes(keyring.KEY_BYTES)}
    return Keyring(KeySet("mk-new", {**keys.master.keys, **new}), keys.audit)


def test_a_record_is_found_compared_and_opened() -> None:
    keys = RecordKeys(keyring.generate())
    record = keys.seal(ASKED, b"answer", DAY)
    assert record.name in keys.names(ASKED).values()
    assert keys.is_of(record, ASKED)
    assert keys.open(record) == b"answer"
    assert b"answer" not in record.answer


def test_it_is_also_when_keys_have_rotated_since() -> None:
    before = keyring.generate()
    record = RecordKeys(before).seal(ASKED, b"answer", DAY)
    after = RecordKeys(with_new_key(before))
    assert after.names(ASKED)[record.key_id] == record.name
    assert after.is_of(record, ASKED)
    assert after.open(record) == b"answer"
    assert after.seal(ASKED, b"answer", DAY).key_id == "mk-new"
    assert after.lock(ASKED) == RecordKeys(before).lock(ASKED)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, key="another"),
        replace(ASKED, caller=Caller(b"u" * 32, "request")),
    ],
    ids=["key", "token"],
)
def test_another_key_and_another_token_have_another_name(other: Asked) -> None:
    keys = RecordKeys(keyring.generate())
    assert not set(keys.names(other).values()) & set(keys.names(ASKED).values())
    assert keys.lock(other) != keys.lock(ASKED)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, content=("PATCH", "/path", b"", None)),
        replace(ASKED, content=("POST", "/pat", b"h", None)),
        replace(ASKED, content=("POST", "/path", b"", "")),
        replace(ASKED, body_hash=b"i" * 32),
    ],
    ids=["method", "split", "condition", "body"],
)
def test_another_request_has_another_fingerprint(other: Asked) -> None:
    keys = RecordKeys(keyring.generate())
    assert not keys.is_of(keys.seal(ASKED, b"answer", DAY), other)


def test_fingerprints_of_two_keyrings_differ() -> None:
    one, other = (RecordKeys(keyring.generate()).seal(ASKED, b"", DAY) for _ in range(2))
    assert one.fingerprint != other.fingerprint
    assert one.name != other.name


@pytest.mark.parametrize(
    "change",
    [
        {"name": "0" * 64},
        {"fingerprint": b"f" * 32},
        {"expires_at": DAY + 1},
        {"answer": b"short"},
        {"answer": b"a" * 40},
    ],
    ids=["name", "fingerprint", "expiry", "answer cut off", "another answer"],
)
def test_what_was_altered_or_moved_does_not_open(change: dict[str, object]) -> None:
    keys = RecordKeys(keyring.generate())
    record: Record = replace(keys.seal(ASKED, b"answer", DAY), **change)
    with pytest.raises(SealBroken):
        keys.open(record)


def test_no_record_and_no_request_shows_what_it_holds() -> None:
    record = RecordKeys(keyring.generate()).seal(ASKED, b"answer", DAY)
    assert repr((ASKED, record)) == "(<Asked>, <Record>)"
