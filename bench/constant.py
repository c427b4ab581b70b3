"""Applications with one answer given from memory: what HTTP alone costs, and granian alone.

Both are served as `teamvars serve` serves. Of ours, `worker` has the real settings, routes,
checks, headers and log lines, and only the list of variables asks no service; `bare` has nothing.
"""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

from msgspec.structs import replace

from teamvars import logs, settings, wiring
from teamvars.cli.operator import serve
from teamvars.cli.operator.server import Message, Receive, Send
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application, ASGIApp, with_lifespan
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.request import Request
from teamvars.web.http.sending import Response

BODY, HEADERS = "body", "headers.json"
"""The files of a folder that say what is answered; ours has headers of its own."""

_ANSWER = "BENCH_ANSWER"
_LIST = "/api/v2/workspaces/{workspace_id}/vars"


def worker(*_: object) -> ASGIApp:
    """What each worker process runs in the place of `wiring.worker`."""
    config = settings.load()
    logs.configure(config.log_format)
    body = (_folder() / BODY).read_bytes()
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
        for route in wiring.routes(services)
    ]
    application = Application(routes, services.sessions, ClientAddresses(config.trusted_proxies))
    return with_lifespan(application, nullcontext)


def bare(*_: object) -> ASGIApp:
    """The least an application can do: the same status, headers and body to whatever is asked."""
    headers = json.loads((_folder() / HEADERS).read_text())
    start = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    body = {"type": "http.response.body", "body": (_folder() / BODY).read_bytes()}

    async def answer(scope: Message, _: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send(start)
            await send(body)

    return answer


def main(application: str, port: str, workers: str, folder: str) -> None:
    """Serves one of them until it is told to stop, as `teamvars serve` sets granian up."""
    os.environ[_ANSWER] = folder
    with mock.patch.object(wiring, "worker", {"worker": worker, "bare": bare}[application]):
        config = settings.load(port=int(port), workers=int(workers))
        serve.listen(config, serve.claimed_address(config))


def _folder() -> Path:
    return Path(os.environ[_ANSWER])


if __name__ == "__main__":
    main(*sys.argv[1:])
