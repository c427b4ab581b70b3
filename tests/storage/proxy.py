"""A way to a PostgreSQL server that breaks at the moment a test wants it to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from tests.support.patience import HANGS

COMMITTED = b"COMMIT\x00"
"""How the server says that it has committed, and the client that it shall."""
WRITTEN = b"SELECT 1\x00"
"""How it says so of a brief batch; and of what else has one row."""
_ENDED = b"C57P01\x00"
"""How the server says that an administrator ends the connection."""


class Way:
    """Between client and server. Once `cut` is set, the next answer to a COMMIT breaks it, or that
    which has `committed` in it: `before` it reaches the client, or right `after`. While
    `half_open`, what the server says last arrives, and that it has hung up does not. From `freeze`
    to `thaw` connections are taken and nothing is passed on; `freezes_at_commit` freezes it once a
    COMMIT has gone to the server. Connections that there are when it is to `lose` them break at
    what the client says next.
    """

    def __init__(self, server_url: str) -> None:
        self._target = urlsplit(server_url)
        self.cut: str | None = None
        self.committed = COMMITTED
        self.half_open = False
        self.freezes_at_commit = False
        self.connections = 0
        self._lost = 0
        self.url = ""
        self._flows = asyncio.Event()
        self._flows.set()

    def freeze(self) -> None:
        """Says nothing more to anybody."""
        self._flows.clear()

    async def until_frozen(self) -> None:
        """Returns once it says nothing more."""
        async with asyncio.timeout(HANGS):
            while self._flows.is_set():  # noqa: ASYNC110 - there is an event for the contrary
                await asyncio.sleep(0)

    def lose(self) -> None:
        """Nobody hears what is said on the connections that there are."""
        self._lost = self.connections

    def thaw(self) -> None:
        """Passes on what was said meanwhile, and goes on."""
        self._flows.set()

    async def serve(self) -> asyncio.Server:
        """Begins to listen."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        user = self._target.netloc.rpartition("@")[0]
        self.url = self._target._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()
        return server

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        await self._flows.wait()
        host, port = self._target.hostname, self._target.port
        back, forth = await asyncio.open_connection(host, port)
        there = asyncio.create_task(self._pass_on(number, reader, forth))
        here = asyncio.create_task(self._pass_on(number, back, writer, watch=True))
        await asyncio.wait([there, here], return_when=asyncio.FIRST_COMPLETED)
        for task, stream in ((there, forth), (here, writer)):
            task.cancel()
            stream.close()

    async def _pass_on(
        self,
        number: int,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        watch: bool = False,
    ) -> None:
        while data := await source.read(65536):
            await self._flows.wait()
            if number <= self._lost:
                return
            is_over = watch and self.committed in data
            cut, self.cut = (self.cut, None) if is_over else (None, self.cut)
            if cut != "before":
                target.write(data)
                await target.drain()
            if self.freezes_at_commit and not watch and COMMITTED in data:
                self.freeze()
            if cut:
                return
            if self.half_open and _ENDED in data:
                await asyncio.Event().wait()


@asynccontextmanager
async def way_to(server_url: str) -> AsyncIterator[Way]:
    """A way that works until it is told to break."""
    way = Way(server_url)
    server = await way.serve()
    try:
        yield way
    finally:
        way.thaw()
        server.close()
