"""How clients find the API and learn its version; neither route holds a secret or takes a token."""

import msgspec

from teamvars.web.http.negotiation import JSON
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

_API = "/api/v2/"
_SERVICES = {
    "tfe.v2": _API,
    "tfe.v2.1": _API,
    "tfe.v2.2": _API,
    "modules.v1": "/api/registry/v1/modules/",
}
_VERSION = {"TFP-API-Version": "2.6", "TFP-AppName": "teamvars"}


class ServiceDiscovery(msgspec.Struct):
    """Where each service is; every path ends in a slash, since clients join to it."""

    tfe_v2: str = msgspec.field(name="tfe.v2")
    tfe_v2_1: str = msgspec.field(name="tfe.v2.1")
    tfe_v2_2: str = msgspec.field(name="tfe.v2.2")
    modules_v1: str = msgspec.field(name="modules.v1")


def routes() -> list[Route]:
    """One row an operation."""
    discover = Route(
        "GET",
        "/.well-known/terraform.json",
        _discover,
        {200: ServiceDiscovery},
        media_type=JSON,
        public=True,
        name="discoverServices",
    )
    ping = "/api/v2/ping"
    sends = dict.fromkeys(_VERSION, "")
    return [
        discover,
        Route("GET", ping, _ping, {204: None}, sends=sends, public=True, name="ping"),
    ]


async def _discover(_: Request) -> Response:
    """Say where the API is (Terraform's remote service discovery)."""
    return Response.document(200, _SERVICES, media_type=JSON)


async def _ping(_: Request) -> Response:
    """Say which version of the API this is."""
    return Response(204, headers=_VERSION)
