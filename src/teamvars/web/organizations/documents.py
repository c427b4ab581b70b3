"""The documents of organizations: what the service takes and what it answers with."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.pages import Paged
from teamvars.services.organizations import OrganizationView
from teamvars.web.examples import NEW_NAME
from teamvars.web.http import paging
from teamvars.web.http.formats import Email, Time, timestamp
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier, SelfLink
from teamvars.web.http.routes import RequestBody

NAME = Meta(pattern="^[A-Za-z0-9_-]{1,90}$", description="Letters, digits, '-' and '_'.")


class NewOrganizationAttributes(msgspec.Struct, kw_only=True):
    """What a create says about an organization; attributes that are not here are ignored."""

    name: Annotated[str, NAME]
    email: Email | UnsetType = UNSET


class NewOrganizationResource(msgspec.Struct):
    """An organization to create."""

    type: Literal["organizations"]
    attributes: NewOrganizationAttributes


class NewOrganizationDocument(msgspec.Struct):
    """Creates an organization."""

    data: NewOrganizationResource


class OrganizationChanges(msgspec.Struct, kw_only=True):
    """What an update says about an organization; what is left out stays."""

    name: Annotated[str, NAME] | UnsetType = UNSET
    email: str | UnsetType = UNSET


class ChangedOrganizationResource(msgspec.Struct):
    """An organization to update; an `id`, when there is one, is its name so far."""

    type: Literal["organizations"]
    id: str | UnsetType = UNSET
    attributes: OrganizationChanges | UnsetType = UNSET


class ChangedOrganizationDocument(msgspec.Struct):
    """Updates an organization."""

    data: ChangedOrganizationResource


class OrganizationPermissions(msgspec.Struct, rename="kebab"):
    """What the caller may do, as clients ask before they offer it."""

    can_update: bool
    can_destroy: bool
    can_access_via_teams: bool
    can_create_team: bool
    can_create_workspace: bool
    can_manage_users: bool
    can_update_api_token: bool


class OrganizationAttributes(msgspec.Struct, rename="kebab"):
    """An organization's attributes."""

    name: str
    external_id: str
    email: Email | None
    created_at: Time
    default_execution_mode: str
    permissions: OrganizationPermissions


class OrganizationResource(msgspec.Struct):
    """An organization; its id is its name."""

    id: str
    type: str
    attributes: OrganizationAttributes
    links: SelfLink


class OrganizationDocument(msgspec.Struct):
    """One organization."""

    data: OrganizationResource


class OrganizationListDocument(msgspec.Struct):
    """One page of the organizations a caller is in."""

    data: list[OrganizationResource]
    links: paging.PageLinks
    meta: paging.PageMeta


class Entitlements(msgspec.Struct, rename="kebab"):
    """What an organization can be used for; without `operations` terraform runs on its own."""

    operations: bool = True
    state_storage: bool = True
    teams: bool = True
    agents: bool = False
    audit_logging: bool = True
    cost_estimation: bool = False
    policy_enforcement: bool = False
    private_module_registry: bool = False
    run_tasks: bool = False
    self_serve_billing: bool = False
    sentinel: bool = False
    sso: bool = False
    vcs_integrations: bool = False


class EntitlementSetResource(msgspec.Struct):
    """The entitlements of one organization."""

    id: str
    type: str
    attributes: Entitlements
    links: SelfLink


class EntitlementSetDocument(msgspec.Struct):
    """The entitlements of one organization."""

    data: EntitlementSetResource


class OrganizationLinkage(msgspec.Struct):
    """The organization that something belongs to; its id on the wire is its name."""

    data: Identifier


NEW = RequestBody(
    NewOrganizationDocument,
    {
        "data": {
            "type": "organizations",
            "attributes": {"name": NEW_NAME, "email": "admin@example.com"},
        }
    },
)
CHANGED = RequestBody(
    ChangedOrganizationDocument,
    {"data": {"type": "organizations", "attributes": {"email": "admin@example.com"}}},
)


def new_draft(document: object) -> OrganizationDraft:
    """What a create asks for, with every fault of the document."""
    read = Reader(document)
    _, attributes = read.new_resource("organizations")
    return _draft(read, attributes, id_=None, required=True)


def changed_draft(document: object) -> OrganizationDraft:
    """What an update asks for; clients may leave out both `id` and `attributes`."""
    read = Reader(document)
    id_, attributes = read.changed_resource("organizations")
    return _draft(read, attributes, id_=id_, required=False)


def path(view: OrganizationView) -> str:
    """`links.self` of an organization."""
    return f"/api/v2/organizations/{view.organization.name}"


def organization(view: OrganizationView) -> OrganizationDocument:
    """The document of one organization."""
    return OrganizationDocument(resource(view))


def organization_list(
    found: Paged[OrganizationView], links: paging.PageLinks, meta: paging.PageMeta
) -> OrganizationListDocument:
    """The document of one page."""
    return OrganizationListDocument([resource(one) for one in found.items], links, meta)


def entitlement_set(view: OrganizationView) -> EntitlementSetDocument:
    """The document of an organization's entitlements, which are the same for all."""
    links = SelfLink(f"{path(view)}/entitlement-set")
    id_, type_ = view.organization.id, "entitlement-sets"
    return EntitlementSetDocument(EntitlementSetResource(id_, type_, Entitlements(), links))


def resource(view: OrganizationView) -> OrganizationResource:
    """The resource object of an organization."""
    shown, is_owner = view.organization, view.is_owner
    return OrganizationResource(
        id=shown.name,
        type="organizations",
        attributes=OrganizationAttributes(
            name=shown.name,
            external_id=shown.id,
            email=shown.email,
            created_at=timestamp(shown.created_at, shown.id),
            default_execution_mode="remote",
            permissions=OrganizationPermissions(
                can_update=is_owner,
                can_destroy=is_owner,
                can_access_via_teams=True,
                can_create_team=is_owner,
                can_create_workspace=is_owner,
                can_manage_users=is_owner,
                can_update_api_token=is_owner,
            ),
        ),
        links=SelfLink(path(view)),
    )


def _draft(
    read: Reader, attributes: dict[str, object] | None, *, id_: str | None, required: bool
) -> OrganizationDraft:
    at = "/data/attributes"
    name = read.member(attributes, "name", str, at, required=required)
    email = read.member(attributes, "email", str, at, required=False)
    return OrganizationDraft(id_, name, email, read.faults)
