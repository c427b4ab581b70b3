"""`/metrics` beside the API, for site admins: the same that the port for scrapes shows."""

from teamvars.metrics.exposition import PATH, Exposition
from teamvars.services.users import Users
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response

_TEXT = "text/plain"


def routes(users: Users, exposition: Exposition) -> list[Route]:
    """One row an operation."""

    async def read(request: Request) -> Response:
        """Read what the processes of this server have counted, as text for Prometheus.

        Whoever accepts OpenMetrics gets that.
        """
        await users.require_site_admin(request.require_caller())
        body, media_type = exposition.text(request.header("accept") or "")
        return Response(200, body, {"Content-Type": media_type, "Cache-Control": "no-store"})

    return [
        Route(
            "GET",
            PATH,
            read,
            {200: str},
            may_forbid=True,
            media_type=_TEXT,
            is_plain=True,
            name="readMetrics",
            tag="Service",
        )
    ]
