"""Our own application with one answer given from memory: what HTTP alone costs.

The server's command, settings, routes, checks, headers and log lines are the real ones; only the
list of variables asks no service.
"""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import replace

from teamvars import logs, settings, wiring
from teamvars.cli.operator import serve
from teamvars.cli.operator.server import Server
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from teamvars.web.http.app import Application
from teamvars.web.http.asgi import ASGIApp, with_lifespan
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response

_BODY = "BENCH_BODY"
_LIST = "/api/v2/workspaces/{workspace_id}/vars"


def worker() -> ASGIApp:
    """What each worker process runs in the place of `wiring.worker`."""
    config = settings.load()
    logs.configure(config.log_format)
    body = Path(os.environ[_BODY]).read_bytes()
    headers = {"Content-Type": MEDIA_TYPE, "ETag": f'"{"0" * 64}.{"0" * 8}"'}

    async def answer(request: Request) -> Response:
        request.require_caller()
        return Response(200, body, headers)

    keys = keyring.generate()
    services = wiring.services(database_for("sqlite:////nowhere"), keys, Quota(None, None))
    routes = [
        replace(route, handler=answer)
        if (route.method, route.template) == ("GET", _LIST)
        else route
        for route in wiring.routes(services, keys)
    ]
    application = Application(routes, services.sessions, config.trusted_proxies)
    return with_lifespan(application, nullcontext)


def main(port: str, workers: str, body: str) -> None:
    """Serves the file until it is told to stop, as `teamvars serve` sets granian up."""
    os.environ[_BODY] = body

    def server(_: str, **options: Any) -> Any:
        return Server("bench.constant:worker", **options)

    with mock.patch.object(serve, "Server", server):
        serve.listen(settings.load(port=int(port), workers=int(workers)))


if __name__ == "__main__":
    main(*sys.argv[1:])
