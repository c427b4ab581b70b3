"""The routes of the console: the shell at each of its pages, and the files that it loads."""

from collections.abc import Mapping
from itertools import accumulate

from teamvars.console import files
from teamvars.console.files import File
from teamvars.domain.errors import not_found
from teamvars.web.http.negotiation import takes_gzip
from teamvars.web.http.pages import FILE_HEADERS, headers_of_sources
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

PATH = "/app"
_SEGMENTS = ("/{first}", "/{second}", "/{third}", "/{fourth}")
"""Those of the longest path of a page: organization, `workspaces`, workspace, what of it."""

_EVERY_FILE = {
    **FILE_HEADERS,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_SHELL = {
    # Not stored either: whoever comes back by the browser's history finds no page with values.
    **headers_of_sources(
        "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
}
POLICY = _SHELL["Content-Security-Policy"]
_ASSET = {"Cache-Control": "public, max-age=31536000, immutable"}
_OF_ANOTHER_EDITION = {"Cache-Control": "no-store"}


def routes() -> list[Route]:
    """One for each depth of a page's path. All are public: what is shown is asked of the API."""
    console = _Console()
    return [
        Route("GET", template, console.respond, {200: None}, public=True)
        for template in accumulate(_SEGMENTS, initial=PATH)
    ]


class _Console:
    def __init__(self) -> None:
        self._files = files.load(PATH)

    async def respond(self, request: Request) -> Response:
        """A file where the last segment has a dot, which no name of an organization has; else the
        shell, whose modules find out which page it is.

        Refuses a file that is not there: not found.
        """
        segments = request.parameters
        edition, name = segments.get("first"), segments.get("second", "")
        if len(segments) != 2 or "." not in name:
            return _response(request, self._files.shell, _SHELL)
        asset = self._files.assets.get(name)
        if asset is None:
            raise not_found()
        # While nodes are upgraded one by one, a page of one may ask another: better than nothing.
        is_ours = edition == self._files.edition
        return _response(request, asset, _ASSET if is_ours else _OF_ANOTHER_EDITION)


def _response(request: Request, file: File, headers: Mapping[str, str]) -> Response:
    sent = {"Content-Type": file.media_type, **_EVERY_FILE, **headers}
    if not takes_gzip(request.header("accept-encoding")):
        return Response(200, file.content, sent)
    return Response(200, file.compressed, {**sent, "Content-Encoding": "gzip"})
