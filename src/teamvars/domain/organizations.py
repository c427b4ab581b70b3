"""Organizations: what owns workspaces, teams and memberships."""

import msgspec

from teamvars.domain.errors import Fault
from teamvars.domain.names import email_faults, name_faults


class Organization(msgspec.Struct, frozen=True):
    """An organization. On the wire its id is its name. Times in µs UTC."""

    id: str
    name: str
    email: str | None
    created_at: int


class OrganizationDraft(msgspec.Struct, frozen=True):
    """What a request says of a new organization; None where it says nothing usable."""

    name: str | None = None
    email: str | None = None
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [*self.faults, *name_faults(self.name), *email_faults(self.email)]
