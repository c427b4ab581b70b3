"""What a request demands of the present state before it changes anything (RFC 9110, 13.1)."""

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.errors import CHANGED_OR_GONE, EXISTS_NOW, OTHER_VERSION, Fault, Refusal


class Versions(msgspec.Struct, frozen=True):
    """The versions an `If-Match` admits; `any_version` for `*` (RFC 9110, 13.1.1)."""

    version_ids: frozenset[str] = frozenset()
    any_version: bool = False

    def require(self, version_id: str) -> None:
        """Refuses when what is to be changed is at another version."""
        if not self.any_version and version_id not in self.version_ids:
            raise Refusal(OTHER_VERSION)


ANY_VERSION = Versions(any_version=True)

Expected = str | None | UnsetType
"""The version a variable must be at. None: it must not exist. UNSET: nothing is expected."""


def is_met(expected: Expected, version_id: str | None) -> bool:
    """Whether what is there is as expected; `version_id` is None where nothing is."""
    return expected is UNSET or expected == version_id


def stale(expected: Expected, at: str) -> Fault:
    """What is there is not at the version that the request expects at that pointer."""
    return (EXISTS_NOW if expected is None else CHANGED_OR_GONE).at(at)
