"""What authentic entries say of a stream, and whether what is there of it is that."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import (
    ACCEPT,
    NO_ORGANIZATION,
    SYSTEM_STREAM,
    Acceptance,
    AuditEntry,
    HeldStream,
    Stream,
)
from teamvars.security import keyring
from teamvars.security.chain import Chain, row_digest
from teamvars.services import audit_verification
from teamvars.services.audit_verification import Remains
from tests.security.samples import event

CHAIN = Chain(keyring.generate())
OPENED = CHAIN.open("ws-1", "org-1")


def said(stream: HeldStream, action: str = "", /, **details: Any) -> tuple[AuditEntry, HeldStream]:
    """An entry with these details, and its stream after it."""
    one = event(1)
    return CHAIN.extend(stream, replace(one, action=action or one.action, details=details))


def history(stream: HeldStream = OPENED, many: int = 3) -> tuple[list[AuditEntry], HeldStream]:
    """So many entries, and their stream after them."""
    return CHAIN.extend_all(stream, [event(number) for number in range(many)], None)


def end_of(stream: Stream) -> dict[str, Any]:
    """What is told of a stream that has ended there."""
    return {"stream": "ws-1", "sequence": stream.sequence, "link": stream.link.hex()}


ENTRIES, STREAM = history()
SYSTEM = CHAIN.open(SYSTEM_STREAM, NO_ORGANIZATION)
OPENS, SYSTEM = said(SYSTEM, opens=["ws-1"])
CLOSES, _ = said(SYSTEM, closes=[end_of(STREAM)])
CUT = Remains("ws-1", replace(STREAM, sequence=1, link=ENTRIES[0].link), ENTRIES[:1])
GONE = Remains("ws-1", None, ENTRIES[:1])


def accepted(found: Remains, number: int) -> tuple[Acceptance, AuditEntry]:
    """What an operator accepts of a stream, and the entry of the system's that says so."""
    row = row_digest(found.row).hex()
    made = Acceptance("ws-1", number, found.digest, row, "why")
    return made, said(SYSTEM, ACCEPT, **made.details())[0]


ACCEPTED, OF_CUT = accepted(CUT, 5)
ENDED, OF_GONE = accepted(GONE, 5)
assert CUT.row is not None
ITS_OWN, AFTER = CHAIN.accept(
    CUT.row,
    5,
    replace(event(1), action=ACCEPT, subject_id="ws-1", details=ACCEPTED.details()),
    bytes.fromhex(CUT.digest),
)
CLOSED_THERE, _ = said(SYSTEM, closes=[end_of(AFTER)])
FORGED = CLOSES._replace(details=OPENS.details)


def whole(stream: Stream | None = STREAM, entries: Iterable[AuditEntry] = ENTRIES) -> Remains:
    return Remains("ws-1", stream, [*entries])


@pytest.mark.parametrize(
    ("heard", "remains", "place", "why"),
    [
        ([OPENS], whole(), None, ""),
        ([OPENS], whole(OPENED, []), None, ""),
        ([], whole(), 1, "no entry records the beginning"),
        ([FORGED], whole(), 1, "no entry records the beginning"),
        ([OPENS], whole(None, []), 1, "the stream is missing"),
        ([OPENS], whole(None), 1, "the stream is missing"),
        ([OPENS], whole(entries=ENTRIES[:1]), 2, "does not end where"),
        ([OPENS], whole(replace(STREAM, head=b"?")), 4, "head was altered"),
        ([OPENS], whole(replace(STREAM, head=b"?"), ENTRIES[1:]), 1, "missing"),
        ([OPENS, CLOSES], whole(None), None, ""),
        ([OPENS, CLOSES], whole(), 4, "is there after its end"),
        ([OPENS, CLOSES], whole(None, ENTRIES[:2]), 3, "does not end where"),
        ([OPENS], CUT, 2, "head was altered"),
        ([OPENS, OF_CUT], CUT, 5, "the entry is missing with which an operator"),
        ([OPENS, OF_CUT], whole(AFTER, [*CUT.entries, ITS_OWN]), None, ""),
        ([OF_CUT], whole(AFTER, [*CUT.entries, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT], whole(AFTER, [ITS_OWN]), 5, "has changed since"),
        ([OPENS, OF_CUT], whole(None, [*CUT.entries, ITS_OWN]), 1, "the stream is missing"),
        ([OPENS, CLOSES, OF_CUT], whole(AFTER, [*CUT.entries, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT, CLOSED_THERE], whole(None, [*CUT.entries, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT, CLOSED_THERE], whole(None, CUT.entries), 5, "the entry is missing"),
        ([OPENS, OF_GONE], GONE, None, ""),
        ([OF_GONE], GONE, None, ""),
        ([OPENS, OF_GONE], whole(None), 5, "has changed since"),
        ([OPENS, OF_GONE], CUT, 5, "is there after its end"),
    ],
)
def test_a_stream_holds_where_it_is_what_authentic_entries_say(
    heard: list[AuditEntry], remains: Remains, place: int | None, why: str
) -> None:
    testimony = audit_verification.Testimony(CHAIN)
    testimony.hear([*heard, *remains.entries])
    found = testimony.first_break(remains)
    if place is None:
        assert found is None
        return
    assert found is not None
    assert (found.stream_id, found.sequence, found.found) == ("ws-1", place, remains.digest)
    assert why in found.reason


def test_a_stream_is_new_that_was_not_heard_of_before() -> None:
    testimony = audit_verification.Testimony(CHAIN)
    assert testimony.hear([OPENS]) == ["ws-1"]
    assert testimony.hear([OPENS, CLOSES, FORGED]) == []
    assert testimony.opened["ws-1"] == (STREAM.sequence, STREAM.link)


def test_an_acceptance_counts_where_the_systems_stream_records_it() -> None:
    testimony = audit_verification.Testimony(CHAIN)
    testimony.hear([*CUT.entries, ITS_OWN])
    assert testimony.acceptances == {("ws-1", 5): ACCEPTED}
    assert testimony.accepted == {}
    testimony.hear([OF_CUT])
    assert testimony.accepted == {"ws-1": ACCEPTED}
