"""Sealed values open in their own row and nowhere else, and nothing shows what they hold."""

import base64
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from teamvars.domain.access import WrappedKey
from teamvars.domain.keys import Sealed
from teamvars.security import keyring
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import DataKey, KeyMissing, SealBroken, Sealer
from tests.security.samples import VARIABLE

CANARY = "canary-Jx81-in-a-value"
KEYS = keyring.generate()
SEALER = Sealer(KEYS)
WRAPPED = SEALER.new_data_key("org-1", 1)
KEY = SEALER.data_key(WRAPPED)
SEALED = KEY.seal(CANARY, VARIABLE)
ONE = {1: b"k" * 32}


def forms(secret: bytes) -> list[str]:
    """How a secret might be spelled where nobody looks for it."""
    return [secret.hex(), base64.b64encode(secret).decode(), repr(secret), repr(secret)[2:-1]]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=3000))
def test_a_value_comes_back_as_it_was(value: str) -> None:
    assert KEY.open(KEY.seal(value, VARIABLE), VARIABLE) == value


def test_the_largest_value_comes_back_as_it_was() -> None:
    value = "😀" * 65536
    assert KEY.open(KEY.seal(value, VARIABLE), VARIABLE) == value


@pytest.mark.parametrize(
    "place",
    [
        replace(VARIABLE, id="var-2"),
        replace(VARIABLE, owner_id="ws-2"),
        replace(VARIABLE, sensitive=True),
    ],
    ids=["another row", "another workspace", "the sensitive flag flipped"],
)
def test_a_value_does_not_open_anywhere_else(place: object) -> None:
    assert isinstance(place, type(VARIABLE))
    with pytest.raises(SealBroken):
        KEY.open(SEALED, place)


def test_a_value_opens_after_what_is_not_its_place_has_changed() -> None:
    changed = replace(VARIABLE, key="other", description="other", hcl=True, version_id="2")
    assert KEY.open(SEALED, changed) == CANARY


def test_a_value_does_not_open_as_that_of_another_organization_or_key_version() -> None:
    sealed = DataKey(ONE, "org-1", 1).seal(CANARY, VARIABLE)
    assert DataKey(ONE, "org-1", 1).open(sealed, VARIABLE) == CANARY
    for organization, version in (("org-2", 1), ("org-1", 2)):
        with pytest.raises(SealBroken):
            DataKey({version: ONE[1]}, organization, version).open(sealed, VARIABLE)


def test_a_value_does_not_open_under_another_key() -> None:
    other = SEALER.data_key(SEALER.new_data_key("org-1", 1))
    with pytest.raises(SealBroken):
        other.open(SEALED, VARIABLE)


@pytest.mark.parametrize("position", range(len(SEALED.content)))
def test_a_value_does_not_open_once_any_byte_was_flipped(position: int) -> None:
    altered = bytearray(SEALED.content)
    altered[position] ^= 1
    with pytest.raises(SealBroken):
        KEY.open(Sealed(bytes(altered), 1), VARIABLE)


@pytest.mark.parametrize("length", range(len(SEALED.content)))
def test_a_value_does_not_open_once_it_was_cut_off(length: int) -> None:
    with pytest.raises(SealBroken):
        KEY.open(Sealed(SEALED.content[:length], 1), VARIABLE)


def test_a_value_does_not_open_once_it_was_continued() -> None:
    with pytest.raises(SealBroken):
        KEY.open(Sealed(SEALED.content + b"\0", 1), VARIABLE)


LINK = "ou-1", b"hash of the link"
SEALED_SECRET = KEY.seal_secret(CANARY, *LINK)


@pytest.mark.parametrize(
    "place",
    [("ou-2", LINK[1]), (LINK[0], b"hash of another")],
    ids=["another membership", "another link"],
)
def test_the_secret_of_an_invitation_does_not_open_anywhere_else(place: tuple[str, bytes]) -> None:
    assert KEY.open_secret(SEALED_SECRET, *LINK) == CANARY
    with pytest.raises(SealBroken):
        KEY.open_secret(SEALED_SECRET, *place)


def test_the_secret_of_an_invitation_is_its_organizations_and_its_key_versions() -> None:
    sealed = DataKey(ONE, "org-1", 1).seal_secret(CANARY, *LINK)
    assert DataKey(ONE, "org-1", 1).open_secret(sealed, *LINK) == CANARY
    for organization, version in (("org-2", 1), ("org-1", 2)):
        with pytest.raises(SealBroken):
            DataKey({version: ONE[1]}, organization, version).open_secret(sealed, *LINK)


def test_neither_a_value_opens_as_a_secret_nor_a_secret_as_a_value() -> None:
    with pytest.raises(SealBroken):
        KEY.open(SEALED_SECRET, VARIABLE)
    with pytest.raises(SealBroken):
        KEY.open_secret(SEALED, *LINK)


def test_the_same_value_is_sealed_differently_each_time() -> None:
    assert len({KEY.seal(CANARY, VARIABLE) for _ in range(1000)}) == 1000


def opens_and_seals_nothing(sealer: Sealer, stored: WrappedKey) -> None:
    key = sealer.data_key(stored)
    with pytest.raises(SealBroken):
        key.open(SEALED, VARIABLE)
    with pytest.raises(SealBroken):
        key.seal(CANARY, VARIABLE)


@pytest.mark.parametrize(
    "moved",
    [
        replace(WRAPPED, organization_id="org-2"),
        replace(WRAPPED, version=2),
        replace(WRAPPED, wrapped=b""),
        replace(WRAPPED, wrapped=None),
        replace(WRAPPED, wrapped="text"),
        replace(WRAPPED, wrapped=SEALER.new_data_key("org-2", 1).wrapped),
    ],
    ids=[
        "another organization",
        "another version",
        "empty",
        "gone",
        "text",
        "another's",
    ],
)
def test_a_data_key_does_not_open_anywhere_else(moved: WrappedKey) -> None:
    with pytest.raises(SealBroken):
        SEALER.generations(moved)
    opens_and_seals_nothing(SEALER, moved)


@settings(max_examples=60)
@given(st.integers(0, len(WRAPPED.wrapped) - 1), st.integers(1, 255))
def test_a_data_key_does_not_open_once_any_byte_was_changed(position: int, change: int) -> None:
    altered = bytearray(WRAPPED.wrapped)
    altered[position] ^= change
    opens_and_seals_nothing(SEALER, replace(WRAPPED, wrapped=bytes(altered)))


def test_a_data_key_under_a_master_key_that_the_keyring_lacks_is_told_to_be() -> None:
    with pytest.raises(KeyMissing):
        SEALER.data_key(replace(WRAPPED, master_key_id="mk-unknown"))


def test_a_data_key_does_not_open_under_another_master_key_of_the_same_id() -> None:
    imposter = keyring.generate()
    renamed = replace(
        imposter.master,
        active=KEYS.master.active,
        keys={KEYS.master.active: imposter.master.keys[imposter.master.active]},
    )
    opens_and_seals_nothing(Sealer(Keyring(renamed, KEYS.audit)), WRAPPED)


def test_a_data_key_opens_again_with_the_same_keyring() -> None:
    assert Sealer(KEYS).data_key(WRAPPED).open(SEALED, VARIABLE) == CANARY


def test_a_value_opens_under_a_newer_data_key_until_that_of_its_generation_is_gone() -> None:
    added = SEALER.with_generation(WRAPPED, 2)
    assert SEALER.data_key(added).seal(CANARY, VARIABLE).version == 1
    newer = SEALER.in_use(added, 2)
    later = SEALER.data_key(newer).seal(CANARY, VARIABLE)
    assert later.version == 2
    for stored in (added, newer):
        assert SEALER.generations(stored) == {1, 2}
        assert [SEALER.data_key(stored).open(one, VARIABLE) for one in (SEALED, later)] == [
            CANARY,
            CANARY,
        ]
    alone = SEALER.data_key(SEALER.without_generation(newer, 1))
    assert alone.open(later, VARIABLE) == CANARY
    with pytest.raises(SealBroken):
        alone.open(SEALED, VARIABLE)
    with pytest.raises(SealBroken):
        KEY.open(later, VARIABLE)


def test_a_value_does_not_open_as_of_another_generation() -> None:
    both = SEALER.data_key(SEALER.with_generation(WRAPPED, 2))
    with pytest.raises(SealBroken):
        both.open(Sealed(SEALED.content, 2), VARIABLE)


def test_the_secret_of_an_invitation_opens_under_the_key_of_its_generation() -> None:
    newer = SEALER.data_key(SEALER.in_use(SEALER.with_generation(WRAPPED, 2), 2))
    assert newer.open_secret(SEALED_SECRET, *LINK) == CANARY
    assert newer.seal_secret(CANARY, *LINK).version == 2


def test_a_generation_that_is_there_is_not_made_again() -> None:
    again = SEALER.data_key(SEALER.with_generation(WRAPPED, 1))
    assert again.open(SEALED, VARIABLE) == CANARY


def test_each_data_key_is_stored_once() -> None:
    both = SEALER.with_generation(WRAPPED, 2)
    assert len(WRAPPED.wrapped) == 12 + 32 + 16
    assert len(both.wrapped) == len(WRAPPED.wrapped) + 8 + 32


def test_a_generation_that_is_not_there_is_not_taken_into_use() -> None:
    with pytest.raises(SealBroken):
        SEALER.in_use(WRAPPED, 2)


def test_data_keys_are_wrapped_again_under_the_master_key_in_use_and_open_with_that_alone() -> None:
    other = keyring.generate()
    both = replace(other.master, keys={**KEYS.master.keys, **other.master.keys})
    wrapped = Sealer(Keyring(both, KEYS.audit)).in_use(SEALER.with_generation(WRAPPED, 2), 1)
    assert wrapped.master_key_id == other.master.active
    assert Sealer(other).data_key(wrapped).open(SEALED, VARIABLE) == CANARY
    with pytest.raises(SealBroken):
        SEALER.data_key(wrapped)


def test_no_text_of_ours_shows_a_value_or_a_key() -> None:
    variable = replace(VARIABLE, value=CANARY)
    texts = [repr(thing) for thing in (KEYS, KEYS.master, SEALER, KEY, variable)]
    for content in (SEALED.content + b"x", b""):
        with pytest.raises(SealBroken) as raised:
            KEY.open(Sealed(content, 1), variable)
        texts.append("".join(traceback.format_exception(raised.value)))
    keys = [*KEYS.master.keys.values(), *KEYS.audit.keys.values()]
    spelled = [form for secret in (CANARY.encode(), *keys) for form in forms(secret)]
    assert [form for form in spelled for text in texts if form in text] == []


def test_the_search_for_secrets_finds_one_that_is_there() -> None:
    assert any(form in repr({"value": CANARY}) for form in forms(CANARY.encode()))
    (key,) = KEYS.master.keys.values()
    assert any(form in repr(KEYS.master.keys) for form in forms(key))
