"""The ASGI 3.0 application: routing, request ids, the access log, error responses, its lifespan."""

import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager

import structlog
from msgspec.structs import replace

from teamvars.changes.trails import ALARM
from teamvars.domain.errors import KEYS_TOO_OLD, Code, Fault, Refusal, not_found
from teamvars.logs import REQUESTS, RequestLine
from teamvars.metrics import Counter, Histogram, Look
from teamvars.origins import origin
from teamvars.security.sealing import KeyMissing, SealBroken
from teamvars.services.tokens import Sessions
from teamvars.time_limits import TimeLimits
from teamvars.web.http import errors
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.admission import Admission
from teamvars.web.http.endpoints import Endpoint, Paths
from teamvars.web.http.json_body import Parser, parse
from teamvars.web.http.request import Bodies, Receive, Request, Scope, Send
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response, Sender

_CLIENT_CLOSED_REQUEST = 499  # for the log alone, as nginx writes it
_METHOD_NOT_ALLOWED = 405
_SERVER_ERROR = 500

ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Lifespan = Callable[[], AbstractAsyncContextManager[None]]

DURATIONS = Histogram(
    "http_server_request_duration_seconds",
    "How long requests took, from their head to the last byte of their answer.",
    ("route", "method", "status"),
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10),
)
REFUSALS = Counter(
    "teamvars_refusals_total",
    "What requests were refused for, by the codes of errors.",
    "code",
    (code.word for code in Code),
)
_CLASSES = [f"{hundred}xx" for hundred in range(10)]
_NO_METHOD = "_OTHER"
"""Of what has no such route or method, whose words anybody makes up."""

log = structlog.get_logger("teamvars.requests")


class Application:
    """The ASGI application for HTTP: routes each request to its endpoint, and always responds.

    `ignored_includes` are what clients of the dialect send as `include` whatever there is.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        sessions: Sessions,
        addresses: ClientAddresses,
        ignored_includes: frozenset[str] = frozenset(),
        rate_limit: int = 0,
    ) -> None:
        """`rate_limit`: how many requests a second each principal may make; 0: as many as they
        like.
        """
        self._time_limits = TimeLimits()
        self._admission = Admission(sessions, self._time_limits, rate_limit)
        by_template: dict[str, list[Route]] = {}
        for route in routes:
            by_template.setdefault(route.template, []).append(route)
        self._paths = Paths()
        parser = Parser()
        for template, group in by_template.items():
            self._paths.add(template, Endpoint(group, sessions, self._admission, parser))
        self._sessions = sessions
        self._ignored_includes = ignored_includes
        self._bodies = Bodies()
        self._sender = Sender(self._time_limits)
        self._addresses = addresses

    @property
    def looks(self) -> list[Look]:
        """What is to be seen of it now and then."""
        return self._admission.looks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        begun = time.perf_counter()
        request = Request(scope, receive, self._time_limits, self._bodies)
        request.ignored_includes = self._ignored_includes
        client = scope["client"][0] if scope.get("client") else None
        if client is not None and (forwarded := request.header("x-forwarded-for")):
            client = self._addresses.of(client, forwarded)
        request.client = client
        request.audited_address = client if self._addresses.are_audited else None
        status = _CLIENT_CLOSED_REQUEST
        try:
            response = await self._respond(request)
            if self._admission.limits_rates:
                response = self._limited(request, response)
            try:
                is_sent = await self._sender.send(send, request, response)
            except Refusal as refusal:  # no room in the budget; nothing has been sent
                response = _refused(refusal, request, None)
                if self._admission.limits_rates:
                    response = self._limited(request, response)
                is_sent = await self._sender.send(send, request, response)
            status = response.status if is_sent else _CLIENT_CLOSED_REQUEST
        finally:
            request.give_room_back()
            self._admission.leave(request)
            if request.caller is not None:
                self._sessions.note_use(request.caller)
            self._log(request, client, status, begun)
        if request.body_pending:
            await request.linger()

    async def _respond(self, request: Request) -> Response:
        endpoint: Endpoint | None = None
        try:
            path = request.full_path
            # No id or name holds a NUL, which PostgreSQL would choke on.
            found = self._paths.find(path.removesuffix("/")) if path.isprintable() else None
            if found is None:
                raise not_found()
            request.template, request.parameters, endpoint = found
            return await endpoint.respond(request)
        except Refusal as refusal:
            _tell_damage(refusal, request)
            ALARM.hear(refusal)
            refusal.forget_origin()
            told = self._admission.refused(request, refusal)
            await self._admission.pace(request)
            return _refused(told, request, endpoint)
        except KeyMissing as missing:
            # This node was away while a master key was replaced; another may have it.
            log.warning(str(missing), request_id=request.request_id, route=request.template)
            return _refused(Refusal(KEYS_TOO_OLD), request, endpoint)
        except SealBroken as broken:
            # What is stored was changed behind our back: no mistake of the caller's.
            log.error(str(broken), request_id=request.request_id, route=request.template)
            fault = Fault(
                Code.INTERNAL_ERROR, "Stored data cannot be decrypted. The log says what."
            )
            return _refused(Refusal(fault), request, endpoint)
        except Exception:
            log.exception("bug", request_id=request.request_id, route=request.template)
            fault = Fault(
                Code.INTERNAL_ERROR, "This is a bug. Find it in the log by the request id."
            )
            return _refused(Refusal(fault), request, endpoint)

    def _limited(self, request: Request, response: Response) -> Response:
        """The response with the header fields of rate limits."""
        headers = {**response.headers, **dict(self._admission.headers(request))}
        return replace(response, headers=headers)

    def _log(self, request: Request, client: str | None, status: int, begun: float) -> None:
        caller = request.caller
        actor = caller.actor if caller is not None else None
        seconds = time.perf_counter() - begun
        is_known = request.template is not None and status != _METHOD_NOT_ALLOWED
        DURATIONS.observe(
            seconds,
            request.template or "",
            request.method if is_known else _NO_METHOD,
            _CLASSES[status // 100],
        )
        line = RequestLine(
            request_id=request.request_id,
            client=client,
            actor=None if actor is None else actor.id,
            method=request.method,
            route=request.template,
            status=status,
            ms=round(seconds * 1000, 2),
            level="error" if status >= _SERVER_ERROR else "info",
        )
        if actor is not None:
            line.token_id = actor.token_id
        if caller is not None and (place := caller.place) is not None:
            line.organization_id, line.organization = place.organization_id, place.organization
            line.workspace_id, line.workspace = place.workspace_id, place.workspace
            line.team_id, line.team = place.team_id, place.team
        if (trace_id := request.trace_id) is not None:
            line.trace_id = trace_id
        if request.error_codes:
            line.errors = request.error_codes
        if request.why is not None:
            line.why = request.why
        REQUESTS.write(line)


def _tell_damage(refusal: Refusal, request: Request) -> None:
    """Logs whose stored values do not open, if the request was refused for that."""
    faults = (fault for fault in refusal.faults if fault.code is Code.DAMAGED_VALUE)
    if damaged := [fault.meta["id"] for fault in faults if fault.meta]:
        log.error("stored values do not open", request_id=request.request_id, variables=damaged)


def _refused(refusal: Refusal, request: Request, endpoint: Endpoint | None) -> Response:
    request.error_codes = tuple(dict.fromkeys(fault.code.word for fault in refusal.faults))
    for code in request.error_codes:
        REFUSALS.add(code)
    request.why = refusal.why
    headers = dict(errors.headers(refusal))
    status = errors.STATUS[refusal.kind]
    if status == _METHOD_NOT_ALLOWED and endpoint is not None:
        headers["Allow"] = endpoint.allow
    if endpoint is not None and endpoint.errors is not None:
        return endpoint.errors.response(refusal, status, headers)
    if request.plain_body is not None:  # in whose order the faults are told
        request.document = parse(request.plain_body)
    return Response.document(status, errors.document(refusal, request.document), headers)


def with_lifespan(application: ASGIApp, lifespan: Lifespan) -> ASGIApp:
    """The application with a lifespan, entered before the first request and left after the last."""

    def serve(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return _live(lifespan, receive, send)
        return application(scope, receive, send)

    return serve


async def _live(lifespan: Lifespan, receive: Receive, send: Send) -> None:
    """Tells the server when it may begin, and when it may end, or that the lifespan has failed."""
    phase = "startup"
    await receive()
    try:
        async with lifespan():
            await send({"type": "lifespan.startup.complete"})
            phase = "shutdown"
            await receive()
    except BaseException as error:
        await send({"type": f"lifespan.{phase}.failed", "message": origin(error)})
        raise
    await send({"type": "lifespan.shutdown.complete"})
