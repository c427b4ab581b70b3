"""The audit chain: whoever alters it without the keyring is found out, and where."""

import ast
import asyncio
import itertools
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import teamvars
from teamvars.domain.audit import (
    ACCEPT,
    Acceptance,
    Actor,
    AlteredStream,
    AuditEntry,
    Event,
    HeldStream,
    Stream,
)
from teamvars.domain.keys import AUDIT
from teamvars.domain.workspaces import Usage
from teamvars.security import keyring
from teamvars.security.chain import (
    GENESIS,
    Chain,
    Way,
    digest_of,
    number_above,
    row_accepted,
    row_digest,
    unforeseen_above,
)
from teamvars.security.keyring import Keyring, KeySet
from tests.security.samples import as_version_1, event

LENGTH = 6
KEYS = keyring.generate()
CHAIN = Chain(KEYS)
FIELDS = AuditEntry._fields[:-1]  # the last is not authenticated


def history(chain: Chain = CHAIN, stream_id: str = "ws-1") -> tuple[list[AuditEntry], HeldStream]:
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


def found_digest(row: bytes, entries: list[AuditEntry], end: AuditEntry | None = None) -> bytes:
    """That of all that is there of a stream, read in two pieces."""

    async def pieces() -> AsyncGenerator[list[AuditEntry]]:
        yield entries[:2]
        yield entries[2:]

    return asyncio.run(digest_of(row, pieces(), end))


def broken_at(entries: list[AuditEntry], end: tuple[int, bytes] = END) -> int | None:
    """The sequence number of the break that is found."""
    way = Way(CHAIN, "ws-1")
    way.follow(entries)
    before = None
    if way.accepted is not None:
        before = found_digest(row_accepted(way.accepted), entries, way.accepted)
    found = way.first_break(end, before)
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


def test_several_events_are_appended_as_one_after_another() -> None:
    usage = Usage(2, 3)
    start = CHAIN.open("ws-1", "org-1")
    entries, stream = CHAIN.extend_all(start, map(event, range(1, LENGTH + 1)), usage)
    assert (entries, stream) == (ENTRIES, replace(STREAM, usage=usage))
    assert CHAIN.extend_all(stream, [], Usage(9, 9)) == ([], stream)


def test_what_a_stream_holds_changes_with_the_entry_that_says_so() -> None:
    _, full = CHAIN.extend(STREAM, event(7), Usage(2, 3))
    _, after = CHAIN.extend(full, event(8))
    assert (full.usage, after.usage) == (Usage(2, 3), Usage(2, 3))
    carried = [
        CHAIN.carry(altered(after, head=b"?"), 8, TAKEN, usage)[1] for usage in (None, Usage(1, 1))
    ]
    assert [stream.usage for stream in carried] == [Usage(2, 3), Usage(1, 1)]


@pytest.mark.parametrize("name", FIELDS)
def test_an_edit_of_any_field_of_any_entry_is_found(name: str) -> None:
    for place, entry in enumerate(ENTRIES):
        altered = [*ENTRIES]
        altered[place] = entry._replace(**{name: other_value(getattr(entry, name))})
        assert broken_at(altered) == place + 1


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_holds_something_we_never_write_is_found(name: str) -> None:
    values: tuple[Any, ...] = (None, "", b"", 0, -1, 1.5, "text", [1])
    for value in values:
        altered = [ENTRIES[0], ENTRIES[1]._replace(**{name: value}), *ENTRIES[2:]]
        changed = getattr(ENTRIES[1], name) != value
        assert broken_at(altered) == (2 if changed else None), value


@pytest.mark.parametrize("name", ["at", "sequence"])
def test_a_fraction_added_to_a_number_is_found(name: str) -> None:
    altered = [ENTRIES[0]._replace(**{name: getattr(ENTRIES[0], name) + 0.25}), *ENTRIES[1:]]
    assert broken_at(altered) == 1


@pytest.mark.parametrize("place", range(LENGTH))
def test_a_deletion_of_any_entry_is_found(place: int) -> None:
    left = [*ENTRIES[:place], *ENTRIES[place + 1 :]]
    assert broken_at(left) == place + 1
    assert broken_at(relinked(left)) == place + 1


def test_a_swap_of_any_two_entries_is_found() -> None:
    for first, second in itertools.product(range(LENGTH), repeat=2):
        swapped = [*ENTRIES]
        swapped[first], swapped[second] = swapped[second], swapped[first]
        expected = None if first == second else min(first, second) + 1
        assert broken_at(swapped) == expected, (first, second)
        assert broken_at(relinked(swapped)) == expected, (first, second)


@pytest.mark.parametrize("source", ["repeated", "of another stream", "made up"])
def test_an_insertion_anywhere_is_found(source: str) -> None:
    strangers = {
        "repeated": ENTRIES[0],
        "of another stream": history(stream_id="ws-2")[0][0],
        "made up": ENTRIES[0]._replace(action="variable.delete", link=random.randbytes(32)),
    }
    for place in range(LENGTH + 1):
        longer = [*ENTRIES[:place], strangers[source], *ENTRIES[place:]]
        assert broken_at(longer) is not None, place
        assert broken_at(relinked(longer)) is not None, place


def test_all_entries_of_another_stream_do_not_pass_for_this_ones() -> None:
    entries, stream = history(stream_id="ws-2")
    renamed = [entry._replace(stream_id="ws-1") for entry in entries]
    assert broken_at(renamed, (stream.sequence, stream.link)) == 1


def branch(name: str, length: int = 3) -> tuple[list[AuditEntry], HeldStream]:
    """One of two authentic histories of one stream, which differ from the first entry on."""
    stream, entries = CHAIN.open("ws-1", "org-1"), []
    for number in range(1, length + 1):
        entry, stream = CHAIN.extend(stream, replace(event(number), request_id=f"{name}{number}"))
        entries.append(entry)
    return entries, stream


A, A_END = branch("A")
B, B_END = branch("B")
SHORT, SHORT_END = branch("A", 2)
OTHER = history(stream_id="ws-2")[0]
ALL = {**{f"A{n}": A[n - 1] for n in (1, 2, 3)}, **{f"B{n}": B[n - 1] for n in (1, 2, 3)}}
ALL |= {f"O{n}": OTHER[n - 1] for n in (1, 2, 3)}
WAYS = {
    "the first branch": ("A1 A2 A3", None),
    "the other branch": ("B1 B2 B3", None),
    "spliced and back": ("A1 B2 A3", 2),
    "spliced at the start": ("B1 A2 A3", 2),
    "spliced at the end": ("A1 A2 B3", 3),
    "spliced, two of the other": ("A1 B2 B3", 2),
    "reordered at the start": ("A2 A1 A3", 1),
    "reordered at the end": ("A1 A3 A2", 2),
    "turned around": ("A3 A2 A1", 1),
    "the first twice": ("A1 A1 A2 A3", 2),
    "one in the middle twice": ("A1 A2 A2 A3", 3),
    "the last twice": ("A1 A2 A3 A3", 4),
    "a number of both": ("A1 A2 B2 A3", 3),
    "a gap at the start": ("A2 A3", 1),
    "a gap": ("A1 A3", 2),
    "the last is missing": ("A1 A2", 3),
    "the last alone": ("A3", 1),
    "nothing": ("", 1),
    "one of another stream": ("A1 O2 A3", 2),
    "the end of another stream": ("A1 A2 O3", 3),
    "one of another stream after the end": ("A1 A2 A3 O3", 4),
}


@pytest.mark.parametrize("way", WAYS)
def test_authentic_entries_hold_in_the_one_order_in_which_they_were_written(way: str) -> None:
    names, expected = WAYS[way]
    entries = [ALL[name] for name in names.split()]
    end = B_END if way == "the other branch" else A_END
    assert broken_at(entries, (end.sequence, end.link)) == expected


@pytest.mark.parametrize("way", [way for way, (_, at) in WAYS.items() if at is not None])
def test_no_end_that_could_be_said_of_them_makes_them_hold(way: str) -> None:
    entries = [ALL[name] for name in WAYS[way][0].split()]
    ends = [*(one for n in (1, 2, 3) for one in ((n, ALL[f"A{n}"].link), (n, ALL[f"B{n}"].link)))]
    ends += [(len(entries), entry.link) for entry in entries] + [(0, GENESIS)]
    whole = {"the last is missing": (2, A[1].link), "nothing": (0, GENESIS)}  # the head tells
    for end in ends:
        assert (broken_at(entries, end) is None) == (whole.get(way) == end), end
    for end in whole.values():
        assert not CHAIN.head_holds(replace(A_END, sequence=end[0], link=end[1]))


def test_the_right_link_with_another_number_is_no_end() -> None:
    for number in (0, 2, 4):
        assert broken_at(A, (number, A[-1].link)) == 4


def test_a_splice_is_found_at_its_first_entry_with_the_head_of_either_branch() -> None:
    for end in (A_END, B_END):
        assert broken_at([A[0], B[1], A[2]], (end.sequence, end.link)) == 2
        assert broken_at([A[0], B[1], B[2]], (end.sequence, end.link)) == 2
    assert not CHAIN.head_holds(replace(A_END, head=B_END.head))
    assert not CHAIN.head_holds(replace(SHORT_END, head=A_END.head))


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
    way = Way(rotated, "ws-1")
    way.follow([*ENTRIES, entry])
    assert way.first_break((after.sequence, after.link), None) is None
    assert rotated.head_holds(after)
    assert rotated.head_holds(STREAM)


RELEASED = Keyring(KeySet("mk-1", {"mk-1": bytes(32)}), KeySet("ak-1", {"ak-1": bytes(range(32))}))
RELEASED_LINK = "464271388405539da9b4cd97533beed6ffaac643ab3f88bbe9f51926dbe691a2"


FIRST = "ws-1", 1, 1, "user", "user-1", "at-1", "req-1", "variable.1", "vars", "var-1"
SAID = '{"key":"k1","n":1}', "ak-1", GENESIS, 1, None, bytes.fromhex(RELEASED_LINK)
RELEASED_ENTRY = AuditEntry(*FIRST, *SAID)


def test_an_entry_that_0_1_0_has_written_still_holds() -> None:
    assert Chain(RELEASED).holds(RELEASED_ENTRY)
    assert not Chain(RELEASED).holds(RELEASED_ENTRY._replace(address="192.0.2.1"))


def test_a_stream_goes_on_in_the_new_version_after_entries_of_the_old_one() -> None:
    old = released_history()
    assert broken_at(old, (LENGTH, old[-1].link)) is None
    stream = replace(STREAM, link=old[-1].link)
    entry, after = CHAIN.extend(stream, event(LENGTH + 1))
    assert (entry.version, entry.address) == (2, f"192.0.2.{LENGTH + 1}")
    assert broken_at([*old, entry], (after.sequence, after.link)) is None


@pytest.mark.parametrize("address", [None, "", "192.0.2.1"])
@pytest.mark.parametrize("written", ["old", "new"])
def test_an_entry_passes_for_no_other_version_and_with_no_other_address(
    written: str, address: str | None
) -> None:
    entries = released_history() if written == "old" else ENTRIES
    end = (LENGTH, entries[-1].link)
    for (place, before), version in itertools.product(enumerate(entries), (0, 1, 2, 3)):
        altered = [*entries]
        altered[place] = before._replace(version=version, address=address)
        expected = None if altered[place] == before else place + 1
        assert broken_at(altered, end) == expected, (place, version)


TAKEN = Event(
    Actor("user", "user-1"), "req-1", "token.revoke", *("authentication-tokens", "at-1"), {}, 1
)


def altered(stream: HeldStream, **columns: Any) -> AlteredStream:
    checked = CHAIN.check(replace(stream, **columns))
    assert isinstance(checked, AlteredStream)
    return checked


def test_a_stream_that_was_not_touched_is_held_once_it_is_checked() -> None:
    assert CHAIN.check(Stream(*msgspec.structs.astuple(STREAM))) == STREAM


@pytest.mark.parametrize("name", ["id", "sequence", "link", "head"])
def test_an_altered_row_is_no_held_stream(name: str) -> None:
    altered(STREAM, **{name: other_value(getattr(STREAM, name))})


@pytest.mark.parametrize("name", ["sequence", "link", "head"])
@pytest.mark.parametrize("value", ["text", 1.5, None, b""], ids=repr)
def test_a_row_with_what_was_never_written_is_altered_and_no_error(name: str, value: Any) -> None:
    altered(STREAM, **{name: value})


@pytest.mark.parametrize(("row", "last"), [(3, 6), (6, 6), (9, 6), (0, None), (0, 6), (3, 3)])
def test_what_is_taken_away_stands_above_all_there_is_and_the_break_stays(
    row: int, last: int | None
) -> None:
    entry, after = CHAIN.carry(altered(STREAM, sequence=row, head=b"?"), last, TAKEN)
    assert entry.sequence == after.sequence == max(row, last or 0) + 1
    assert CHAIN.holds(entry)
    assert not CHAIN.head_holds(after)
    assert isinstance(CHAIN.check(after), AlteredStream)
    assert after.head not in (STREAM.head, b"?")


@pytest.mark.parametrize("link", ["text", 1.5, None], ids=repr)
def test_a_link_that_was_never_written_is_no_reason_to_leave_a_right(link: Any) -> None:
    entry, after = CHAIN.carry(altered(STREAM, link=link), LENGTH, TAKEN)
    assert entry.previous == GENESIS
    assert CHAIN.holds(entry)
    assert after.link == entry.link


def test_what_is_taken_away_twice_moves_the_head_twice_and_never_makes_it_hold() -> None:
    cut = altered(STREAM, sequence=3, link=ENTRIES[2].link)
    first, after = CHAIN.carry(cut, 3, TAKEN)
    second, last = CHAIN.carry(after, 4, TAKEN)
    assert len({cut.head, after.head, last.head}) == 3
    assert broken_at([*ENTRIES[:3], first, second], (5, second.link)) is None  # but for the head
    assert not CHAIN.head_holds(last)


def test_where_no_number_is_left_above_nobody_foresees_the_one_that_is_taken() -> None:
    full = altered(STREAM, sequence=2**63 - 1)
    numbers = {CHAIN.carry(full, 6, TAKEN)[0].sequence for _ in range(3)}
    assert len(numbers) == 3
    assert all(2**62 <= number < 2**63 - 1 for number in numbers)
    assert number_above(full, 6) is None


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("row", "last", "number"),
    [
        (None, None, 1),
        (None, 6, 7),
        (3, None, 4),
        (3, 6, 7),
        ("text", 6, 7),
        (LARGEST - 1, 6, LARGEST),
        (LARGEST, 6, None),
    ],
)
def test_the_next_number_is_above_the_row_and_all_entries_and_one_that_a_column_holds(
    row: Any, last: int | None, number: int | None
) -> None:
    stream = None if row is None else replace(STREAM, sequence=row)
    assert number_above(stream, last) == number
    unforeseen = {unforeseen_above(stream, last) for _ in range(3)}
    if number is None or number > LARGEST - 2**32:
        assert unforeseen == {None}
    else:
        assert len(unforeseen) == 3
        assert all(one is not None and number <= one < number + 2**32 for one in unforeseen)


def test_there_is_room_for_an_unforeseen_number_up_to_the_last_leap() -> None:
    assert unforeseen_above(None, LARGEST - 2**32 - 1) is not None
    assert unforeseen_above(None, LARGEST - 2**32) is None


def accepted_after(entries: list[AuditEntry], row: Stream) -> tuple[AuditEntry, HeldStream]:
    """An acceptance of these entries and that row, and the stream that goes on from it."""
    digest = found_digest(row_digest(row), entries)
    number = number_above(row, entries[-1].sequence if entries else None)
    assert number is not None
    made = Acceptance("ws-1", number, digest.hex(), row_digest(row).hex(), "why")
    what = Event(Actor.operator("root"), "req-1", ACCEPT, "streams", "ws-1", made.details(), 1)
    return CHAIN.accept(row, number, what, digest)


CUT = replace(STREAM, sequence=3, link=ENTRIES[2].link)
LEFT = [ENTRIES[0], *ENTRIES[2:]]


@pytest.mark.parametrize("left", [ENTRIES[:3], LEFT, [], ENTRIES], ids=["cut", "gap", "-", "all"])
def test_a_stream_goes_on_from_what_was_accepted(left: list[AuditEntry]) -> None:
    entry, accepted = accepted_after(left, CUT)
    following, after = CHAIN.extend(accepted, event(9))
    assert broken_at([*left, entry, following], (after.sequence, after.link)) is None
    assert CHAIN.head_holds(after)


@pytest.mark.parametrize("place", range(len(LEFT)))
@pytest.mark.parametrize("name", [*FIELDS, "deleted", "added", "swapped"])
def test_whatever_was_accepted_may_never_change_again(name: str, place: int) -> None:
    entry, _ = accepted_after(LEFT, CUT)
    found = [*LEFT]
    if name == "deleted":
        del found[place]
    elif name == "added":
        found.insert(place, ENTRIES[1])
    elif name == "swapped":
        found[place], found[place - 1] = found[place - 1], found[place]
    else:
        found[place] = found[place]._replace(**{name: other_value(getattr(found[place], name))})
    assert broken_at([*found, entry], (entry.sequence, entry.link)) == entry.sequence


@pytest.mark.parametrize("name", FIELDS)
def test_the_entry_of_an_acceptance_is_authentic_or_none(name: str) -> None:
    entry, accepted = accepted_after(LEFT, CUT)
    edited = entry._replace(**{name: other_value(getattr(entry, name))})
    assert broken_at([*LEFT, edited], (accepted.sequence, accepted.link)) is not None


def test_a_second_acceptance_covers_the_first() -> None:
    first, after = accepted_after(LEFT, CUT)
    entry, last = CHAIN.extend(after, event(9))
    cut = [*LEFT, first]
    second, end = accepted_after(cut, replace(last, head=b"?"))
    assert broken_at([*cut, second], (end.sequence, end.link)) is None
    assert broken_at([*LEFT, second], (end.sequence, end.link)) == second.sequence
    assert broken_at([*cut, entry, second], (end.sequence, end.link)) == second.sequence


def test_an_acceptance_of_another_stream_is_none_of_this_one() -> None:
    foreign, _ = accepted_after(LEFT, CUT)
    renamed = foreign._replace(stream_id="ws-1", subject_id="ws-1", sequence=3)
    assert broken_at([*ENTRIES[:2], renamed], (3, renamed.link)) == 3
    assert not CHAIN.accepts("ws-2", foreign)


def test_only_an_entry_of_an_acceptance_is_one() -> None:
    locked = replace(TAKEN, action="workspace.lock", subject_type="workspaces", subject_id="ws-1")
    entry, _ = CHAIN.extend(STREAM, locked)
    assert not CHAIN.accepts("ws-1", entry)


FOUND = Stream("ws-1", "org-1", 1, b"link", b"head", Usage(2, 3))
OF_FOUND = "42a80e45d3cdba61ae4d9bc8745a6b3c2077c0cfcd1d5ae0e5c1704c64dfada3"
OF_HALF = "aa964b45f387fc30f601b406bbe2dae88ccea9570989feee79fa95c4e3a388ef"
OF_ALL = "626050d9a7271fb6fb9837647d04ba34af896c2238822abddb4b3bc6c695ba81"


def test_what_was_accepted_once_has_the_same_digest_in_every_release() -> None:
    anything: Any = 1.5
    assert row_digest(FOUND).hex() == OF_FOUND
    assert row_digest(replace(FOUND, sequence=anything)).hex() == OF_HALF
    assert row_digest(None) == b""
    assert found_digest(row_digest(FOUND), [RELEASED_ENTRY]).hex() == OF_ALL


def test_the_version_of_a_list_does_not_show_the_head_and_is_the_same_on_every_node() -> None:
    version = CHAIN.version_of(STREAM)
    assert version == Chain(KEYS).version_of(STREAM)
    assert STREAM.head.hex() not in version
    assert version != CHAIN.version_of(replace(STREAM, head=bytes(32)))
    assert version != Chain(keyring.generate()).version_of(STREAM)


def test_nobody_but_the_chain_says_of_a_stream_that_it_was_checked() -> None:
    """Types prove that all else comes by `Chain.check`, as long as nothing else makes them."""
    made_in = set()
    for path in Path(teamvars.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("HeldStream", "AlteredStream"):
                made_in.add(path.name)
    assert made_in == {"chain.py"}


def test_a_closed_key_verifies_what_it_signed_before_and_nothing_else() -> None:
    at = ENTRIES[2].at
    added = keyring.new_key(AUDIT)
    both = KEYS.holding(AUDIT, added).using(AUDIT, added.active)
    closed = Chain(both.closing(AUDIT, KEYS.audit.active, at))
    assert [closed.holds(entry) for entry in ENTRIES[:4]] == [True, True, True, False]
    assert Chain(both).head_holds(STREAM)
    assert not closed.head_holds(STREAM)
    assert isinstance(closed.check(STREAM), AlteredStream)


def test_a_head_tells_which_key_signed_it() -> None:
    added = keyring.new_key(AUDIT)
    held = KEYS.holding(AUDIT, added)
    chain = Chain(held.using(AUDIT, added.active))
    _, later = history(chain, "ws-2")
    assert chain.signer(STREAM) == KEYS.audit.active
    assert chain.signer(later) == added.active
    assert CHAIN.signer(later) is None


def test_what_was_shown_under_a_former_key_is_still_the_version_while_the_head_holds() -> None:
    added = keyring.new_key(AUDIT)
    now = Chain(KEYS.holding(AUDIT, added).using(AUDIT, added.active))
    shown = CHAIN.version_of(STREAM)
    signed_anew = replace(STREAM, head=now.signed_by(added.active, STREAM))
    assert {shown, now.version_of(signed_anew)} <= now.versions_of(signed_anew)
    assert shown not in now.versions_of(replace(STREAM, head=b"head"))
