"""ASGI 3.0: the types of an application, and the lifespan protocol."""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from teamvars.origins import origin

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Lifespan = Callable[[], AbstractAsyncContextManager[None]]


def with_lifespan(application: ASGIApp, lifespan: Lifespan) -> ASGIApp:
    """The application with a lifespan, entered before the first request and left after the last."""

    def serve(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return _live(lifespan, receive, send)
        return application(scope, receive, send)

    return serve


async def _live(lifespan: Lifespan, receive: Receive, send: Send) -> None:
    """Tells the server when it may begin, and when it may end, or that the lifespan has failed."""
    phase = "startup"
    await receive()
    try:
        async with lifespan():
            await send({"type": "lifespan.startup.complete"})
            phase = "shutdown"
            await receive()
    except BaseException as error:
        await send({"type": f"lifespan.{phase}.failed", "message": origin(error)})
        raise
    await send({"type": "lifespan.shutdown.complete"})
