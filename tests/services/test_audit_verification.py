"""What authentic entries say of a stream, and whether what is there of it is that."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.audit import (
    ACCEPT,
    NO_ORGANIZATION,
    SYSTEM_STREAM,
    Acceptance,
    AuditEntry,
    Head,
    HeldStream,
    Stream,
)
from teamvars.security import keyring
from teamvars.security.chain import Chain, Way, row_digest
from teamvars.services import audit_verification
from teamvars.services.audit_verification import Remains
from teamvars.storage import streams
from teamvars.storage.engines import schemas
from teamvars.storage.engines.schemas import Schema
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


def remains_of(
    row: Stream | None, entries: Sequence[AuditEntry], stream_id: str = "ws-1"
) -> Remains:
    """What there is of a stream, an entry at a time."""

    async def pieces() -> AsyncGenerator[Sequence[AuditEntry]]:
        for entry in entries:
            yield [entry]

    return Remains(stream_id, row, pieces)


CUT_ROW, LEFT = replace(STREAM, sequence=1, link=ENTRIES[0].link), ENTRIES[:1]
CUT, GONE = remains_of(CUT_ROW, LEFT), remains_of(None, LEFT)


def accepted(found: Remains, number: int) -> tuple[Acceptance, AuditEntry]:
    """What an operator accepts of a stream, and the entry of the system's that says so."""
    digest, row = asyncio.run(found.digest()), row_digest(found.row).hex()
    made = Acceptance("ws-1", number, digest, row, "why")
    return made, said(SYSTEM, ACCEPT, **made.details())[0]


ACCEPTED, OF_CUT = accepted(CUT, 5)
ENDED, OF_GONE = accepted(GONE, 5)
ITS_OWN, AFTER = CHAIN.accept(
    CUT_ROW,
    5,
    replace(event(1), action=ACCEPT, subject_id="ws-1", details=ACCEPTED.details()),
    bytes.fromhex(ACCEPTED.digest),
)
CLOSED_THERE, _ = said(SYSTEM, closes=[end_of(AFTER)])
FORGED = CLOSES._replace(details=OPENS.details)


def whole(stream: Stream | None = STREAM, entries: Iterable[AuditEntry] = ENTRIES) -> Remains:
    return remains_of(stream, [*entries])


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
        ([OPENS, OF_CUT], whole(AFTER, [*LEFT, ITS_OWN]), None, ""),
        ([OF_CUT], whole(AFTER, [*LEFT, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT], whole(AFTER, [ITS_OWN]), 5, "has changed since"),
        ([OPENS, OF_CUT], whole(None, [*LEFT, ITS_OWN]), 1, "the stream is missing"),
        ([OPENS, CLOSES, OF_CUT], whole(AFTER, [*LEFT, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT, CLOSED_THERE], whole(None, [*LEFT, ITS_OWN]), None, ""),
        ([OPENS, OF_CUT, CLOSED_THERE], whole(None, LEFT), 5, "the entry is missing"),
        ([OPENS, OF_GONE], GONE, None, ""),
        ([OF_GONE], GONE, None, ""),
        ([OPENS, OF_GONE], whole(None), 5, "has changed since"),
        ([OPENS, OF_GONE], CUT, 5, "is there after its end"),
    ],
)
async def test_a_stream_holds_where_it_is_what_authentic_entries_say(
    heard: list[AuditEntry], remains: Remains, place: int | None, why: str
) -> None:
    testimony = audit_verification.Testimony(CHAIN)
    testimony.hear(heard)
    way = Way(CHAIN, "ws-1")
    async for entries in remains.pieces():
        testimony.hear(entries)
        way.follow(entries)
    found = await testimony.first_break(remains, way)
    if place is None:
        assert found is None
        return
    assert found is not None
    digest = await remains.digest()
    assert (found.stream_id, found.sequence, found.found) == ("ws-1", place, digest)
    assert why in found.reason


def test_a_stream_is_new_that_was_not_heard_of_before() -> None:
    testimony = audit_verification.Testimony(CHAIN)
    assert testimony.hear([OPENS]) == ["ws-1"]
    assert testimony.hear([OPENS, CLOSES, FORGED]) == []
    assert testimony.opened["ws-1"] == (STREAM.sequence, STREAM.link)


def test_an_acceptance_counts_where_the_systems_stream_records_it() -> None:
    testimony = audit_verification.Testimony(CHAIN)
    testimony.hear([*LEFT, ITS_OWN])
    assert testimony.acceptances == {("ws-1", 5): ACCEPTED}
    assert testimony.accepted == {}
    testimony.hear([OF_CUT])
    assert testimony.accepted == {"ws-1": ACCEPTED}


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ({"opens": ["ws-1"]}, {"ws-1": None}),
        ({"closes": [{"stream": "ws-1", "sequence": 3, "link": "00"}]}, {"ws-1": (3, b"\0")}),
        ({"closes": [{"stream": "ws-1", "sequence": 3}]}, {}),
        ({"closes": [{"stream": "ws-1", "sequence": 3, "link": "no"}]}, {}),
        ({"opens": [["ws-1"]]}, {}),
        ({"opens": 7}, {}),
        ({"opens": [7]}, {}),
        ({"opens": ["ws-1", "ws\u0000"]}, {}),
        ({}, {}),
    ],
)
def test_an_altered_entry_may_say_anything_and_tells_of_no_stream(
    details: dict[str, Any], told: object
) -> None:
    assert audit_verification.vouched(said(SYSTEM, **details)[0]) == told


@pytest.mark.parametrize("details", [b'{"opens": ["ws-1"]}', 7, None])
def test_an_altered_entry_whose_details_are_no_text_tells_of_no_stream(details: Any) -> None:
    assert audit_verification.vouched(OPENS._replace(details=details)) == {}
    testimony = audit_verification.Testimony(CHAIN)
    assert testimony.hear([OPENS._replace(details=details)]) == []


class Trails:
    """Streams and their entries, in no store of an older release; `asked` says of which the entries
    were.
    """

    def __init__(self, *held: tuple[HeldStream | None, list[AuditEntry]]) -> None:
        self.asked: list[list[str]] = []
        self._rows = [row for row, _ in held if row is not None]
        self._entries = [entry for _, entries in held for entry in entries]

    async def every(self, _: object) -> list[Stream]:
        return [*self._rows]

    async def schema(self, _: object) -> Schema:
        return {}

    async def sizes(self, _: object) -> dict[str, int]:
        return Counter(entry.stream_id for entry in self._entries)

    async def entries(self, _: object, ids: list[str]) -> list[AuditEntry]:
        self.asked.append(ids)
        return [entry for entry in self._entries if entry.stream_id in ids]

    async def pages(self, tx: object, id_: str) -> AsyncGenerator[list[AuditEntry]]:
        yield await self.entries(tx, [id_])

    async def entries_between(self, _: object, place: tuple[str, int, int]) -> list[AuditEntry]:
        id_, above, up_to = place
        its = (entry for entry in self._entries if entry.stream_id == id_)
        return [entry for entry in its if above < entry.sequence <= up_to]


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Any:
    async def verified(trails: Trails, *kept: Head) -> list[tuple[str, int, str]]:
        for name in ("every", "sizes", "entries", "pages", "entries_between"):
            monkeypatch.setattr(streams, name, getattr(trails, name))
        monkeypatch.setattr(schemas, "schema", trails.schema)
        nothing: Any = None
        _, breaks = await audit_verification.verify(nothing, CHAIN, kept, ())
        return [(one.stream_id, one.sequence, one.reason) for one in breaks]

    return verified


OF_ACME, ACME = said(CHAIN.open("org-1", "org-1"), opens=["ws-1"])
OPENS_ACME, ABOVE = said(CHAIN.open(SYSTEM_STREAM, NO_ORGANIZATION), opens=["org-1"])
WHOLE = (ABOVE, [OPENS_ACME]), (ACME, [OF_ACME]), (STREAM, ENTRIES)


async def test_entries_are_of_the_organization_that_their_stream_is_of(verified: Any) -> None:
    assert await verified(Trails(*WHOLE)) == []
    for organization, breaks in ((None, 1), ("org-1", 0), ("org-2", 1)):
        moved = [ENTRIES[0], ENTRIES[1]._replace(organization_id=organization), ENTRIES[2]]
        found = await verified(Trails(*WHOLE[:2], (STREAM, moved)))
        assert [(id_, number) for id_, number, _ in found] == [("ws-1", 2)][:breaks]
    other = OF_ACME._replace(organization_id="org-2")
    assert len(await verified(Trails(WHOLE[0], (ACME, [other]), WHOLE[2]))) == 1
    # Nobody knows whose it is.
    assert audit_verification._strayed(ENTRIES, None, has_older_nodes=False) is None
    stray = await verified(Trails(*WHOLE[:2], WHOLE[2], (CHAIN.open("ws-2", "org-1"), [])))
    assert [id_ for id_, *_ in stray] == ["ws-2"]


@pytest.mark.parametrize(
    ("head", "is_there"),
    [
        (Head("ws-1", 0, b""), True),
        (Head("ws-1", 2, ENTRIES[1].link), True),
        (Head("ws-1", 2, ENTRIES[0].link), False),
        (Head("ws-1", 4, ENTRIES[2].link), False),
        (Head("ws-2", 1, ENTRIES[0].link), False),
    ],
)
async def test_a_head_that_was_kept_is_on_the_way(
    verified: Any, head: Head, is_there: bool
) -> None:
    found = await verified(Trails(*WHOLE), head)
    assert [place[:2] for place in found] == ([] if is_there else [(head.stream_id, head.sequence)])


async def test_the_entries_of_short_streams_are_read_together(
    verified: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_verification, "_WALKED_AT_ONCE", 6)
    sizes = {"ws-1": 2, "ws-2": 3, "ws-3": 0, "ws-4": 9, "ws-5": 1}
    opens, above = said(CHAIN.open(SYSTEM_STREAM, NO_ORGANIZATION), opens=[*sizes])
    held = [history(CHAIN.open(id_, "org-1"), many) for id_, many in sizes.items()]
    trails = Trails((above, [opens]), *((row, entries) for entries, row in held))
    await verified(trails)
    assert trails.asked == [[SYSTEM_STREAM], ["ws-1", "ws-2"], ["ws-3"], ["ws-4"], ["ws-5"]]


async def test_an_entry_that_says_nothing_of_streams_is_authenticated_once(
    verified: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[AuditEntry] = []
    holds = Chain.holds

    def noted(chain: Chain, entry: AuditEntry) -> bool:
        asked.append(entry)
        return holds(chain, entry)

    monkeypatch.setattr(Chain, "holds", noted)
    assert await verified(Trails(*WHOLE)) == []
    assert [one for one in asked if one.stream_id == "ws-1"] == ENTRIES
