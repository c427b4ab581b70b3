"""Routes, and the order of checks that every one of them keeps (contract §2)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from teamvars.domain.errors import Code, Fault, Kind, Refusal
from teamvars.services.sessions import Sessions
from teamvars.web.http.json_body import Parser
from teamvars.web.http.negotiation import MEDIA_TYPE, require_acceptable, require_document_type
from teamvars.web.http.parameters import require_read
from teamvars.web.http.request import Answer, Exchange

Handler = Callable[[Exchange], Awaitable[Answer]]


class Route(msgspec.Struct, frozen=True):
    """One operation: `template` is the path with `{name}` for its parameters.

    `answers` has the type of the document for each success, None where there is no document, and
    `media_type` is that of the documents; one that `has_page` answers with an HTML page whoever
    prefers one. A request's body is ignored unless the route `takes` a
    document, which it `may_lack`. `reads` names the headers and query parameters its handler looks
    at: what would change the answer and is not among them is refused. `sends` names the headers of
    its own. `may_forbid` says that some who see the target may not do
    this, `refuses` which other statuses there are besides those of every route. A `public` route
    asks for no token.

    `name` is the operation's in `/openapi.json`, a verb and its object such as `listVariables`:
    generated clients call it that, so it stays. What is `needed` of `reads` cannot be left out.
    """

    method: str
    template: str
    handler: Handler
    answers: Mapping[int, type | None]
    takes: type[msgspec.Struct] | None = None
    may_lack: bool = False
    reads: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    may_forbid: bool = False
    refuses: tuple[int, ...] = ()
    media_type: str = MEDIA_TYPE
    has_page: bool = False
    public: bool = False
    needed: tuple[str, ...] = ()
    name: str = ""


class Resource:
    """All operations of one path."""

    def __init__(self, routes: Sequence[Route], sessions: Sessions, parser: Parser) -> None:
        self._routes = {route.method: route for route in routes}
        self._sessions = sessions
        self._parser = parser
        known = {*self._routes, "OPTIONS", *(["HEAD"] if "GET" in self._routes else [])}
        self.allow = ", ".join(sorted(known))

    async def answer(self, exchange: Exchange) -> Answer:
        """Checks what concerns HTTP and JSON:API, in the contract's order; calls the handler."""
        method = "GET" if exchange.method == "HEAD" else exchange.method
        route = self._routes.get(method)
        if route is None and method != "OPTIONS":
            detail = f"This path knows {self.allow}."
            raise Refusal(Fault(Code.METHOD_NOT_ALLOWED, detail))
        if route is not None and route.public:
            return await route.handler(exchange)
        caller = exchange.require_caller()
        try:
            require_acceptable(exchange.header("accept"))
            if route is not None:
                if method != "GET":
                    await self._sessions.admit(caller)
                await self._read(exchange, route)
                require_read(exchange, route.reads)
                with self._sessions.in_request():
                    return await route.handler(exchange)
        except Refusal as refusal:
            if refusal.kind is Kind.UNAUTHENTICATED:
                self._sessions.forget(caller)
            # Whose token it is comes first, though it is only asked when something is wrong.
            elif caller.actor is None and refusal.kind is not Kind.UNAVAILABLE:
                await self._sessions.authenticate(caller)
            raise
        await self._sessions.authenticate(caller)
        return Answer(204, headers={"Allow": self.allow})

    async def _read(self, exchange: Exchange, route: Route) -> None:
        """Reads the body, for the size limit also where nobody wants it."""
        if exchange.has_body:
            if route.takes is not None:
                require_document_type(exchange.header("content-type"))
            if not exchange.has_room_as_stranger():
                await self._sessions.authenticate(exchange.require_caller())
                exchange.require_room()
        elif route.takes is None:
            return
        body = await exchange.read_body()
        if route.takes is None:
            return
        if body:  # HTTP/2 need not announce it
            require_document_type(exchange.header("content-type"))
        if body or not route.may_lack:
            exchange.document = await self._parser.parse(body)
