"""`/metrics` on a port of its own, served by the process in front, whatever its workers do."""

import asyncio
import os
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import h11
import structlog

from teamvars.metrics.exposition import PATH, Exposition

SECONDS = 5.0
"""For a connection, from its first byte to its last: each is for one request."""
CONNECTIONS = 64
_MOST_READ = 16 * 1024

log = structlog.get_logger("teamvars.serve")


class Exporter:
    """Answers scrapes in a thread of its own. A connection beyond `CONNECTIONS` is closed at once,
    so that who opens many takes no more than those.
    """

    def __init__(self, listener: socket.socket, exposition: Exposition) -> None:
        self._listener = listener
        self._exposition = exposition
        self._open = 0

    def start(self) -> None:
        """From now on scrapes are answered."""
        # A worker that is forked later has no business with the port.
        os.register_at_fork(after_in_child=self._listener.close)
        threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True).start()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._meet, sock=self._listener, limit=_MOST_READ)
        await server.serve_forever()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= CONNECTIONS:
                async with asyncio.timeout(SECONDS):
                    await self._answer(reader, writer)
        except (TimeoutError, OSError, h11.RemoteProtocolError, h11.LocalProtocolError):
            writer.transport.abort()  # what it has not read by now it will not
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_READ)
        while (event := connection.next_event()) is h11.NEED_DATA:
            connection.receive_data(await reader.read(_MOST_READ))
        if not isinstance(event, h11.Request):
            return
        status, body, media_type = self._said_to(event)
        headers = [
            ("Content-Type", media_type),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        begin = connection.send(h11.Response(status_code=status, headers=headers))
        content = b"" if event.method == b"HEAD" else connection.send(h11.Data(data=body))
        writer.write((begin or b"") + (content or b""))
        await writer.drain()
        # At once, although a worker that was forked meanwhile has the connection as well.
        with suppress(OSError):
            writer.write_eof()

    def _said_to(self, request: h11.Request) -> tuple[int, bytes, str]:
        plain = "text/plain; charset=utf-8"
        if _path(request.target) != PATH:
            return 404, b"Metrics are at /metrics.\n", plain
        if request.method not in (b"GET", b"HEAD"):
            return 405, b"Metrics are read with GET.\n", plain
        accept = b",".join(value for name, value in request.headers if name == b"accept")
        return 200, *self._exposition.text(accept.decode("latin-1"))


def _path(target: bytes) -> str:
    """That of what is asked for; one that is no URL has none."""
    try:
        return urlsplit(target).path.decode("latin-1")
    except ValueError:
        return ""


def listening(host: str, port: int) -> socket.socket | None:
    """A socket there; None, which is said in the log, where it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(found[0][4][:2], family=found[0][0])
    except (OSError, UnicodeError) as error:
        log.warning("there are no metrics", host=host, port=port, reason=why_not(error))
        return None


def why_not(error: OSError | UnicodeError) -> str:
    """Why a socket cannot listen. A name that DNS cannot have is a UnicodeError."""
    return str(error.strerror) if isinstance(error, OSError) else "this is no host name"
