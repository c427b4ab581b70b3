"""Whether the process is up, and whether it can do its work; for load balancers."""

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.errors import storage_unavailable
from teamvars.services.installation import NotReady, Readiness
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.parameters import Parameter, invalid, only_text_of
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Handler, Route

_FRESH_JSON = {"Content-Type": JSON, "Cache-Control": "no-store"}


WRITES = Parameter(
    "writes",
    "With `required` the answer is 503 as well while changes cannot be committed.",
    {"type": "string", "enum": ["required"]},
)


class Health(msgspec.Struct, omit_defaults=True):
    """What a health check says when all is well. `writes` is there while they are unavailable,
    `clock` while this host's is not the store's.
    """

    status: str
    writes: str | UnsetType = UNSET
    clock: str | UnsetType = UNSET


class HealthRoutes:
    """`/healthz` and `/readyz`."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    def routes(self) -> list[Route]:
        """Both are public: they say yes or no and nothing else."""
        return [
            _check("/healthz", self.alive, "checkHealth"),
            _check("/readyz", self.ready, "checkReadiness", refuses=(400, 503), reads=(WRITES,)),
        ]

    async def alive(self, _: Request) -> Response:
        """The process answers."""
        return Response(200, b'{"status":"ok"}', _FRESH_JSON)

    async def ready(self, request: Request) -> Response:
        """Storage is reachable and migrated, and the keyring is its own. Refuses otherwise.

        The answer may be a second old. While changes cannot be committed it says so, and refuses
        whom `writes=required` says to need them.
        """
        wanted = only_text_of(request, WRITES)
        if wanted not in (None, "required"):
            raise invalid(WRITES.name, "writes is 'required' or not there.")
        try:
            await self._readiness.require()
        except NotReady:
            raise storage_unavailable() from None
        health = Health("ready")
        if not self._readiness.takes_writes:
            if wanted is not None:
                raise storage_unavailable()
            health.writes = "unavailable"
        if off := self._readiness.clock_is_off:
            health.clock = f"{abs(off)} s {'ahead' if off > 0 else 'behind'}"
        return Response(200, msgspec.json.encode(health), _FRESH_JSON)


def _check(
    path: str,
    handler: Handler,
    name: str,
    *,
    refuses: tuple[int, ...] = (),
    reads: tuple[Parameter, ...] = (),
) -> Route:
    return Route(
        "GET",
        path,
        handler,
        {200: Health},
        refuses=refuses,
        reads=reads,
        media_type=JSON,
        public=True,
        name=name,
    )
