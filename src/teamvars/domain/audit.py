"""Streams of changes, and the audit entries that make each one a chain."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from teamvars.domain.workspaces import Usage

SYSTEM_STREAM = "system"


@dataclass(frozen=True, slots=True)
class Stream:
    """The history of one subject: the system, an organization, a team or a workspace.

    `sequence` counts its changes and `link` is that of the last one. `head` authenticates both and
    stands nowhere else, so that cutting off the newest entries cannot be hidden. A workspace's
    stream also says what the workspace holds.
    """

    id: str
    sequence: int
    link: bytes
    head: bytes
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a `user`, `team` or `organization` by its token, or an `operator` on the host."""

    kind: str
    id: str
    token_id: str | None = None

    @classmethod
    def operator(cls, os_user: str) -> "Actor":
        """A person with access to the service's own host, known by the name of their account."""
        return cls("operator", os_user)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, before it has its place in a stream. `details` never hold a value or token."""

    actor: Actor
    request_id: str
    action: str
    subject_type: str
    subject_id: str
    details: Mapping[str, object]
    at: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An event in its place: `link` authenticates every other field and the link before it.

    `details` is the JSON text that was authenticated, byte for byte; `at` is in µs UTC.
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
    link: bytes


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where a stream does not hold, and why."""

    stream_id: str
    sequence: int
    reason: str
