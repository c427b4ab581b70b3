"""The audit chain: each entry's link authenticates the entry and the link before it."""

import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from teamvars.domain.audit import (
    ACCEPT,
    AlteredStream,
    AuditEntry,
    Break,
    CheckedStream,
    Event,
    HeldStream,
    Stream,
)
from teamvars.domain.workspaces import Usage
from teamvars.security import length_prefixed
from teamvars.security.keyring import Keyring

GENESIS = bytes(32)
"""The link before a stream's first entry."""

VERSION = 2
"""Of new entries. Those of version 1 have no address and do not authenticate their version."""

_FIELDS_OF_1 = AuditEntry._fields.index("version")
_FIELDS_OF_2 = AuditEntry._fields.index("link")

_DETAILS = msgspec.json.Encoder(order="deterministic")

_MOST = 2**63 - 1
"""The largest number that a column holds."""
_LEAP = 2**32


class Chain:
    """Makes and checks links, HMAC-SHA-256 under the audit keys of the keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self._active = keyring.audit.active
        self._closed = keyring.audit.closed
        self._signers = tuple(keyring.audit.usable)
        # Copied for each use: a keyed start takes half as long as a key.
        self._macs = {key_id: HMAC(key, SHA256()) for key_id, key in keyring.audit.keys.items()}

    def open(self, stream_id: str, organization_id: str) -> HeldStream:
        """A new stream of an organization, or of none, without a change."""
        head = self._mac(self._active, "stream head", stream_id, 0, GENESIS)
        return HeldStream(stream_id, organization_id, 0, GENESIS, head)

    def check(self, stream: Stream) -> CheckedStream:
        """The stream of a row that is locked, once its head was checked."""
        place = stream.sequence, stream.link, stream.head
        if self.signer(stream) is not None:
            return HeldStream(stream.id, stream.organization_id, *place, stream.usage)
        return AlteredStream(stream.id, stream.organization_id, *place, stream.usage)

    def extend(
        self, stream: HeldStream, event: Event, usage: Usage | None = None
    ) -> tuple[AuditEntry, HeldStream]:
        """The entry that continues the stream with this event, and the stream after it."""
        entry = self._linked(stream, stream.sequence + 1, stream.link, event)
        return entry, self._after(stream, entry, usage)

    def extend_all(
        self, stream: HeldStream, events: Iterable[Event], usage: Usage | None
    ) -> tuple[list[AuditEntry], HeldStream]:
        """As `extend`, with one event after another; nothing is appended where there is none."""
        entries: list[AuditEntry] = []
        sequence, link = stream.sequence, stream.link
        for event in events:
            entry = self._linked(stream, sequence + 1, link, event)
            sequence, link = entry.sequence, entry.link
            entries.append(entry)
        return entries, self._after(stream, entries[-1], usage) if entries else stream

    def carry(
        self, stream: CheckedStream, last: int | None, event: Event, usage: Usage | None = None
    ) -> tuple[AuditEntry, AlteredStream]:
        """An entry of an event that only takes rights away, in a stream that does not hold.

        `last` is the largest number of the entries that are there: the entry stands above all of
        them. The break stays: the new head is none, and none that was there before, so that nothing
        kept under an earlier head passes for what the stream is now. Where somebody has left no
        number above, it has one that nobody could foresee and so take.
        """
        link: object = stream.link  # in an altered row it need not even be bytes
        previous = link if isinstance(link, bytes) else GENESIS
        number = number_above(stream, last) or 2**62 + secrets.randbelow(2**62 - 1)
        entry = self._linked(stream, number, previous, event)
        place = entry.sequence, entry.link, secrets.token_bytes(len(GENESIS))
        after = AlteredStream(stream.id, stream.organization_id, *place, usage or stream.usage)
        return entry, after

    def accept(
        self, stream: Stream, number: int, event: Event, found: bytes
    ) -> tuple[AuditEntry, HeldStream]:
        """The entry with that number, above all there are, by which an operator accepts what was
        found of a stream, and from which it goes on.

        In the place of the link before it is the digest of what was found: see `Way`.
        """
        entry = self._linked(stream, number, found, event)
        return entry, self._after(stream, entry, None)

    def _linked(self, stream: Stream, number: int, link: bytes, event: Event) -> AuditEntry:
        """The entry of an event with that number, after the one with that link."""
        fields = (
            stream.id,
            number,
            event.at,
            event.actor.kind,
            event.actor.id,
            event.actor.token_id,
            event.request_id,
            event.action,
            event.subject_type,
            event.subject_id,
            _DETAILS.encode(event.details).decode(),
            self._active,
            link,
            VERSION,
            event.address,
        )
        link = self._mac(self._active, "audit entry", *fields)
        return AuditEntry(*fields, link, stream.organization_id)

    def _after(self, stream: Stream, entry: AuditEntry, usage: Usage | None) -> HeldStream:
        """The stream once that entry is its last."""
        head = self._mac(self._active, "stream head", stream.id, entry.sequence, entry.link)
        place = entry.sequence, entry.link, head
        return HeldStream(stream.id, stream.organization_id, *place, usage or stream.usage)

    def attests(self, entry: AuditEntry) -> bool:
        """Whether something may be decided by the entry: it holds, and all of it can be read."""
        return not entry.faulty() and self.holds(entry)

    def accepts(self, stream_id: str, entry: AuditEntry) -> bool:
        """Whether that is an authentic entry by which an operator has accepted the stream."""
        is_its = entry.action == ACCEPT and entry.stream_id == entry.subject_id == stream_id
        return is_its and self.holds(entry)

    def version_of(self, stream: Stream) -> str:
        """What callers are shown in place of the head, as the version of what the stream is about.

        The head itself would let whoever has seen it put the stream back to where it was then.
        """
        return self._version(self._active, stream.id, stream.head)

    def versions_of(self, stream: Stream) -> frozenset[str]:
        """All that callers may have been shown of it where it is now: under each key that is not
        closed, of the head that there is or as one of these keys would have signed it.
        """
        heads = {stream.head}
        if self.head_holds(stream):
            heads |= {self.signed_by(key_id, stream) for key_id in self._signers}
        return frozenset(
            self._version(key_id, stream.id, head) for key_id in self._signers for head in heads
        )

    def signed_by(self, key_id: str, stream: Stream) -> bytes:
        """The head of the stream where it is now, under that key."""
        return self._mac(key_id, "stream head", stream.id, stream.sequence, stream.link)

    def _version(self, key_id: str, stream_id: str, head: bytes) -> str:
        return self._mac(key_id, length_prefixed("version of a list", stream_id, head)).hex()

    def head_holds(self, stream: Stream) -> bool:
        """Whether the stream's row was written by a holder of an audit key that is not closed."""
        return self.signer(stream) is not None

    def signer(self, stream: Stream, *, closed: bool = False) -> str | None:
        """The id of the key under which the stream's row was written; None: of none that counts, or
        of none that is closed.
        """
        try:
            for key_id in self._closed if closed else self._signers:
                if hmac.compare_digest(self.signed_by(key_id, stream), stream.head):
                    return key_id
        except TypeError:  # as in `holds`
            pass
        return None

    def holds(self, entry: AuditEntry) -> bool:
        """Whether the entry was written by a holder of an audit key, while that was not closed, and
        not altered since.
        """
        if entry.version == 1 and entry.address is not None:  # which nothing would authenticate
            return False
        fields: tuple[str | bytes | int | None, ...]
        fields = entry[: _FIELDS_OF_1 if entry.version == 1 else _FIELDS_OF_2]
        try:
            if entry.key_id not in self._macs or entry.at > self._closed.get(
                entry.key_id, entry.at
            ):
                return False
            link = self._mac(entry.key_id, "audit entry", *fields)
            return hmac.compare_digest(link, entry.link)
        except TypeError:  # SQLite lets a column hold what we never wrote, a fraction for instance
            return False

    def _mac(self, key_id: str, *fields: str | bytes | int | None) -> bytes:
        """What authenticates these fields, of which the first says what they are."""
        mac = self._macs[key_id].copy()
        mac.update(length_prefixed(*fields))
        return mac.finalize()


class Way:
    """How far the entries of a stream lead, which are followed in order and not kept.

    What an operator has `accepted` last, with all before it, is compared with the digest of what
    there was then. `last` is the entry that was followed last.
    """

    def __init__(self, chain: Chain, stream_id: str) -> None:
        self.accepted: AuditEntry | None = None
        self.last: AuditEntry | None = None
        self._chain = chain
        self._stream_id = stream_id
        self._place = 0, GENESIS
        self._break: Break | None = None

    def follow(self, entries: Iterable[AuditEntry]) -> None:
        """Goes on with the entries that come next."""
        for entry in entries:
            self.last = entry
            if self._chain.accepts(self._stream_id, entry):
                self.accepted, self._break = entry, None
            elif self._break is None:
                self._break = self._fault(entry)
            if self._break is None:
                self._place = entry.sequence, entry.link

    def _fault(self, entry: AuditEntry) -> Break | None:
        """A break where it is not what comes next."""
        sequence, link = self._place
        if entry.sequence != sequence + 1:
            return Break(self._stream_id, sequence + 1, "the entry is missing")
        if entry.previous != link or not self._chain.holds(entry):
            return Break(self._stream_id, entry.sequence, "the entry was altered or replaced")
        return None

    def first_break(self, end: tuple[int, bytes], before: bytes | None) -> Break | None:
        """The first place where the entries do not lead to `end`; None: they do.

        `end` is the sequence number and link the stream must have, as its row or, once it is
        closed, its parent's record says. `before` is the digest of what there is before the entry
        that is `accepted`, with its `row_accepted`.
        """
        if self.accepted is not None and before != self.accepted.previous:
            return Break(
                self._stream_id, self.accepted.sequence, "what was accepted here has changed since"
            )
        if self._break is None and self._place != end:
            return Break(
                self._stream_id, self._place[0] + 1, "the stream does not end where its head says"
            )
        return self._break


def row_digest(stream: Stream | None) -> bytes:
    """Stands for the row of a stream; empty where there is none."""
    if stream is None:
        return b""
    usage = stream.usage
    row = stream.id, stream.sequence, stream.link, stream.head, usage.variables, usage.value_bytes
    return hashlib.sha256(length_prefixed("stream row", *map(_plain, row))).digest()


async def digest_of(
    row: bytes, pieces: AsyncGenerator[Sequence[AuditEntry]], end: AuditEntry | None = None
) -> bytes:
    """Stands for all that is there of a stream: its row, as `row_digest` has it, and its entries,
    or those before an `end`.

    Whose an entry is follows from its stream, and may be filled in later: that is not in it.
    """
    digest = hashlib.sha256(length_prefixed("stream found", row))
    async with aclosing(pieces):
        async for entries in pieces:
            for entry in entries:
                if entry == end:
                    return digest.digest()
                digest.update(length_prefixed(*map(_plain, entry[: _FIELDS_OF_2 + 1])))
    return digest.digest()


def row_accepted(entry: AuditEntry) -> bytes:
    """The `row_digest` of the row that an acceptance has found."""
    return bytes.fromhex((entry.read_details() or {}).get("row", ""))


def _plain(found: object) -> str | bytes | int | None:
    """The value of a column, which need not be of its type in an altered row."""
    return found if isinstance(found, str | bytes | int | None) else repr(found)


def number_above(row: Stream | None, last: int | None) -> int | None:
    """The number after that of a stream's row and the last of its entries; None: there is none."""
    known: tuple[object, ...] = last, None if row is None else row.sequence
    number = max((one for one in known if isinstance(one, int)), default=0) + 1
    return number if number <= _MOST else None


def unforeseen_above(row: Stream | None, last: int | None) -> int | None:
    """A number above them at a distance that nobody can foresee; None: there is no room for it."""
    number = number_above(row, last)
    return None if number is None or number > _MOST - _LEAP else number + secrets.randbelow(_LEAP)
