"""The ASGI application: routing, request ids, the access log, and error responses."""

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address

import structlog

from teamvars.domain.errors import Code, Fault, Refusal, not_found
from teamvars.logs import REQUESTS, RequestLine
from teamvars.security.sealing import SealBroken
from teamvars.services.sessions import Sessions
from teamvars.web.http import errors
from teamvars.web.http.asgi import Receive, Scope, Send
from teamvars.web.http.budgets import Bodies
from teamvars.web.http.endpoints import Endpoint
from teamvars.web.http.json_body import Parser
from teamvars.web.http.paths import Paths
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Sender
from teamvars.web.http.time_limits import TimeLimits

_CLIENT_CLOSED_REQUEST = 499  # for the log alone, as nginx writes it
_SERVER_ERROR = 500
_CACHED_ADDRESSES = 1024

log = structlog.get_logger("teamvars.requests")


class Application:
    """The ASGI application for HTTP: routes each request to its endpoint, and always responds.

    `ignored_includes` are what clients of the dialect send as `include` whatever there is.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        sessions: Sessions,
        trusted_proxies: Sequence[IPv4Network | IPv6Network],
        ignored_includes: frozenset[str] = frozenset(),
        *,
        audit_addresses: bool = True,
    ) -> None:
        """`audit_addresses`: whether the audit trail keeps the client's address."""
        by_template: dict[str, list[Route]] = {}
        for route in routes:
            by_template.setdefault(route.template, []).append(route)
        self._paths: Paths[Endpoint] = Paths()
        parser = Parser()
        for template, group in by_template.items():
            self._paths.add(template, Endpoint(group, sessions, parser))
        self._sessions = sessions
        self._ignored_includes = ignored_includes
        self._time_limits = TimeLimits()
        self._bodies = Bodies()
        self._sender = Sender(self._time_limits)
        self._trusted_proxies = trusted_proxies
        self._audit_addresses = audit_addresses
        self._is_trusted = lru_cache(_CACHED_ADDRESSES)(self._is_of_trusted_network)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        begun = time.perf_counter()
        request = Request(scope, receive, self._time_limits, self._bodies)
        client = self._client(scope, request)
        request.audited_address = client if self._audit_addresses else None
        status = _CLIENT_CLOSED_REQUEST
        try:
            response = await self._respond(scope, request)
            try:
                is_sent = await self._sender.send(send, request, response)
            except Refusal as refusal:  # no room in the budget; nothing has been sent
                response = _refused(refusal, request, None)
                is_sent = await self._sender.send(send, request, response)
            status = response.status if is_sent else _CLIENT_CLOSED_REQUEST
        finally:
            request.release()
            if request.caller is not None:
                self._sessions.note_use(request.caller)
            self._log(request, client, status, begun)

    async def _respond(self, scope: Scope, request: Request) -> Response:
        endpoint: Endpoint | None = None
        try:
            endpoint = self._find(scope, request)
            return await endpoint.respond(request)
        except Refusal as refusal:
            return _refused(refusal, request, endpoint)
        except SealBroken as broken:
            # What is stored was changed behind our back: no mistake of the caller's.
            log.error(str(broken), request_id=request.request_id, route=request.template)
            fault = Fault(Code.INTERNAL_ERROR, "What is stored does not open. The log says what.")
            return _refused(Refusal(fault), request, endpoint)
        except Exception:
            log.exception("bug", request_id=request.request_id, route=request.template)
            fault = Fault(Code.INTERNAL_ERROR, "This is a bug. The log has it by request id.")
            return _refused(Refusal(fault), request, endpoint)

    def _find(self, scope: Scope, request: Request) -> Endpoint:
        """The endpoint of the path, with a trailing slash or without. Refuses an unknown path."""
        path = scope["path"]
        if not path.isprintable():  # no id or name holds a NUL, which PostgreSQL would choke on
            raise not_found()
        found = self._paths.find(path.removesuffix("/"))
        if found is None:
            raise not_found()
        request.template, request.parameters, endpoint = found
        request.ignored_includes = self._ignored_includes
        return endpoint

    def _log(self, request: Request, client: str | None, status: int, begun: float) -> None:
        actor = request.caller.actor if request.caller is not None else None
        REQUESTS.write(
            RequestLine(
                request_id=request.request_id,
                client=client,
                actor=None if actor is None else actor.id,
                method=request.method,
                route=request.template,
                status=status,
                ms=round((time.perf_counter() - begun) * 1000, 2),
                level="error" if status >= _SERVER_ERROR else "info",
            )
        )

    def _client(self, scope: Scope, request: Request) -> str | None:
        """The nearest address that is no trusted proxy's; only those are believed.

        Its characters are printable: it goes into the log and the audit trail.
        """
        peer = scope.get("client")
        address: str | None = peer[0] if peer else None
        if not self._trusted_proxies:
            return address
        forwarded = (request.header("x-forwarded-for") or "").split(",")
        while address and forwarded and self._is_trusted(address):
            nearer = forwarded.pop().strip()[:45]
            if not (nearer and nearer.isprintable()):
                break
            address = nearer
        return address

    def _is_of_trusted_network(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted_proxies)


def _refused(refusal: Refusal, request: Request, endpoint: Endpoint | None) -> Response:
    headers = dict(errors.headers(refusal))
    status = errors.STATUS[refusal.kind]
    if status == 405 and endpoint is not None:
        headers["Allow"] = endpoint.allow
    return Response.document(status, errors.document(refusal, request.document), headers)
