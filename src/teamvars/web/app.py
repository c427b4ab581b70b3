"""The ASGI application."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.routing import Router
from starlette.types import ASGIApp

from teamvars.web.frame import Frame

__all__ = ["ASGIApp", "application"]

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]


def application(frame: Frame, lifespan: Lifespan) -> ASGIApp:
    """Serves `frame`; `lifespan` is entered before the first request and left after the last."""
    return Router(default=frame, redirect_slashes=False, lifespan=lifespan)
