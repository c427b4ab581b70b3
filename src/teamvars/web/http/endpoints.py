"""Endpoints, and the order of checks that every one of them keeps (contract §2)."""

from collections.abc import Sequence
from functools import partial

from teamvars.domain.errors import Code, Fault, Kind, Refusal, busy
from teamvars.services.sessions import Sessions
from teamvars.web.http.admission import Admission
from teamvars.web.http.budgets import LARGE_BODY_BYTES, STRANGER_BODY_BYTES
from teamvars.web.http.json_body import Parser
from teamvars.web.http.json_items import parse_items
from teamvars.web.http.negotiation import require_acceptable, require_document_type
from teamvars.web.http.parameters import require_read
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import RequestBody, Route

_TOLD_AT_ONCE = {Kind.UNAUTHENTICATED, Kind.UNAVAILABLE, Kind.TOO_MANY}
"""Who is told this need not be looked up first."""


class Endpoint:
    """All operations on one path."""

    def __init__(
        self, routes: Sequence[Route], sessions: Sessions, admission: Admission, parser: Parser
    ) -> None:
        self._routes = {route.method: route for route in routes}
        self._sessions = sessions
        self._admission = admission
        self._parser = parser
        known = {*self._routes, "OPTIONS", *(["HEAD"] if "GET" in self._routes else [])}
        self.allow = ", ".join(sorted(known))

    async def respond(self, request: Request) -> Response:
        """Checks what concerns HTTP and JSON:API, in the contract's order; calls the handler."""
        method = "GET" if request.method == "HEAD" else request.method
        route = self._routes.get(method)
        if route is None and method != "OPTIONS":
            detail = f"This path knows {self.allow}."
            raise Refusal(Fault(Code.METHOD_NOT_ALLOWED, detail))
        if route is not None and route.public:
            return await self._respond_to_anybody(request, route)
        caller = request.require_caller()
        try:
            is_costly = method != "GET" or request.has_body
            await self._admission.admit(request, caller, is_costly=is_costly)
            require_acceptable(request.header("accept"))
            if route is None:
                await self._admission.authenticate(request, caller)
                return Response(204, headers={"Allow": self.allow})
            if route.keyed:
                request.expect_repeats()
            return await self._respond(request, route)
        except Refusal as refusal:
            if caller.actor is None and refusal.kind not in _TOLD_AT_ONCE:
                # 401 precedes the error, though a token is only looked up once there is one.
                await self._admission.authenticate(request, caller)
            raise

    async def _respond_to_anybody(self, request: Request, route: Route) -> Response:
        """Responds without a token; of a document a stranger has no more room than for a short one.

        What is under way of all strangers' bodies is bounded. Refuses: busy.
        """
        takes = route.takes
        if takes is None:
            return await route.handler(request)
        require_acceptable(request.header("accept"))
        if route.keyed:
            request.expect_repeats()
        require_document_type(request.header("content-type"))
        request.max_body_bytes = STRANGER_BODY_BYTES
        if request.has_body and not request.has_room_unauthenticated(STRANGER_BODY_BYTES):
            raise busy()
        body = await request.read_body()
        with self._sessions.in_request():
            await self._admission.enter(request)
            await self._parse(request, takes, body)
            return await route.handler(request)

    async def _respond(self, request: Request, route: Route) -> Response:
        body = b""
        if request.has_body or route.takes is not None:
            body = await self._receive(request, route)
        if route.turn is None:
            return await self._handle(request, route, body)
        async with route.turn(request):
            return await self._handle(request, route, body)

    async def _handle(self, request: Request, route: Route, body: bytes) -> Response:
        with self._sessions.in_request():  # the wait for a slot counts towards its time
            await self._admission.enter(request)  # and leaves when the response is sent
            if route.takes is not None:
                await self._parse(request, route.takes, body)
            require_read(request, route.reads)
            return await route.handler(request)

    async def _parse(self, request: Request, takes: RequestBody, body: bytes) -> None:
        if body:  # HTTP/2 need not announce it
            require_document_type(request.header("content-type"))
        if takes.max_items is not None:
            request.document = await parse_items(body, takes.max_items)
        elif body or not takes.optional:
            request.document = await self._parser.parse(body)

    async def _receive(self, request: Request, route: Route) -> bytes:
        """The body; where the route takes none, it is read only to apply the size limit."""
        takes = route.takes
        if takes is not None and takes.max_items is not None:
            request.max_body_bytes = LARGE_BODY_BYTES
        if route.admit is not None:
            await self._admission.work(request, partial(route.admit, request))
        if request.has_body:
            await self._admit_body(request, route)
        return await request.read_body()

    async def _admit_body(self, request: Request, route: Route) -> None:
        """Whatever can be said of a body, and of its sender, before it is read."""
        if route.takes is not None:
            require_document_type(request.header("content-type"))
        has_room = request.has_room_unauthenticated()
        if not has_room:
            if route.admit is None:
                await self._admission.authenticate(request, request.require_caller())
            request.require_room()
