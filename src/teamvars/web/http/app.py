"""What surrounds every request: its id, its log line, and the answer when something refuses."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address

import structlog
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from teamvars.domain.errors import Code, Fault, Refusal, not_found
from teamvars.security.sealing import SealBroken
from teamvars.services.sessions import Sessions
from teamvars.web.http import errors
from teamvars.web.http.budgets import Bodies
from teamvars.web.http.endpoints import Resource, Route
from teamvars.web.http.json_body import Parser
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.paths import Paths
from teamvars.web.http.request import Answer, Exchange
from teamvars.web.http.sending import Sender
from teamvars.web.http.time_limits import TimeLimits

__all__ = ["ASGIApp", "Frame", "application"]

_PRIVATE = {"Cache-Control": "private, no-store", "Vary": "Authorization, Accept"}
_CLIENT_CLOSED_REQUEST = 499  # for the log alone, as nginx writes it
_SERVER_ERROR = 500
_REMEMBERED_ADDRESSES = 1024

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]

log = structlog.get_logger("teamvars.requests")


class Frame:
    """The ASGI application for HTTP: finds the resource, asks it, and always answers.

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
        """`audit_addresses`: whether the audit trail keeps whence a request came."""
        by_template: dict[str, list[Route]] = {}
        for route in routes:
            by_template.setdefault(route.template, []).append(route)
        self._paths: Paths[Resource] = Paths()
        parser = Parser()
        for template, group in by_template.items():
            self._paths.add(template, Resource(group, sessions, parser))
        self._sessions = sessions
        self._ignored_includes = ignored_includes
        self._time_limits = TimeLimits()
        self._bodies = Bodies()
        self._sender = Sender(self._time_limits)
        self._trusted_proxies = trusted_proxies
        self._audit_addresses = audit_addresses
        self._is_trusted = lru_cache(_REMEMBERED_ADDRESSES)(self._is_of_trusted_network)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        begun = time.perf_counter()
        exchange = Exchange(scope, receive, self._time_limits, self._bodies)
        client = self._client(scope, exchange)
        exchange.audited_address = client if self._audit_addresses else None
        status = _CLIENT_CLOSED_REQUEST
        try:
            answer = await self._answer(scope, exchange)
            try:
                is_sent = await self._sender.send(send, exchange, answer)
            except Refusal as refusal:  # has no room for it, and has not begun
                answer = await _completed(_refused(refusal, exchange, None), exchange)
                is_sent = await self._sender.send(send, exchange, answer)
            status = answer.status if is_sent else _CLIENT_CLOSED_REQUEST
        finally:
            exchange.release()
            if exchange.caller is not None:
                self._sessions.note_use(exchange.caller)
            self._log(exchange, client, status, begun)

    async def _answer(self, scope: Scope, exchange: Exchange) -> Answer:
        resource: Resource | None = None
        try:
            resource = self._find(scope, exchange)
            answer = await resource.answer(exchange)
        except Refusal as refusal:
            answer = _refused(refusal, exchange, resource)
        except SealBroken as broken:
            # Somebody or something has changed what is stored: no mistake of the caller's.
            log.error(str(broken), request_id=exchange.request_id, route=exchange.template)
            fault = Fault(Code.INTERNAL_ERROR, "What is stored does not open. The log says what.")
            answer = _refused(Refusal(fault), exchange, resource)
        except Exception:
            log.exception("bug", request_id=exchange.request_id, route=exchange.template)
            fault = Fault(Code.INTERNAL_ERROR, "This is a bug. The log has it by request id.")
            answer = _refused(Refusal(fault), exchange, resource)
        return await _completed(answer, exchange)

    def _find(self, scope: Scope, exchange: Exchange) -> Resource:
        """The resource of the path, a trailing slash or none. Refuses an unknown path."""
        path = scope["path"]
        if not path.isprintable():  # no id or name holds a NUL, which PostgreSQL would choke on
            raise not_found()
        found = self._paths.find(path.removesuffix("/"))
        if found is None:
            raise not_found()
        exchange.template, exchange.parameters, resource = found
        exchange.ignored_includes = self._ignored_includes
        return resource

    def _log(self, exchange: Exchange, client: str | None, status: int, begun: float) -> None:
        actor = exchange.caller.actor if exchange.caller is not None else None
        write = log.error if status >= _SERVER_ERROR else log.info
        write(
            "request",
            request_id=exchange.request_id,
            client=client,
            actor=None if actor is None else actor.id,
            method=exchange.method,
            route=exchange.template,
            status=status,
            ms=round((time.perf_counter() - begun) * 1000, 2),
        )

    def _client(self, scope: Scope, exchange: Exchange) -> str | None:
        """The nearest address that is no trusted proxy's; only those are believed.

        Its characters are printable: it goes into the log and the audit trail.
        """
        peer = scope.get("client")
        address: str | None = peer[0] if peer else None
        if not self._trusted_proxies:
            return address
        forwarded = (exchange.header("x-forwarded-for") or "").split(",")
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


def _refused(refusal: Refusal, exchange: Exchange, resource: Resource | None) -> Answer:
    headers = {"Content-Type": MEDIA_TYPE, **dict(errors.headers(refusal))}
    status = errors.STATUS[refusal.kind]
    if status == 405 and resource is not None:
        headers["Allow"] = resource.allow
    return Answer(status, errors.encoded(refusal, exchange.document), headers)


async def _completed(answer: Answer, exchange: Exchange) -> Answer:
    """The answer with the headers of every answer, once nobody sends any more."""
    headers = {"X-Request-Id": exchange.request_id, **answer.headers}
    if exchange.caller is not None:
        headers.update(_PRIVATE)
    if not await exchange.drain():
        headers["Connection"] = "close"
    return Answer(answer.status, answer.body, headers)


def application(frame: Frame, lifespan: Lifespan) -> ASGIApp:
    """Serves `frame`; `lifespan` is entered before the first request and left after the last."""
    return Router(default=frame, redirect_slashes=False, lifespan=lifespan)
