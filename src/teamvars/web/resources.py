"""Routes, and the order of checks that every one of them keeps (contract §2)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.services.sessions import Sessions
from teamvars.web import json_body
from teamvars.web.exchange import Answer, Exchange
from teamvars.web.negotiation import require_acceptable, require_document_type

Handler = Callable[[Exchange], Awaitable[Answer]]


class Body(Enum):
    """What a route does with a request's body."""

    IGNORED = "ignored"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: `template` is the path with `{name}` for its parameters."""

    method: str
    template: str
    handler: Handler
    body: Body = Body.IGNORED
    public: bool = False


class Resource:
    """All operations of one path."""

    def __init__(self, routes: Sequence[Route], sessions: Sessions) -> None:
        self._routes = {route.method: route for route in routes}
        self._sessions = sessions
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
                await _read(exchange, route.body)
        except Refusal:
            # Whose token it is comes first, though it is only asked when something is wrong.
            await self._sessions.authenticate(caller)
            raise
        if route is None:
            await self._sessions.authenticate(caller)
            return Answer(204, headers={"Allow": self.allow})
        return await route.handler(exchange)


async def _read(exchange: Exchange, body: Body) -> None:
    """Reads the body, for the size limit also where nobody wants it."""
    if body is Body.DOCUMENT:
        if exchange.has_body:
            require_document_type(exchange.header("content-type"))
        exchange.document = json_body.parse(await exchange.read_body())
    elif exchange.has_body:
        await exchange.read_body()
