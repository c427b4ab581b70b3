"""Streams of changes, and the audit entries that make each one a chain."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from teamvars.domain.audit_actions import ACTIONS
from teamvars.domain.times import moment
from teamvars.domain.workspaces import Usage

SYSTEM_STREAM = "system"
NO_ORGANIZATION = ""
"""Whose the entries of the system's stream are."""


class Stream(msgspec.Struct, frozen=True):
    """The history of one subject: the system, an organization, a team or a workspace.

    `organization_id` is whose history it is; that of the system is `NO_ORGANIZATION`'s.
    `sequence` counts its changes and `link` is that of the last one. `head` authenticates both and
    stands nowhere else, so that cutting off the newest entries cannot be hidden. A workspace's
    stream also says what the workspace holds.
    """

    id: str
    organization_id: str
    sequence: int
    link: bytes
    head: bytes
    usage: Usage = msgspec.field(default_factory=Usage)


class HeldStream(Stream, frozen=True):
    """A locked stream whose head is authentic: it may go on, and end.

    `Chain` alone makes one, so whatever extends or ends a stream has had its head checked.
    """


class AlteredStream(Stream, frozen=True):
    """A locked stream whose row or entries somebody has altered behind the service's back.

    It takes no entry but of what only takes rights away, and such an entry carries the break: see
    `Chain.carry`. `Chain` alone makes one.
    """


CheckedStream = HeldStream | AlteredStream
"""A locked stream, once it is known whether it holds."""


class Actor(msgspec.Struct, frozen=True):
    """Who acts: a `user`, `team` or `organization` by its token, an `operator` on the host, or the
    `service` itself, by the name of what it does."""

    kind: str
    id: str
    token_id: str | None = None

    @classmethod
    def operator(cls, os_user: str) -> "Actor":
        """A person with access to the service's own host, known by the name of their account."""
        return cls("operator", os_user)

    @classmethod
    def service(cls, chore: str) -> "Actor":
        """The service, in what it does unasked."""
        return cls("service", chore)


class Event(msgspec.Struct, frozen=True):
    """What happened, before it has its place in a stream. `details` never hold a value or token.

    `address` is whence the request came; None for operators, and where addresses are left out.
    """

    actor: Actor
    request_id: str
    action: str
    subject_type: str
    subject_id: str
    details: Mapping[str, object]
    at: int
    address: str | None = None

    @property
    def only_takes_away(self) -> bool:
        """Whether it takes rights away and does nothing else, as its action says."""
        return ACTIONS[self.action].only_takes_away(self.details)


class AuditEntry(NamedTuple):
    """An event in its place: `link` authenticates every other field and the link before it.

    `details` is the JSON text that was authenticated, byte for byte; `at` is in µs UTC. `version`
    says how it was authenticated. Its fields are authenticated and stored in this order.

    `organization_id` comes after the link, since it follows from the stream: it is what an
    organization's entries are found by, and None while an older release alone has written it.
    """

    stream_id: str
    sequence: int
    at: int
    actor_kind: str
    actor_id: str
    token_id: str | None
    request_id: str
    action: str
    subject_type: str
    subject_id: str
    details: str
    key_id: str
    previous: bytes
    version: int
    address: str | None
    link: bytes
    organization_id: str | None = None

    @property
    def position(self) -> "Position":
        """Where it stands among all."""
        return Position(self.at, self.stream_id, self.sequence)

    def read_details(self) -> dict[str, Any] | None:
        """What `details` says; None once it is no JSON object, as which it was written."""
        try:
            return msgspec.json.decode(self.details, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError):
            return None

    def faulty(self) -> list[str]:
        """The names of the fields that cannot be shown, because the row was altered by hand.

        SQLite lets a column hold what is not of its type.
        """
        unfit = {
            name
            for name, found in self._asdict().items()
            if not isinstance(found, _STORED_AS.get(name, str))
        }
        if moment(self.at) is None:
            unfit.add("at")
        if self.read_details() is None:
            unfit.add("details")
        return sorted(unfit)


_STORED_AS: Mapping[str, type | tuple[type, ...]] = {
    "sequence": int,
    "at": int,
    "token_id": (str, type(None)),
    "previous": bytes,
    "version": int,
    "address": (str, type(None)),
    "link": bytes,
    "organization_id": (str, type(None)),
}


class Position(NamedTuple):
    """Where an entry stands among all."""

    at: int
    stream_id: str
    sequence: int


class AuditFilter(msgspec.Struct, frozen=True):
    """Which entries are wanted; None lets all through, and of several ids each.

    `within`: entries in the streams with these ids or about what has them, for each of the sets.
    `key`: entries that say it of a variable. From `since` on, and before `until`, in µs UTC.
    `before` is where an earlier page ended, and `down_to` the last position that is looked at.
    """

    organization_id: str | None = None
    stream_id: str | None = None
    action: str | None = None
    request_id: str | None = None
    actor_kind: str | None = None
    actor_ids: Collection[str] | None = None
    subject_ids: Collection[str] | None = None
    within: Sequence[Collection[str]] = ()
    key: str | None = None
    since: int | None = None
    until: int | None = None
    before: Position | None = None
    down_to: Position | None = None


class AuditQuery(msgspec.Struct, frozen=True):
    """Which entries somebody asks for, by names or ids, as people say them.

    `actor` is a username, the name of an organization, ORG/TEAM, an id, or `operator:ACCOUNT`;
    `subject` any name, the key of a variable, or an id. `workspace` and `team` are ORG/NAME.
    """

    stream: str | None = None
    actor: str | None = None
    action: str | None = None
    request: str | None = None
    subject: str | None = None
    workspace: str | None = None
    team: str | None = None
    organization: str | None = None
    since: int | None = None
    until: int | None = None
    before: Position | None = None


class OrganizationAuditQuery(msgspec.Struct, frozen=True):
    """Which entries of an organization its owners ask for.

    `actor` is a name or an id, `workspace` the name of one that there is or was; `size` is how many
    are wanted at once.
    """

    actor: str | None = None
    key: str | None = None
    workspace: str | None = None
    since: int | None = None
    size: int = 20


class Head(msgspec.Struct, frozen=True):
    """Where a stream stood once, as kept elsewhere: the link of the entry with that number."""

    stream_id: str
    sequence: int
    link: bytes


class Break(msgspec.Struct, frozen=True):
    """The first place where a stream does not hold, and why.

    `found` is the digest of all that is there of the stream, by which an operator accepts it; None
    where that would mend nothing.
    """

    stream_id: str
    sequence: int
    reason: str
    found: str | None = None
