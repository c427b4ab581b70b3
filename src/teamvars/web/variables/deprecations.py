"""What is deprecated: the headers that announce it, and the page they point at."""

from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route

PATH = "/docs/deprecations"
_MARKDOWN = "text/markdown"
# The day of release 0.1.0, 2026-11-21, the first that says so (RFC 9745, 2.1).
_SINCE = 1_795_219_200

DEPRECATED_FILTER = {
    "Deprecation": f"@{_SINCE}",
    "Link": f'<{PATH}>; rel="deprecation"; type="{_MARKDOWN}"',
}

_TEXT = b"""# Deprecated

## `filter.workspace.name` and `filter.organization.name` on creating a variable

Deprecated since 0.1.0 (2026-11-21), and to be removed from future versions.

The path names the workspace already. Leave `filter` out, or say the same with a relationship:

    {"data": {"type": "vars", "relationships": {"configurable": {
        "data": {"type": "workspaces", "id": "ws-..."}}}, ...}}
"""


def routes() -> list[Route]:
    """The page; it holds no secret and takes no token."""
    return [
        Route(
            "GET",
            PATH,
            _page,
            {200: str},
            media_type=_MARKDOWN,
            public=True,
            name="readDeprecations",
        )
    ]


async def _page(_: Request) -> Response:
    """Read what is deprecated."""
    return Response(200, _TEXT, {"Content-Type": f"{_MARKDOWN}; charset=utf-8"})
