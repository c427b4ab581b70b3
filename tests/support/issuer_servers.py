"""An issuer behind TLS on this machine, with the two documents of OpenID Connect Discovery."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from joserfc.jwk import ECKey

from tests.support.own_tls import own_tls

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""What a path is answered with."""

_ABOUT = "/.well-known/openid-configuration"


class IssuerServer:
    """An issuer: `keys` are those it has, `answers` what it says instead, `asked` the paths that it
    was asked for on so many `connections`; `authority` is the file of who vouches for it.
    """

    def __init__(self, url: str, authority: Path) -> None:
        self.url = url
        self.authority = authority
        self.client = ssl.create_default_context(cafile=str(authority))
        self.keys: list[ECKey] = []
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.connections = 0

    @property
    def looks(self) -> int:
        """How often its keys were looked for."""
        return self.asked.count(_ABOUT)

    def says(self, answer: Answer, path: str = _ABOUT) -> None:
        """Answers so from here on."""
        self.answers[path] = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request after the other, until whoever asks wants no more."""
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            is_last = False
            while not (is_last or writer.is_closing()):
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                fields = {name.lower(): value for name, value in lines}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                path, is_last = head.split()[1], fields.get("connection") == "close"
                self.asked.append(path)
                said = self.answers.get(path) or self.said(path, body.decode(), fields)
                await said(writer)
        writer.transport.abort() if writer.is_closing() else writer.close()

    def said(self, path: str, _: str, __: Mapping[str, str]) -> Answer:
        """What is said to that, with a body and the fields of its head."""
        if path == _ABOUT:
            return document({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        return document({"keys": [key.as_dict(private=False) for key in self.keys]})


def document(content: object, status: str = "200 OK", **headers: str) -> Answer:
    """Answers with a document."""
    return raw(json.dumps(content).encode(), status, headers)


def raw(body: bytes, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> Answer:
    """Answers with these bytes."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        said = {"Content-Length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)
        await writer.drain()

    return answer


@asynccontextmanager
async def issuer_server(
    folder: Path, kind: type[IssuerServer] = IssuerServer
) -> AsyncIterator[IssuerServer]:
    """A running issuer, which only its own authority vouches for."""
    context, authority = own_tls(folder)
    issuer = kind("", authority)
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0, ssl=context)
    issuer.url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    try:
        yield issuer
    finally:
        server.close()
