"""`/`: what this is and where the rest is, as a page for people and as JSON for programs."""

import msgspec

from teamvars import __version__
from teamvars.web.http import openapi
from teamvars.web.http.negotiation import HTML, JSON, prefers_html
from teamvars.web.http.pages import page_headers
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.variables import deprecations

_STYLE = (
    "body{font:1em/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "code{background:#8882;padding:.1em .3em}:root{color-scheme:light dark}"
)
_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>teamvars</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>teamvars {__version__}</h1>
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
first, come with its source.</p>
</body>
</html>
""".encode()

_HEADERS = {"Vary": "Accept", **page_headers(style=_STYLE)}


class Index(msgspec.Struct):
    """What this is, and the paths a program begins with."""

    name: str = "teamvars"
    version: str = __version__
    api: str = "/api/v2"
    openapi: str = openapi.PATH
    deprecations: str = deprecations.PATH
    health: str = "/healthz"
    readiness: str = "/readyz"


_JSON = msgspec.json.encode(Index())


def routes() -> list[Route]:
    """The index; it is public and says nothing that needs a token."""
    sends = dict.fromkeys(_HEADERS, "")
    return [
        Route(
            "GET",
            "/",
            _index,
            {200: Index},
            sends=sends,
            media_type=JSON,
            has_page=True,
            public=True,
            name="readIndex",
        )
    ]


async def _index(request: Request) -> Response:
    """Say what this is."""
    if prefers_html(request.header("accept")):
        return Response(200, _PAGE, {"Content-Type": f"{HTML}; charset=utf-8", **_HEADERS})
    return Response(200, _JSON, {"Content-Type": JSON, **_HEADERS})
