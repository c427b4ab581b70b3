"""Organizations as HCP Terraform's clients know them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.decisions.organizations import OrganizationView
from teamvars.domain.access import Caller
from teamvars.domain.client_settings import NO_AGENTS, Value
from teamvars.domain.names import NAME
from teamvars.domain.organizations import SETTINGS, OrganizationDraft, OrganizationSearch
from teamvars.domain.projects import default_project_of
from teamvars.domain.teams import BOTH_MANAGE, Right
from teamvars.services.organizations import Organizations
from teamvars.web.client_settings import setting_attribute
from teamvars.web.dialects import Dialect
from teamvars.web.examples import NEW_NAME
from teamvars.web.http.parameters import FLAG, Parameter, requested_flag, text_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    Time,
    fixed,
    flags,
    linkage,
    related,
    self_link,
    timestamp,
    to_one,
)
from teamvars.web.http.resources import Operations, Relations, Resource
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response

GIVEN_NAME = Annotated[
    str, Meta(pattern=f"^{NAME.pattern}$", description="Letters, digits, '-' and '_'.")
]
_ALL, _ONE = "/api/v2/organizations", "/api/v2/organizations/{organization}"
_SEARCHES = (
    Parameter("q", "A part of the name or of the e-mail address."),
    Parameter("q[name]", "A part of the name."),
    Parameter("q[email]", "A part of the e-mail address."),
)
_FORCE = Parameter("force", "Delete it although its workspaces still have variables.", FLAG)

_ADDRESS = Meta(description="An e-mail address, or empty: none.")
_SSO_REQUIRED = Meta(
    description=(
        "Whether members have rights in it only where they have signed in with a provider, or with "
        "a token that was made so. Owners who have signed in say so themselves."
    )
)

T = TypeVar("T")


OrganizationLinkage: Any = linkage(
    "OrganizationLinkage",
    "The organization that something belongs to; its id on the wire is its name.",
)


def owner(name_of: Callable[[T], str]) -> Attribute[T]:
    """The relationship to the organization of that name."""
    return related("organization", OrganizationLinkage, "organizations", name_of)


class _NoAgentPool(msgspec.Struct):
    """No agent pool: there are none here."""

    data: None


class _GivenOrganizationRelationships(
    msgspec.Struct, rename={"default_agent_pool": "default-agent-pool"}, omit_defaults=True
):
    """What a request may say of what an organization is related to."""

    default_agent_pool: _NoAgentPool | UnsetType = UNSET


def _related(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    """Nothing: there is no agent pool that an organization could have."""
    read.refuse_related(relationships, "default-agent-pool", NO_AGENTS)
    return {}


def _value(one: OrganizationView, name: str) -> Value:
    return SETTINGS.value(one.organization.settings, name)


_PERMISSIONS = Group[OrganizationView](
    "OrganizationPermissions",
    "What the caller may do; clients ask before they offer it.",
    *flags(lambda one: one.is_owner, "can-update", "can-destroy"),
    Attribute("can-access-via-teams", bool, lambda _: True),
    Attribute("can-create-team", bool, lambda one: Right.MANAGE_TEAMS in one.rights),
    Attribute("can-create-project", bool, lambda one: Right.MANAGE_PROJECTS in one.rights),
    Attribute("can-create-workspace", bool, lambda one: Right.MANAGE_WORKSPACES in one.rights),
    *flags(lambda one: one.is_owner, "can-manage-users", "can-update-api-token"),
    Attribute("can-manage-varsets", bool, lambda one: one.rights >= BOTH_MANAGE),
    Attribute("can-traverse", bool, lambda _: True),
)
_RELATIONSHIPS = Group[OrganizationView](
    "OrganizationRelationships",
    "What belongs to an organization.",
    to_one(
        "default-project",
        "DefaultProject",
        "The project that workspaces are in unless they are put elsewhere.",
        "projects",
        lambda one: default_project_of(one.organization.id),
    ),
)
ORGANIZATION: Resource[OrganizationView] = Resource(
    type="organizations",
    name="Organization",
    noun="an organization",
    tag="Organizations",
    id=lambda one: one.organization.name,
    draft=OrganizationDraft,
    tagged=True,
    attributes=(
        Attribute("name", str, lambda one: one.organization.name, given=GIVEN_NAME, new=REQUIRED),
        Attribute("external-id", str, lambda one: one.organization.id),
        Attribute(
            "email",
            str,
            lambda one: one.organization.email or "",
            given=Annotated[str, _ADDRESS],
        ),
        Attribute(
            "created-at",
            Time,
            lambda one: timestamp(one.organization.created_at, one.organization.id),
        ),
        Attribute("permissions", _PERMISSIONS),
        *(setting_attribute(one, _value) for one in SETTINGS.by_name.values()),
        Attribute(
            "sso-required",
            bool,
            lambda one: one.organization.sso_required,
            given=Annotated[bool, _SSO_REQUIRED],
        ),
        *fixed(
            {
                "is-unified": False,
                "remaining-testable-count": 0,
                "saml-enabled": False,
                "two-factor-conformant": False,
            }
        ),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    linked=True,
    relations=Relations(_GivenOrganizationRelationships, _related, required=False, changeable=True),
    texts={
        "OrganizationResource": "An organization; its id is its name.",
        "OrganizationListDocument": "One page of the organizations a caller is in.",
        "OrganizationAttributes": (
            "An organization's attributes.\n\n"
            "Those that say how runs are handled and how people sign in are kept and shown, and do "
            "nothing. What has a default is the same for all organizations."
        ),
        "ChangedOrganizationResource": (
            "An organization to update; an `id`, when there is one, is its name so far."
        ),
    },
)
_EMAIL = {"email": "admin@example.com"}
_NEW = ORGANIZATION.new_body(attributes={"name": NEW_NAME, **_EMAIL})
_CHANGED = ORGANIZATION.changed_body(attributes=_EMAIL)

_ENTITLEMENTS = Group[OrganizationView](
    "Entitlements",
    "What an organization can be used for; without `operations` terraform runs on its own.",
    *fixed(
        {
            "operations": True,
            "state-storage": True,
            "teams": True,
            "agents": False,
            "audit-logging": True,
            "cost-estimation": False,
            "policy-enforcement": False,
            "private-module-registry": False,
            "run-tasks": False,
            "self-serve-billing": False,
            "sentinel": False,
            "sso": False,
            "vcs-integrations": False,
        }
    ),
)
_ENTITLEMENT_SET = Group[OrganizationView](
    "EntitlementSetDocument",
    "The entitlements of one organization.",
    Attribute(
        "data",
        Group(
            "EntitlementSetResource",
            "The entitlements of one organization.",
            Attribute("id", str, lambda one: one.organization.id),
            Attribute("type", str, lambda _: "entitlement-sets"),
            Attribute("attributes", _ENTITLEMENTS.type, _ENTITLEMENTS.of),
            self_link(lambda one: f"{ORGANIZATION.path_of(one)}/entitlement-set"),
        ),
    ),
)


def routes(organizations: Organizations, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    do = Operations(ORGANIZATION)

    def searches(request: Request) -> tuple[OrganizationSearch]:
        texts = [text_of(request, parameter) or "" for parameter in _SEARCHES]
        return (OrganizationSearch(*texts),)

    def forced(request: Request) -> tuple[str, bool]:
        force = requested_flag(request, _FORCE) or dialect.deletes_with_variables
        return request.parameters["organization"], force

    async def delete(caller: Caller, name: str, force: bool) -> None:
        await organizations.delete(caller, name, force=force)

    puts = [
        do.updates(
            _ONE,
            "Update an organization, as PATCH does.",
            organizations.update,
            _CHANGED,
            method="PUT",
            name="putOrganization",
        )
    ]
    return [
        do.lists(
            _ALL,
            "List the organizations the caller is in, by name.",
            organizations.list,
            asks=searches,
            reads=_SEARCHES,
        ),
        do.creates(
            _ALL,
            "Create an organization; its creator, a site admin, becomes an owner of it.",
            organizations.create,
            _NEW,
        ),
        do.reads(_ONE, "Read an organization.", organizations.read),
        do.updates(
            _ONE,
            "Update an organization: its name, e-mail address or settings.",
            organizations.update,
            _CHANGED,
        ),
        *(puts if dialect.puts else []),
        do.deletes(
            _ONE,
            "Delete an organization with everything in it.",
            delete,
            asks=forced,
            reads=(_FORCE,),
            refuses=(409,),
        ),
        do.reads(
            f"{_ONE}/entitlement-set",
            "Say what an organization can be used for.",
            organizations.read,
            renders=lambda found: Response.document(200, _ENTITLEMENT_SET.of(found)),
            responses={200: _ENTITLEMENT_SET.type},
            name="readEntitlements",
        ),
    ]
