"""Organizations: what owns workspaces, teams and memberships."""

import msgspec
from msgspec.structs import replace

from teamvars.domain.client_settings import Values
from teamvars.domain.errors import Code, Fault
from teamvars.domain.names import email_faults, fold, name_faults
from teamvars.domain.organization_settings import SETTINGS


class Organization(msgspec.Struct, frozen=True):
    """An organization. On the wire its id is its name. Times in µs UTC.

    `settings` are those of `SETTINGS` that are no defaults, by name. `sso_required`: members have
    rights in it only with what they have signed in for, as `storage.access_statements` says.
    """

    id: str
    name: str
    email: str | None
    created_at: int
    settings: Values = {}
    sso_required: bool = False


class Founded(msgspec.Struct, frozen=True):
    """A new organization, and the generation of the data key that it begins with."""

    organization: Organization
    generation: int


class OrganizationSearch(msgspec.Struct, frozen=True):
    """Which organizations are wanted: by a part of the name or of the e-mail address, by one of the
    name, and by one of the address. Capitals do not count.
    """

    part: str = ""
    name: str = ""
    email: str = ""


class OrganizationDraft(msgspec.Struct, frozen=True):
    """What a request says of an organization; None where it says nothing usable.

    `id` is that of the document, when it has one. `settings` are those of `SETTINGS` that it names.
    """

    id: str | None = None
    name: str | None = None
    email: str | None = None
    settings: Values = {}
    sso_required: bool | None = None
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *name_faults(self.name),
            *email_faults(self.email),
            *SETTINGS.faults(self.settings),
        ]

    def conflicts(self, organization: Organization) -> list[Fault]:
        """A fault when the document is about another organization than the path."""
        if self.id is None or fold(self.id) == fold(organization.name):
            return []
        detail = "This is not the name of the organization in the path, which is its id."
        return [Fault(Code.ID_CONFLICT, detail, pointer="/data/id")]

    def applied_to(self, organization: Organization) -> Organization:
        """The organization as a draft without faults makes it."""
        return replace(
            organization,
            name=organization.name if self.name is None else self.name,
            email=organization.email if self.email is None else self.email,
            settings=SETTINGS.changed(organization.settings, self.settings),
            sso_required=(
                organization.sso_required if self.sso_required is None else self.sso_required
            ),
        )
