"""How a worker ends: for a moment it still answers, and each answer ends its connection.

Else a connection that a proxy keeps would be closed at any moment, such as when the proxy has just
sent the next request on it.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from granian._granian import WorkerSignal

SECONDS = 1.0
"""For how long connections are answered and ended before the server stops."""

_CLOSE = (b"Connection", b"close")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class LastAnswers:
    """An application whose answers say `Connection: close` from SIGTERM or SIGINT on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._is_ending = False

    def __call__(self, scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        """Serves a request, or lives."""
        if self._is_ending and scope["type"] == "http":
            send = _closing(send)
        return self._application(scope, receive, send)

    def heed_signals(self, loop: asyncio.AbstractEventLoop) -> WorkerSignal:
        """What tells the server to stop, `SECONDS` after the first signal."""
        stop = WorkerSignal()

        def end() -> None:
            if not self._is_ending:
                self._is_ending = True
                loop.call_later(SECONDS, stop.set)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        return stop


def _closing(send: Send) -> Send:
    async def send_closing(message: Message) -> None:
        if message["type"] == "http.response.start" and _CLOSE not in message["headers"]:
            message["headers"] = [*message["headers"], _CLOSE]
        await send(message)

    return send_closing
