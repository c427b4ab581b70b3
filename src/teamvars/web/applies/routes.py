"""The routes that change many variables at once: decode, call, encode."""

from contextlib import AbstractAsyncContextManager, nullcontext

from teamvars.fair_slots import Turns
from teamvars.services.applies import Applies
from teamvars.services.copies import Copies
from teamvars.services.planning import Applied
from teamvars.web.applies import copies, documents, requests
from teamvars.web.applies.documents import ResultsDocument
from teamvars.web.dialects import Dialect
from teamvars.web.http.negotiation import IF_MATCH
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.variables.documents import entity_tag
from teamvars.web.variables.requests import wanted_versions

_SHORT_BYTES = 64 * 1024
"""A body of so many bytes takes a worker some 30 ms, and waits for no turn."""
_ACTIONS = "/api/v2/workspaces/{workspace_id}/actions"


class ApplyRoutes:
    """`actions/apply` and `actions/copy` of a workspace."""

    def __init__(self, applies: Applies, copies: Copies, dialect: Dialect) -> None:
        self._applies = applies
        self._copies = copies
        self._turns = Turns()
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "POST",
                f"{_ACTIONS}/apply",
                self.apply,
                {200: ResultsDocument},
                takes=requests.body(self._dialect),
                keyed=True,
                admit=self.admit,
                turn=self.turn_unless_short,
                precondition=IF_MATCH,
                has_entity_tag=True,
                may_forbid=True,
                name="applyVariables",
            ),
            Route(
                "POST",
                f"{_ACTIONS}/copy",
                self.copy,
                {200: ResultsDocument},
                takes=copies.body(self._dialect),
                admit=self.admit,
                turn=self.turn,
                keyed=True,
                has_entity_tag=True,
                may_forbid=True,
                name="copyVariables",
            ),
        ]

    async def admit(self, request: Request) -> None:
        """Refuses callers who may not change the variables of the workspace."""
        await self._applies.admit(request.require_caller(), request.parameters["workspace_id"])

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """A turn, in place of a slot: a short request may copy as much as there is."""
        request.leave_slot()
        return self._turns.turn(request.require_caller())

    def turn_unless_short(self, request: Request) -> AbstractAsyncContextManager[None]:
        """A turn, unless the body is short."""
        return nullcontext() if request.body_bytes <= _SHORT_BYTES else self.turn(request)

    async def apply(self, request: Request) -> Response:
        """Make the variables of a workspace what the request says, all or none."""
        caller, workspace_id = request.require_caller(), request.parameters["workspace_id"]
        draft = await requests.draft(request.document, workspace_id, self._dialect)
        # A short one that prunes may delete as much as there is.
        has_turn = not draft.prune or request.body_bytes > _SHORT_BYTES
        async with nullcontext() if has_turn else self.turn(request):
            work = self._applies.apply(caller, workspace_id, draft, wanted_versions(request))
            return await request.changed(work, self._applied)

    async def copy(self, request: Request) -> Response:
        """Copy variables from another workspace of the organization, all or none."""
        caller, workspace_id = request.require_caller(), request.parameters["workspace_id"]
        draft = await copies.draft(request.document, self._dialect)
        work = self._copies.copy(caller, workspace_id, draft)
        return await request.changed(work, self._applied)

    def _applied(self, applied: Applied) -> Response:
        """What became of each variable, with the entity tag of the list as it is now."""
        tag = entity_tag(applied.version, applied.workspace, self._dialect)
        document = documents.results(applied, self._dialect)
        return Response.document(200, document, {"ETag": tag})
