"""Keys as the store knows them, by id and without their secret, and who has which."""

from collections.abc import Callable

import msgspec

from teamvars.kernel import Discreet

MASTER = "master"
"""Wraps the data keys of organizations; kept answers and cursors are under keys made of it."""
AUDIT = "audit"
"""Signs entries and heads of the trail, approvals of runners, tokens of jobs, versions of lists."""
SERVER = "server"
"""Signs what jobs are handed."""
DATA = "data"
"""Seals values; each generation is a key of each organization."""


class KeyRefused(Exception):
    """A key is not changed as was asked; the text says what stands in the way."""


class NotedKey(Discreet, frozen=True):
    """A key of the keyring that the store knows, with what proves that a keyring has the same.

    Until it is activated nothing is under it, so a keyring may be without it. One that was retired
    is none that a keyring may use.
    """

    id: str
    purpose: str
    check_value: bytes
    created_at: int
    activated_at: int | None = None
    retired_at: int | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it was added, and neither activated nor retired."""
        return self.activated_at is None and self.retired_at is None


class NotedServerKey(NotedKey, frozen=True):
    """One of which no row of the store is under any."""


def noted_key(id_: str, purpose: str, check_value: bytes, *times: int | None) -> NotedKey:
    """A key of that purpose; the times are those of `NotedKey`, in their order."""
    kind: Callable[..., NotedKey] = NotedServerKey if purpose == SERVER else NotedKey
    return kind(id_, purpose, check_value, *times)


class Node(msgspec.Struct, frozen=True):
    """A process that serves, and the ids of the keys that it has, and that it signs and seals with.

    `name` is for people: its host and process.
    """

    id: str
    name: str
    held: frozenset[str]
    active: frozenset[str]
