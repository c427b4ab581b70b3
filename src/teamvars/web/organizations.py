"""The routes of organizations: decode, call, encode."""

import msgspec

from teamvars.services.organizations import Organizations
from teamvars.web import organization_documents as documents
from teamvars.web import paging
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.negotiation import MEDIA_TYPE
from teamvars.web.organization_documents import (
    EntitlementSetDocument,
    NewOrganizationDocument,
    OrganizationDocument,
    OrganizationListDocument,
)
from teamvars.web.resources import Route

_ALL = "/api/v2/organizations"
_ONE = "/api/v2/organizations/{organization}"
_ENTITLEMENTS = "/api/v2/organizations/{organization}/entitlement-set"
_JSON_API = {"Content-Type": MEDIA_TYPE}


class OrganizationRoutes:
    """Organizations as HCP Terraform's clients know them."""

    def __init__(self, organizations: Organizations) -> None:
        self._organizations = organizations

    def routes(self) -> list[Route]:
        """One row an operation."""
        page = {200: OrganizationListDocument}
        return [
            Route(
                "GET",
                _ALL,
                self.list,
                page,
                reads=paging.PARAMETERS,
                name="listOrganizations",
            ),
            Route(
                "POST",
                _ALL,
                self.create,
                {201: OrganizationDocument},
                takes=NewOrganizationDocument,
                may_forbid=True,
                name="createOrganization",
            ),
            Route("GET", _ONE, self.read, {200: OrganizationDocument}, name="readOrganization"),
            Route(
                "DELETE",
                _ONE,
                self.delete,
                {204: None},
                may_forbid=True,
                name="deleteOrganization",
            ),
            Route(
                "GET",
                _ENTITLEMENTS,
                self.entitlements,
                {200: EntitlementSetDocument},
                name="readEntitlements",
            ),
        ]

    async def list(self, exchange: Exchange) -> Answer:
        """List the organizations the caller is in, by name."""
        page = paging.requested_page(exchange)
        found = await self._organizations.list(exchange.require_caller(), page)
        links = paging.links(exchange, page, found.total)
        document = documents.organization_list(found, links, paging.meta(page, found.total))
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def create(self, exchange: Exchange) -> Answer:
        """Create an organization; its creator, a site admin, becomes an owner of it."""
        draft = documents.draft(exchange.document)
        made = await self._organizations.create(exchange.require_caller(), draft)
        headers = {**_JSON_API, "Location": documents.path(made)}
        return Answer(201, msgspec.json.encode(documents.organization(made)), headers)

    async def read(self, exchange: Exchange) -> Answer:
        """Read an organization."""
        caller, name = exchange.require_caller(), exchange.path("organization")
        document = documents.organization(await self._organizations.read(caller, name))
        return Answer(200, msgspec.json.encode(document), _JSON_API)

    async def delete(self, exchange: Exchange) -> Answer:
        """Delete an organization with all that is its own."""
        await self._organizations.delete(exchange.require_caller(), exchange.path("organization"))
        return Answer(204)

    async def entitlements(self, exchange: Exchange) -> Answer:
        """Say what an organization can be used for."""
        caller, name = exchange.require_caller(), exchange.path("organization")
        document = documents.entitlement_set(await self._organizations.read(caller, name))
        return Answer(200, msgspec.json.encode(document), _JSON_API)
