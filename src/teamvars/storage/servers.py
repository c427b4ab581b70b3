"""The PostgreSQL servers that a URL names, and connections that notice when one falls silent."""

import asyncio
import socket
from typing import Any
from urllib.parse import SplitResult, urlunsplit

import asyncpg
from asyncpg import exceptions as pg

CONNECT_SECONDS = 3.0
"""How long one server may take to let us in."""

_SILENT_SECONDS = 10
"""For how long a server, or the network before it, may let what we send go unconfirmed."""

_WATCH = {
    "TCP_KEEPIDLE": _SILENT_SECONDS // 2,
    "TCP_KEEPINTVL": _SILENT_SECONDS // 4,
    "TCP_USER_TIMEOUT": _SILENT_SECONDS * 1000,
}
_ANOTHER_MAY_DO = (OSError, pg.PostgresError, asyncpg.TargetServerAttributeNotMatched)


class Watched(asyncpg.Connection):
    """A connection that is lost soon after the server's host or the network has gone silent.

    By itself the kernel waits for a quarter of an hour, or for ever where nothing is to be sent.
    """

    def __init__(self, protocol: Any, transport: asyncio.Transport, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        connected = transport.get_extra_info("socket")
        if connected.family != socket.AF_UNIX:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _WATCH.items():
                if hasattr(socket, name):  # Linux has all of them, other systems some
                    connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Servers:
    """Connects to the first server that will do; the one that did last is asked first.

    Each has a time of its own: the driver has one for all, which the first that is silent uses up.
    """

    def __init__(self, url: SplitResult) -> None:
        user, at, hosts = url.netloc.rpartition("@")
        self._dsns = [
            urlunsplit(url._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")
        ]

    @property
    def further_seconds(self) -> float:
        """How much longer than one of them it may take to have asked all."""
        return CONNECT_SECONDS * (len(self._dsns) - 1)

    async def connect(self, *_: Any, **options: Any) -> Watched:
        """A connection, for the pool. Raises what the driver does when no server will do."""
        errors: list[Exception] = []
        for dsn in list(self._dsns):
            try:
                connection: Watched = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, **options)
            except _ANOTHER_MAY_DO as error:
                errors.append(error)
            else:
                self._dsns.remove(dsn)
                self._dsns.insert(0, dsn)
                return connection
        # Whoever has waited for one that is silent is not to wait again.
        raise next((error for error in errors if isinstance(error, TimeoutError)), errors[-1])
