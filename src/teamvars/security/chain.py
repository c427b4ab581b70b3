"""The audit chain: each entry's link authenticates the entry and the link before it."""

import hmac
from collections.abc import Iterable

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from teamvars.domain.audit import AuditEntry, Break, Event, Stream
from teamvars.domain.workspaces import Usage
from teamvars.security.encoding import length_prefixed
from teamvars.security.keyring import Keyring

GENESIS = bytes(32)
"""The link before a stream's first entry."""

VERSION = 2
"""Of new entries. Those of version 1 have no address and do not authenticate their version."""

_FIELDS_OF_1 = AuditEntry._fields.index("version")
_FIELDS_OF_2 = AuditEntry._fields.index("link")

_DETAILS = msgspec.json.Encoder(order="deterministic")


class Chain:
    """Makes and checks links, HMAC-SHA-256 under the audit keys of the keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self._active = keyring.audit.active
        # Copied for each use: a keyed start takes half as long as a key.
        self._macs = {key_id: HMAC(key, SHA256()) for key_id, key in keyring.audit.keys.items()}

    def open(self, stream_id: str, organization_id: str) -> Stream:
        """A new stream of an organization, or of none, without a change."""
        head = self._head(self._active, stream_id, 0, GENESIS)
        return Stream(stream_id, organization_id, 0, GENESIS, head)

    def extend(
        self, stream: Stream, event: Event, usage: Usage | None = None
    ) -> tuple[AuditEntry, Stream]:
        """The entry that continues the stream with this event, and the stream after it."""
        entry = self._linked(stream, stream.sequence, stream.link, event)
        return entry, self._after(stream, entry, usage)

    def extend_all(
        self, stream: Stream, events: Iterable[Event], usage: Usage
    ) -> tuple[list[AuditEntry], Stream]:
        """As `extend`, with one event after another; nothing is appended where there is none."""
        entries: list[AuditEntry] = []
        sequence, link = stream.sequence, stream.link
        for event in events:
            entry = self._linked(stream, sequence, link, event)
            sequence, link = entry.sequence, entry.link
            entries.append(entry)
        return entries, self._after(stream, entries[-1], usage) if entries else stream

    def _linked(self, stream: Stream, sequence: int, link: bytes, event: Event) -> AuditEntry:
        """The entry of an event after the one with that number and link."""
        fields = (
            stream.id,
            sequence + 1,
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
        return AuditEntry(*fields, self._link(self._active, fields), stream.organization_id)

    def _after(self, stream: Stream, entry: AuditEntry, usage: Usage | None) -> Stream:
        """The stream once that entry is its last."""
        head = self._head(self._active, stream.id, entry.sequence, entry.link)
        organization_id, usage = stream.organization_id, usage or stream.usage
        return Stream(stream.id, organization_id, entry.sequence, entry.link, head, usage)

    def first_break(
        self, stream_id: str, entries: Iterable[AuditEntry], end: tuple[int, bytes]
    ) -> Break | None:
        """The first place where the entries, in order, do not lead to `end`; None: they do.

        `end` is the sequence number and link the stream must have, as its row or, once it is
        closed, its parent's record says.
        """
        sequence, link = 0, GENESIS
        for entry in entries:
            if entry.sequence != sequence + 1:
                return Break(stream_id, sequence + 1, "the entry is missing")
            if entry.previous != link or not self.holds(entry):
                return Break(stream_id, entry.sequence, "the entry was altered or replaced")
            sequence, link = entry.sequence, entry.link
        if (sequence, link) != end:
            return Break(stream_id, sequence + 1, "the stream does not end where its head says")
        return None

    def head_holds(self, stream: Stream) -> bool:
        """Whether the stream's row was written by a holder of an audit key."""
        return any(
            _is(self._head(key_id, stream.id, stream.sequence, stream.link), stream.head)
            for key_id in self._macs
        )

    def holds(self, entry: AuditEntry) -> bool:
        """Whether the entry was written by a holder of an audit key, and not altered since."""
        if entry.version == 1 and entry.address is not None:  # which nothing would authenticate
            return False
        fields: tuple[str | bytes | int | None, ...]
        fields = entry[: _FIELDS_OF_1 if entry.version == 1 else _FIELDS_OF_2]
        try:
            return entry.key_id in self._macs and _is(self._link(entry.key_id, fields), entry.link)
        except TypeError:  # SQLite lets a column hold what we never wrote, a fraction for instance
            return False

    def _link(self, key_id: str, fields: Iterable[str | bytes | int | None]) -> bytes:
        return self._mac(key_id, length_prefixed("audit entry", *fields))

    def _head(self, key_id: str, stream_id: str, sequence: int, link: bytes) -> bytes:
        return self._mac(key_id, length_prefixed("stream head", stream_id, sequence, link))

    def _mac(self, key_id: str, authenticated: bytes) -> bytes:
        mac = self._macs[key_id].copy()
        mac.update(authenticated)
        return mac.finalize()


def _is(authentic: bytes, found: object) -> bool:
    """Whether the stored bytes are these; in an altered row they need not even be bytes."""
    return isinstance(found, bytes) and hmac.compare_digest(authentic, found)
