"""What a request demands of the present state before it changes anything (RFC 9110, 13.1)."""

import msgspec

from teamvars.domain.errors import Code, Fault, Refusal


class Versions(msgspec.Struct, frozen=True):
    """The versions an `If-Match` admits; `any_version` for `*` (RFC 9110, 13.1.1)."""

    version_ids: frozenset[str] = frozenset()
    any_version: bool = False

    def require(self, version_id: str) -> None:
        """Refuses when what is to be changed is at another version."""
        if not self.any_version and version_id not in self.version_ids:
            raise Refusal(
                Fault(
                    Code.PRECONDITION_FAILED,
                    "It has changed since that version. Read it again.",
                    header="If-Match",
                )
            )


ANY_VERSION = Versions(any_version=True)
