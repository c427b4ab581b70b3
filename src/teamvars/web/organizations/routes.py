"""The routes of organizations: decode, call, encode."""

from teamvars.services.organizations import Organizations, OrganizationView
from teamvars.web.dialects import Dialect
from teamvars.web.http import paging
from teamvars.web.http.parameters import FLAG, Parameter, requested_flag, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.organizations import documents
from teamvars.web.organizations.documents import (
    EntitlementSetDocument,
    OrganizationDocument,
    OrganizationListDocument,
)

_ALL = "/api/v2/organizations"
_ONE = "/api/v2/organizations/{organization}"
_ENTITLEMENTS = "/api/v2/organizations/{organization}/entitlement-set"
_SEARCH = Parameter("q", "A part of the name.")
_SEARCH_NAME = Parameter("q[name]", "A part of the name.")
_FORCE = Parameter("force", "Delete it although its workspaces still have variables.", FLAG)


class OrganizationRoutes:
    """Organizations as HCP Terraform's clients know them."""

    def __init__(self, organizations: Organizations, dialect: Dialect) -> None:
        self._organizations = organizations
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """One row an operation."""
        one, page = {200: OrganizationDocument}, {200: OrganizationListDocument}
        reads = (*paging.PARAMETERS, _SEARCH, _SEARCH_NAME)
        return [
            Route("GET", _ALL, self.list, page, reads=reads, name="listOrganizations"),
            Route(
                "POST",
                _ALL,
                self.create,
                {201: OrganizationDocument},
                takes=documents.NEW,
                keyed=True,
                may_forbid=True,
                name="createOrganization",
            ),
            Route("GET", _ONE, self.read, one, name="readOrganization"),
            Route(
                "PATCH",
                _ONE,
                self.update,
                one,
                takes=documents.CHANGED,
                keyed=True,
                may_forbid=True,
                name="updateOrganization",
            ),
            Route(
                "DELETE",
                _ONE,
                self.delete,
                {204: None},
                reads=(_FORCE,),
                may_forbid=True,
                refuses=(409,),
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

    async def list(self, request: Request) -> Response:
        """List the organizations the caller is in, by name."""
        searches = [text_of(request, parameter) or "" for parameter in (_SEARCH, _SEARCH_NAME)]
        page = paging.requested_page(request)
        found = await self._organizations.list(request.require_caller(), searches, page)
        links, meta = paging.links_and_meta(request, page, found.total)
        document = documents.organization_list(found, links, meta)
        return Response.document(200, document)

    async def create(self, request: Request) -> Response:
        """Create an organization; its creator, a site admin, becomes an owner of it."""
        draft = documents.new_draft(request.document)
        work = self._organizations.create(request.require_caller(), draft)
        return await request.changed(work, _made)

    async def read(self, request: Request) -> Response:
        """Read an organization."""
        caller, name = request.require_caller(), request.path("organization")
        return _shown(await self._organizations.read(caller, name))

    async def update(self, request: Request) -> Response:
        """Update an organization: its name or e-mail address."""
        draft = documents.changed_draft(request.document)
        caller, name = request.require_caller(), request.path("organization")
        return await request.changed(self._organizations.update(caller, name, draft), _shown)

    async def delete(self, request: Request) -> Response:
        """Delete an organization with all that is its own."""
        force = requested_flag(request, _FORCE) or self._dialect.deletes_with_variables
        caller, name = request.require_caller(), request.path("organization")
        await self._organizations.delete(caller, name, force=force)
        return Response(204)

    async def entitlements(self, request: Request) -> Response:
        """Say what an organization can be used for."""
        caller, name = request.require_caller(), request.path("organization")
        document = documents.entitlement_set(await self._organizations.read(caller, name))
        return Response.document(200, document)


def _made(made: OrganizationView) -> Response:
    headers = {"Location": documents.path(made)}
    return Response.document(201, documents.organization(made), headers)


def _shown(found: OrganizationView) -> Response:
    return Response.document(200, documents.organization(found))
