"""TLS before a PostgreSQL server: those of the tests are built without it."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_REQUEST_BYTES = 8  # SSLRequest (PostgreSQL, Message Formats)


@contextmanager
def tls_proxy(context: ssl.SSLContext, host: str, port: int) -> Iterator[int]:
    """The port of a front that asks for TLS and hands on what it hears to the server."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readexactly(_REQUEST_BYTES)
            writer.write(b"S")
            await writer.start_tls(context)
            behind, before = await asyncio.open_connection(host, port)
            await asyncio.gather(_relay(reader, before), _relay(behind, writer))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    started = asyncio.start_server(serve, "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(started, loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
