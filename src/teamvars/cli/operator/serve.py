"""`serve`: granian with the application of `wiring.worker` in each worker process."""

import socket
from typing import Annotated

import structlog
import typer
from granian import Granian
from granian.constants import Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from teamvars import logs, settings, wiring
from teamvars.cli.operator.context import fail, finish, load_settings
from teamvars.logs import LogFormat
from teamvars.security import keyring
from teamvars.services.installation import Installation
from teamvars.settings import Settings
from teamvars.storage.engines import database_for

GRACE_SECONDS = 10
_HEADER_MILLISECONDS = 10_000

log = structlog.get_logger("teamvars.serve")


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve.")] = None,
    log_format: Annotated[LogFormat | None, typer.Option(help="How log lines look.")] = None,
) -> None:
    """Serve the API until SIGTERM; requests in flight are finished first."""
    config = load_settings(context, host=host, port=port, workers=workers, log_format=log_format)
    finish(_require_ready(config))
    listen(config)


def listen(config: Settings) -> None:
    """Runs the server until it is told to stop."""
    address = free_address(config)
    settings.export(config)
    log.info("serving", host=config.host, port=config.port, workers=config.workers)
    Granian(
        "teamvars.wiring:worker",
        factory=True,
        address=address,
        port=config.port,
        workers=config.workers,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        websockets=False,
        http1_settings=HTTP1Settings(header_read_timeout=_HEADER_MILLISECONDS),
        log_access=False,
        log_level=LogLevels.warning,
        log_dictconfig=logs.TO_ROOT,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE_SECONDS,
    ).serve()


async def _require_ready(config: Settings) -> None:
    """Asked once before any worker starts, so that a refusal is said once and clearly."""
    keys = keyring.load(config.keyring_path)
    database = database_for(config.url)
    await database.open()
    try:
        await Installation(database, wiring.clock).require_ready(keys)
    finally:
        await database.close()


def free_address(config: Settings) -> str:
    """The numeric address of the host, where nobody else listens. Ends the command otherwise."""
    try:
        found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)
        family, _, _, _, name = found[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name)
    except OSError as error:
        fail(f"Cannot listen on {config.host} port {config.port}: {error.strerror}.")
    return str(name[0])
