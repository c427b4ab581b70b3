"""The audit chain: whoever alters it without the keyring is found out, and where."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import AuditEntry, Stream
from teamvars.security import keyring
from teamvars.security.chain import GENESIS, Chain
from teamvars.security.keyring import Keyring, KeySet
from tests.security.samples import as_version_1, event

LENGTH = 6
KEYS = keyring.generate()
CHAIN = Chain(KEYS)
FIELDS = AuditEntry._fields[:-1]  # the last is not authenticated


def history(chain: Chain = CHAIN, stream_id: str = "ws-1") -> tuple[list[AuditEntry], Stream]:
    """A stream's entries, and the stream after them."""
    stream, entries = chain.open(stream_id, "org-1"), []
    for number in range(1, LENGTH + 1):
        entry, stream = chain.extend(stream, event(number))
        entries.append(entry)
    return entries, stream


def released_history() -> list[AuditEntry]:
    """A stream's entries as version 0.1.0 has written them."""
    entries: list[AuditEntry] = []
    for entry in ENTRIES:
        previous = entries[-1].link if entries else GENESIS
        entries.append(as_version_1(entry._replace(previous=previous), KEYS.audit))
    return entries


ENTRIES, STREAM = history()
END = (STREAM.sequence, STREAM.link)


def broken_at(entries: list[AuditEntry], end: tuple[int, bytes] = END) -> int | None:
    """The sequence number of the break that is found."""
    found = CHAIN.first_break("ws-1", entries, end)
    assert found is None or (found.stream_id == "ws-1" and found.reason)
    return None if found is None else found.sequence


def other_value(value: Any) -> Any:
    if isinstance(value, int):
        return value + 1
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    return None if value is not None and value.startswith(("at-", "192.")) else f"{value or ''}x"


def relinked(entries: list[AuditEntry]) -> list[AuditEntry]:
    """All that can be made anew without an audit key: sequence numbers and references."""
    again: list[AuditEntry] = []
    for number, entry in enumerate(entries, 1):
        previous = again[-1].link if again else GENESIS
        again.append(entry._replace(sequence=number, previous=previous))
    return again


def test_an_untouched_stream_holds() -> None:
    assert broken_at(ENTRIES) is None
    assert CHAIN.head_holds(STREAM)
    assert [entry.sequence for entry in ENTRIES] == list(range(1, LENGTH + 1))


def test_a_new_stream_holds_without_an_entry() -> None:
    stream = CHAIN.open("ws-1", "org-1")
    assert broken_at([], (stream.sequence, stream.link)) is None
    assert CHAIN.head_holds(stream)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("place", range(LENGTH))
def test_an_edit_of_any_field_of_any_entry_is_found(name: str, place: int) -> None:
    entry = ENTRIES[place]
    altered = [*ENTRIES]
    altered[place] = entry._replace(**{name: other_value(getattr(entry, name))})
    assert broken_at(altered) == place + 1


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", [None, "", b"", 0, -1, 1.5, "text", [1]], ids=repr)
def test_a_field_that_holds_something_we_never_write_is_found(name: str, value: Any) -> None:
    altered = [ENTRIES[0], ENTRIES[1]._replace(**{name: value}), *ENTRIES[2:]]
    changed = getattr(ENTRIES[1], name) != value
    assert broken_at(altered) == (2 if changed else None)


@pytest.mark.parametrize("name", ["at", "sequence"])
def test_a_fraction_added_to_a_number_is_found(name: str) -> None:
    altered = [ENTRIES[0]._replace(**{name: getattr(ENTRIES[0], name) + 0.25}), *ENTRIES[1:]]
    assert broken_at(altered) == 1


@pytest.mark.parametrize("place", range(LENGTH))
def test_a_deletion_of_any_entry_is_found(place: int) -> None:
    left = [*ENTRIES[:place], *ENTRIES[place + 1 :]]
    assert broken_at(left) == place + 1
    assert broken_at(relinked(left)) == place + 1


@pytest.mark.parametrize("first", range(LENGTH))
@pytest.mark.parametrize("second", range(LENGTH))
def test_a_swap_of_any_two_entries_is_found(first: int, second: int) -> None:
    swapped = [*ENTRIES]
    swapped[first], swapped[second] = swapped[second], swapped[first]
    expected = None if first == second else min(first, second) + 1
    assert broken_at(swapped) == expected
    assert broken_at(relinked(swapped)) == expected


@pytest.mark.parametrize("place", range(LENGTH + 1))
@pytest.mark.parametrize("source", ["repeated", "of another stream", "made up"])
def test_an_insertion_anywhere_is_found(place: int, source: str) -> None:
    strangers = {
        "repeated": ENTRIES[0],
        "of another stream": history(stream_id="ws-2")[0][0],
        "made up": ENTRIES[0]._replace(action="variable.delete", link=random.randbytes(32)),
    }
    longer = [*ENTRIES[:place], strangers[source], *ENTRIES[place:]]
    assert broken_at(longer) is not None
    assert broken_at(relinked(longer)) is not None


def test_all_entries_of_another_stream_do_not_pass_for_this_ones() -> None:
    entries, stream = history(stream_id="ws-2")
    renamed = [entry._replace(stream_id="ws-1") for entry in entries]
    assert broken_at(renamed, (stream.sequence, stream.link)) == 1


@pytest.mark.parametrize("kept", range(LENGTH))
def test_a_cut_off_end_is_found_also_when_the_streams_row_was_moved_back(kept: int) -> None:
    left = ENTRIES[:kept]
    assert broken_at(left) == kept + 1
    moved_back = replace(STREAM, sequence=kept, link=left[-1].link if left else GENESIS)
    assert broken_at(left, (moved_back.sequence, moved_back.link)) is None  # so it takes the head
    assert not CHAIN.head_holds(moved_back)


@pytest.mark.parametrize("name", ["id", "sequence", "link", "head"])
def test_an_edit_of_the_streams_row_is_found(name: str) -> None:
    altered = replace(STREAM, **{name: other_value(getattr(STREAM, name))})
    assert not CHAIN.head_holds(altered)


def test_a_head_that_is_not_even_bytes_is_found() -> None:
    anything: Any = "text"
    assert not CHAIN.head_holds(replace(STREAM, head=anything))


def test_a_head_of_another_stream_does_not_pass() -> None:
    other = CHAIN.open("ws-2", "org-1")
    assert not CHAIN.head_holds(replace(CHAIN.open("ws-1", "org-1"), head=other.head))


def test_whoever_has_another_keyring_cannot_continue_a_stream_unseen() -> None:
    stranger = Chain(keyring.generate())
    entry, after = stranger.extend(STREAM, event(9))
    assert broken_at([*ENTRIES, entry], (after.sequence, after.link)) == LENGTH + 1
    assert not CHAIN.head_holds(after)


def test_a_stream_holds_after_the_audit_key_was_replaced_by_a_newer_one() -> None:
    newer = keyring.generate().audit
    both = KeySet(newer.active, {**KEYS.audit.keys, **newer.keys})
    rotated = Chain(Keyring(KEYS.master, both))
    entry, after = rotated.extend(STREAM, event(9))
    assert entry.key_id == newer.active
    assert rotated.first_break("ws-1", [*ENTRIES, entry], (after.sequence, after.link)) is None
    assert rotated.head_holds(after)
    assert rotated.head_holds(STREAM)


RELEASED = Keyring(KeySet("mk-1", {"mk-1": bytes(32)}), KeySet("ak-1", {"ak-1": bytes(range(32))}))
RELEASED_LINK = "464271388405539da9b4cd97533beed6ffaac643ab3f88bbe9f51926dbe691a2"


def test_an_entry_that_0_1_0_has_written_still_holds() -> None:
    fields = ("ws-1", 1, 1, "user", "user-1", "at-1", "req-1", "variable.1", "vars", "var-1")
    rest = ('{"key":"k1","n":1}', "ak-1", GENESIS, 1, None, bytes.fromhex(RELEASED_LINK))
    entry = AuditEntry(*fields, *rest)
    assert Chain(RELEASED).holds(entry)
    assert not Chain(RELEASED).holds(entry._replace(address="192.0.2.1"))


def test_a_stream_goes_on_in_the_new_version_after_entries_of_the_old_one() -> None:
    old = released_history()
    assert broken_at(old, (LENGTH, old[-1].link)) is None
    stream = replace(STREAM, link=old[-1].link)
    entry, after = CHAIN.extend(stream, event(LENGTH + 1))
    assert (entry.version, entry.address) == (2, f"192.0.2.{LENGTH + 1}")
    assert broken_at([*old, entry], (after.sequence, after.link)) is None


@pytest.mark.parametrize("address", [None, "", "192.0.2.1"])
@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("place", range(LENGTH))
@pytest.mark.parametrize("written", ["old", "new"])
def test_an_entry_passes_for_no_other_version_and_with_no_other_address(
    written: str, place: int, version: int, address: str | None
) -> None:
    altered = released_history() if written == "old" else [*ENTRIES]
    end = (LENGTH, altered[-1].link)
    before = altered[place]
    altered[place] = before._replace(version=version, address=address)
    expected = None if altered[place] == before else place + 1
    assert broken_at(altered, end) == expected
