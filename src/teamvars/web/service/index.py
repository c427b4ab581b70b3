"""`/`: what this is and where the rest is, as JSON for programs; people are led to the console.

Where there is no console they get a page.
"""

from collections.abc import Sequence

import msgspec

from teamvars import __version__
from teamvars.web.dialects import Dialect
from teamvars.web.http import openapi, pages
from teamvars.web.http.negotiation import JSON, prefers_html
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.variables import deprecations

_STYLE = (
    "body{font:1em/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "code{background:#8882;padding:.1em .3em}:root{color-scheme:light dark}"
)
_CONTENT = f"""<h1>teamvars {__version__}</h1>
<p>This service keeps the variables of workspaces and the members of teams. It is for programs and
the command line; there is nothing to log in to here.</p>
<ul>
<li><code>/api/v2</code> is the API (JSON:API 1.1); every request carries
<code>Authorization: Bearer TOKEN</code>.</li>
<li><a href="{openapi.PATH}">{openapi.PATH}</a> describes all of it (OpenAPI 3.1).</li>
<li><a href="{deprecations.PATH}">{deprecations.PATH}</a> says what will go away.</li>
<li><a href="/readyz">/readyz</a> says whether it can do its work.</li>
</ul>
<p>Whoever runs this service hands out tokens. The rest of its documents, <code>docs/api.md</code>
first, come with its source.</p>"""
_PAGE = pages.page("teamvars", _CONTENT, style=_STYLE)
_HEADERS = {"Vary": "Accept", **_PAGE.headers}


class Index(msgspec.Struct):
    """What this is, and the paths a program begins with.

    `categories` are those of variables as this server names them, the service's own first.
    """

    categories: Sequence[str]
    name: str = "teamvars"
    version: str = __version__
    api: str = "/api/v2"
    openapi: str = openapi.PATH
    deprecations: str = deprecations.PATH
    health: str = "/healthz"
    readiness: str = "/readyz"


class IndexRoutes:
    """The index; it is public and says nothing that needs a token."""

    def __init__(self, dialect: Dialect, console: str | None = None) -> None:
        """`console` is the path of the console, where there is one."""
        self._json = msgspec.json.encode(Index(list(dialect.categories.values())))
        self._responses: dict[int, type | None] = {200: Index}
        self._page = Response(200, _PAGE.body, {"Content-Type": pages.TYPE, **_HEADERS})
        if console is not None:
            self._responses[302] = None
            self._page = Response(302, b"", {"Location": f"{console}/", **_HEADERS})

    def routes(self) -> list[Route]:
        """One row an operation."""
        return [
            Route(
                "GET",
                "/",
                self.read,
                self._responses,
                sends=dict.fromkeys(_HEADERS, ""),
                media_type=JSON,
                has_page=True,
                public=True,
                name="readIndex",
            )
        ]

    async def read(self, request: Request) -> Response:
        """Say what this is; a browser is led to the console where there is one."""
        if prefers_html(request.header("accept")):
            return self._page
        return Response(200, self._json, {"Content-Type": JSON, **_HEADERS})
