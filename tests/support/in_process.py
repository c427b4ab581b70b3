"""HTTP without a socket: what a test says goes to an application in its own process."""

import json
import re
from asyncio import Event
from collections.abc import AsyncIterator, Mapping, MutableMapping
from typing import Any
from urllib.parse import unquote

import httpx

from teamvars.web.http.app import ASGIApp

BASE = "http://teamvars.test/api/v2"

Message = MutableMapping[str, Any]
Fields = list[tuple[bytes, bytes]]

# What httpx would send as it stands. One dot may begin what a path is shortened by.
_PLAIN = re.compile(
    r"(?:/(?!\.)[\w!$%&'()*+,\-.:;=@~|]*)+(?:\?[\w!$%&'()*+,\-./:;=?@~|\[\]{}]*)?", re.ASCII
)
_DEFAULT = httpx.USE_CLIENT_DEFAULT
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class InProcess(httpx.AsyncClient):
    """Asks an application in this process, and nothing between: what reads URLs, looks for cookies,
    redirects, proxies and a way there takes longer than the application.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        base: str = BASE,
        peer: str = "127.0.0.1",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(base_url=base, headers=headers)
        self.application = application
        self._peer = peer
        scheme, _, host_and_path = base.partition("://")
        host, slash, path = host_and_path.partition("/")
        self._scheme, self._host, self._path = scheme, host, slash + path
        own = {name.lower(): value for name, value in self.headers.raw}
        self._own = {b"host": host.encode(), **own}

    async def request(self, method: str, url: httpx.URL | str, **said: Any) -> httpx.Response:
        """As httpx sends it. A request that is plain does not become one of httpx before."""
        given = {name: one for name, one in said.items() if one is not None and one is not _DEFAULT}
        headers = given.get("headers", {})
        is_plain = given.keys() <= {"headers", "json"} and isinstance(headers, dict)
        if not is_plain or not (target := self._target(str(url))):
            return await super().request(method, url, **said)
        fields, body = dict(self._own), b""
        for name, text in headers.items():
            fields[_bytes(name).lower()] = _bytes(text)
        if (document := given.get("json")) is not None:
            body = _encoded(document).encode()
            fields.setdefault(b"content-type", b"application/json")
        if body or method in ("POST", "PUT", "PATCH"):
            fields.setdefault(b"content-length", b"%d" % len(body))
        return await self._ask(method, target, list(fields.items()), _once(body))

    async def send(self, request: httpx.Request, **_: Any) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        fields = [(name.lower(), text) for name, text in request.headers.raw]
        target, body = request.url.raw_path.decode(), aiter(request.stream)
        response = await self._ask(request.method, target, fields, body)
        response.request = request
        return response

    async def _ask(
        self, method: str, target: str, fields: Fields, body: AsyncIterator[bytes]
    ) -> httpx.Response:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "headers": fields,
            "scheme": self._scheme,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "server": (self._host, None),
            "client": (self._peer, 40000),
            "root_path": "",
        }
        exchange = _Exchange(body)
        await self.application(scope, exchange.receive, exchange.send)
        return exchange.response(is_bodiless=method == "HEAD")

    def _target(self, url: str) -> str:
        """What the request line has of a URL; empty if httpx has to say."""
        origin = f"{self._scheme}://{self._host}"
        target = self._path + url if url.startswith("/") else url.removeprefix(origin)
        return target if _PLAIN.fullmatch(target) else ""


class _Exchange:
    """What the application is told, and tells, of one request."""

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body
        self._has_more = True
        self._is_over = Event()
        self._started: Message = {}
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        """Each piece of the body, an empty one that ends it, and after the answer the end."""
        if not self._has_more or self._is_over.is_set():
            await self._is_over.wait()
            return {"type": "http.disconnect"}
        piece = await anext(self._body, None)
        self._has_more = piece is not None
        return {"type": "http.request", "body": piece or b"", "more_body": self._has_more}

    async def send(self, message: Message) -> None:
        """Its head, and then each piece of its body."""
        if message["type"] == "http.response.start":
            assert not self._started
            self._started = message
            return
        assert not self._is_over.is_set()
        self._parts.append(message.get("body", b""))
        if not message.get("more_body"):
            self._is_over.set()

    def response(self, *, is_bodiless: bool) -> httpx.Response:
        """What it has answered, whole."""
        assert self._is_over.is_set()
        content = b"" if is_bodiless else b"".join(self._parts)
        status, headers = self._started["status"], self._started.get("headers", [])
        response = httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))
        response.read()
        return response


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("ascii")
