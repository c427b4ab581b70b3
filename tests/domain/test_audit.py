"""Entries of the trail: what cannot be shown of one, and which acceptance it records."""

import json
from typing import Any

import pytest

from teamvars.domain.audit import ACCEPT, Acceptance, AuditEntry, Head

ACCEPTED = Acceptance("ws-1", 7, "digest", "row", "A restore.")
ROW: Any = (
    *("ws-1", 1, 1, "user", "user-1", "at-1", "req-1", ACCEPT, "streams", "ws-1"),
    *(json.dumps(ACCEPTED.details()), "ak-1", b"previous", 2, None, b"link"),
)
ENTRY = AuditEntry(*ROW)


def test_an_entry_as_it_was_written_can_be_shown() -> None:
    assert ENTRY.faulty() == []
    assert ENTRY._replace(token_id=None, address="192.0.2.1").faulty() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("sequence", "1"), ("at", 1.5), ("at", 2**62), ("actor_id", None), ("token_id", 7)),
        *(("details", "{"), ("details", "[]"), ("link", "text"), ("address", 7)),
    ],
)
def test_a_field_that_no_release_has_written_is_named(name: str, value: Any) -> None:
    assert ENTRY._replace(**{name: value}).faulty() == [name]


def test_an_acceptance_is_that_of_the_entries_which_say_all_of_it() -> None:
    assert ACCEPTED.is_of(ENTRY)
    assert Acceptance.read(ENTRY) == ACCEPTED
    assert not ACCEPTED.is_of(ENTRY._replace(action="audit.other"))
    assert not Acceptance("ws-1", 8, "digest", "row", "A restore.").is_of(ENTRY)
    assert not ACCEPTED.is_of(ENTRY._replace(details="{"))


def test_only_a_change_of_a_variable_tells_of_a_part_of_a_key() -> None:
    told = ENTRY._replace(subject_type="vars", details='{"key": "DB_PASSWORD"}')
    assert told.has_part("pass")
    assert not told.has_part("token")
    assert not told._replace(subject_type="master-keys").has_part("pass")


@pytest.mark.parametrize("stream_id", ["ws-1", "é\U0001f600", '"\\\n\x01'])
def test_a_head_is_kept_as_json_would_have_it(stream_id: str) -> None:
    said = {"stream": stream_id, "sequence": 7, "link": "00ff"}
    assert Head(stream_id, 7, b"\x00\xff").line == json.dumps(said, ensure_ascii=False)
