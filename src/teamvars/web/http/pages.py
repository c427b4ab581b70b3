"""How an HTML page is made: nothing of others is loaded, and nobody is told where it was."""

import base64
import hashlib
from collections.abc import Mapping

import msgspec

from teamvars.web.http.negotiation import HTML
from teamvars.web.http.sending import FRESH, Response

TYPE = f"{HTML}; charset=utf-8"

FILE_HEADERS = {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
"""Those of a page, and of each file that one loads."""

_STYLE = (
    "body{font:1em/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "code{overflow-wrap:anywhere}:root{color-scheme:light dark}"
)


class Page(msgspec.Struct, frozen=True):
    """A page, and its headers besides the Content-Type."""

    body: bytes
    headers: Mapping[str, str]


def page(title: str, content: str, *, style: str, script: str | None = None) -> Page:
    """A page with one `style` element, and after its content perhaps one `script`.

    No other style or script runs, even if it came into the page; a script speaks to us alone.
    """
    sources = f"style-src '{_digest(style)}'"
    if script is not None:
        sources += f"; script-src '{_digest(script)}'; connect-src 'self'"
        content += f"\n<script>{script}</script>"
    body = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{content}
</body>
</html>
"""
    return Page(body.encode(), headers_of_sources(sources))


def notice(status: int, title: str, content: str) -> Response:
    """A page that says what has happened, to whoever's browser has come here by a link."""
    told = page(title, content, style=_STYLE)
    return Response(status, told.body, {"Content-Type": TYPE, **told.headers})


def headers_of_sources(sources: str) -> dict[str, str]:
    """The headers of a page that loads from `sources`, directives of a policy, and nothing else."""
    return {
        **FRESH,
        "Content-Security-Policy": (
            f"default-src 'none'; {sources}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        **FILE_HEADERS,
    }


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
