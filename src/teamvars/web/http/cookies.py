"""Cookies of our own, which go to this host and port alone as far as browsers allow (RFC 6265bis).

What they are called and whether they need TLS follows from the service's public address: never from
what a request says of its host.
"""

from urllib.parse import urlsplit

from teamvars.web.http.request import Request

_HTTP_PORT = 80


class Cookies:
    """Those of the service at an address: its scheme, host and port."""

    def __init__(self, public_url: str) -> None:
        place = urlsplit(public_url)
        self._is_secure = place.scheme == "https"
        # A host's ports share its cookies, and only over TLS does the prefix keep others from
        # setting one of ours.
        port = place.port or _HTTP_PORT
        self._name = "__Host-teamvars-{}" if self._is_secure else f"teamvars-{{}}-{port}"

    def put(self, what: str, value: str, *, seconds: int, same_site: str) -> dict[str, str]:
        """The header that has a browser keep a value."""
        secure = "; Secure" if self._is_secure else ""
        rules = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}"
        return {"Set-Cookie": f"{self._name.format(what)}={value}; {rules}"}

    def read(self, request: Request, what: str) -> str | None:
        """What a browser has kept; None: nothing, or somebody has put another one beside it."""
        name = self._name.format(what)
        pairs = [
            pair.strip().partition("=") for pair in (request.header("cookie") or "").split(";")
        ]
        found = [value for key, _, value in pairs if key == name]
        return found[0] if len(found) == 1 else None
