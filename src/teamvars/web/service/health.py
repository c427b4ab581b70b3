"""Whether the process is up, and whether it can do its work; for load balancers."""

import msgspec

from teamvars.domain.errors import storage_unavailable
from teamvars.services.installation import NotReady, Readiness
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Handler, Route

_FRESH_JSON = {"Content-Type": JSON, "Cache-Control": "no-store"}


class Health(msgspec.Struct):
    """What a health check says when all is well."""

    status: str


class HealthRoutes:
    """`/healthz` and `/readyz`."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    def routes(self) -> list[Route]:
        """Both are public: they say yes or no and nothing else."""
        return [
            _check("/healthz", self.alive, "checkHealth"),
            _check("/readyz", self.ready, "checkReadiness", refuses=(503,)),
        ]

    async def alive(self, _: Request) -> Response:
        """The process answers."""
        return Response(200, b'{"status":"ok"}', _FRESH_JSON)

    async def ready(self, _: Request) -> Response:
        """Storage is reachable and migrated, and the keyring is its own. Refuses otherwise.

        The answer may be a second old.
        """
        try:
            await self._readiness.require()
        except NotReady:
            raise storage_unavailable() from None
        return Response(200, b'{"status":"ready"}', _FRESH_JSON)


def _check(path: str, handler: Handler, name: str, refuses: tuple[int, ...] = ()) -> Route:
    return Route(
        "GET",
        path,
        handler,
        {200: Health},
        refuses=refuses,
        media_type=JSON,
        public=True,
        name=name,
    )
