"""Endpoints by their paths, and the order of checks that every one keeps (contract §2).

Routing is by path in a tree of segments: the time does not grow with the number of routes.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial

from teamvars.domain.errors import Code, Fault, Kind, Refusal
from teamvars.domain.idempotency import HEADER
from teamvars.services.tokens import Sessions
from teamvars.web.http.admission import Admission
from teamvars.web.http.idempotency import key_of
from teamvars.web.http.json_body import SHORT_BYTES, Parser, parse, parse_items
from teamvars.web.http.negotiation import (
    ACCEPTED,
    CODING,
    MEDIA_TYPE,
    require_acceptable,
    require_document_type,
)
from teamvars.web.http.parameters import parse_form, read_query, require_form_type
from teamvars.web.http.request import LARGE_BODY_BYTES, UNAUTHENTICATED_BODY_BYTES, Request
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response

_TOLD_AT_ONCE = {Kind.UNAUTHENTICATED, Kind.UNAVAILABLE, Kind.TOO_MANY}
"""These refusals need no look-up of the token first."""


_NO_REPEAT = "Nothing is kept of this answer, so that no key can have it again."


class Endpoint:
    """All operations on one path."""

    def __init__(
        self, routes: Sequence[Route], sessions: Sessions, admission: Admission, parser: Parser
    ) -> None:
        self._routes = {route.method: route for route in routes}
        self._sessions = sessions
        self._admission = admission
        self._parser = parser
        self.errors = next((route.errors for route in routes if route.errors is not None), None)
        known = {*self._routes, "OPTIONS", *(["HEAD"] if "GET" in self._routes else [])}
        self.allow = ", ".join(sorted(known))

    async def respond(self, request: Request) -> Response:
        """Checks what concerns HTTP and JSON:API, in the contract's order; calls the handler."""
        method = "GET" if request.method == "HEAD" else request.method
        route = self._routes.get(method)
        if route is None and method != "OPTIONS":
            raise Refusal(Fault(Code.METHOD_NOT_ALLOWED, f"This path supports {self.allow}."))
        if route is not None and route.public:
            return await self._respond_to_anybody(request, route)
        if route is not None and route.for_jobs:
            return await self._respond_to_job(request, route)
        caller = request.require_caller()
        try:
            has_turn = route is not None and route.turn is not None
            is_costly = has_turn or method != "GET" or request.has_body
            await self._admission.admit(request, caller, is_costly=is_costly)
            accept = None if route and route.is_plain else request.header("accept")
            if accept not in ACCEPTED:
                require_acceptable(accept)
            if route is None:
                await self._admission.authenticate(request, caller)
                return Response(204, headers={"Allow": self.allow})
            body = await self._receive(request, route) if is_costly else b""
            async with nullcontext() if route.turn is None else route.turn(request):
                return await self._respond(request, route, body)
        except Refusal as refusal:
            if caller.actor is None and refusal.kind not in _TOLD_AT_ONCE:
                # 401 precedes the error, though a token is only looked up once there is one.
                await self._admission.authenticate(request, caller)
            raise

    async def _respond_to_anybody(self, request: Request, route: Route) -> Response:
        """Responds without a token; of a document a stranger has no more room than for a short one.

        What is under way of all strangers' bodies is bounded.
        """
        if route.takes is None:
            if route.method == "GET":  # probes and pages have no slot; signing in bounds itself
                return await route.handler(request)
            return await self._respond(request, route, b"")
        if route.takes.is_form:
            require_form_type(request.header("content-type"))
        else:
            require_acceptable(request.header("accept"))
            require_document_type(request.header)
        if route.keyed and (key := request.header("idempotency-key")) is not None:
            request.idempotency_key = key_of(key)
        await request.require_room_unauthenticated(route.takes.max_bytes)
        body = await request.read_body()
        if route.proves is not None:
            async with self._admission.unproven(request, len(body)) as check:
                request.document, body = parse_form(body), b""
                request.give_room_back()
                await route.proves(request, check)
        elif route.takes.is_form:
            request.document, body = parse_form(body), b""
        return await self._respond(request, route, body)

    async def _respond_to_job(self, request: Request, route: Route) -> Response:
        """Responds to whoever has the token of a job. What is handed to it is never kept, so that
        there is nothing to repeat.

        Its body is as short as that of a stranger, which it may be: only the service knows.
        """
        caller = request.require_job()
        assert route.admit is not None  # it says whose token is good
        try:
            await self._admission.admit_job(request, caller, route.admit)
            require_acceptable(request.header("accept"))
            if request.header("idempotency-key") is not None:
                raise Refusal(Fault(Code.INVALID_HEADER, _NO_REPEAT, header=HEADER))
            if route.takes is not None:
                require_document_type(request.header)
            await request.require_room_unauthenticated(UNAUTHENTICATED_BODY_BYTES)
            return await self._respond(request, route, await request.read_body())
        except Refusal as refusal:
            if caller.actor is None and refusal.kind not in _TOLD_AT_ONCE:
                await self._admission.work(request, partial(route.admit, request))
            raise

    async def _receive(self, request: Request, route: Route) -> bytes:
        """The body; where the route takes none, it is read only to apply the size limit."""
        if route.keyed and (key := request.header("idempotency-key")) is not None:
            request.idempotency_key = key_of(key)
        takes = route.takes
        if takes is not None and takes.max_items is not None:
            request.max_body_bytes = LARGE_BODY_BYTES
        if route.admit is not None:
            await self._admission.work(request, partial(route.admit, request))
        if not request.has_body:
            return b"" if takes is None else await request.read_body()
        # Whatever can be said of a body, and of its sender, before it is read.
        header = request.header
        if takes is not None and (header("content-type") != MEDIA_TYPE or header(CODING)):
            require_document_type(header)
        if not request.has_room_unauthenticated():
            if route.admit is None:
                await self._admission.authenticate(request, request.require_caller())
            request.require_room()
        return await request.read_body()

    async def _respond(self, request: Request, route: Route, body: bytes) -> Response:
        """Calls the handler in a slot, with the document."""
        takes = route.takes
        with self._sessions.in_request():  # the wait for a slot counts towards its time
            await self._admission.enter(request)  # and leaves when the response is sent
            if takes is not None and not takes.is_form:
                if body and not request.has_body:  # HTTP/2 need not announce it
                    require_document_type(request.header)
                if takes.max_items is not None:
                    request.document = await parse_items(body, takes.max_items)
                elif len(body) > SHORT_BYTES:
                    request.document = await self._parser.parse(body)
                elif takes.plain is not None and (plain := takes.plain(body)) is not None:
                    request.document = plain
                    request.plain_body = body
                elif body or not takes.optional:
                    request.document = parse(body)
            if (request.query_string or route.reads) and not route.public:
                read_query(request, route.reads)
            return await route.handler(request)


class Paths:
    """Endpoints by path template. A `{name}` stands for one segment that is not empty.

    No template has a literal segment where another that begins alike has a parameter, so that a
    path has one way through the tree.
    """

    def __init__(self) -> None:
        self._root: _Node = _Node()

    def add(self, template: str, endpoint: Endpoint) -> None:
        """Puts an endpoint at every path of the template; `/` is the path without a segment."""
        node = self._root
        names = []
        for segment in template.removesuffix("/").split("/")[1:]:
            before = node
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.any_segment = node.any_segment or _Node()
                node = node.any_segment
            else:
                node = node.segments.setdefault(segment, _Node())
            if before.segments and before.any_segment:
                raise ValueError(f"{template}: {segment} may also stand for something else")
        node.found = (template, tuple(names), endpoint)

    def find(self, path: str) -> tuple[str, Mapping[str, str], Endpoint] | None:
        """The template, the parameters by name and the endpoint; None when nothing is there."""
        node = self._root
        values: list[str] = []
        for segment in path.split("/")[1:]:
            following = node.segments.get(segment)
            if following is None and segment:
                following = node.any_segment
                values.append(segment)
            if following is None:
                return None
            node = following
        if node.found is None:
            return None
        template, names, endpoint = node.found
        return template, dict(zip(names, values, strict=True)), endpoint


class _Node:
    """A place in the tree of segments."""

    __slots__ = ("any_segment", "found", "segments")

    def __init__(self) -> None:
        self.segments: dict[str, _Node] = {}
        self.any_segment: _Node | None = None
        self.found: tuple[str, tuple[str, ...], Endpoint] | None = None
