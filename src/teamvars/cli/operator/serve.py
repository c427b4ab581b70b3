"""`serve`: granian with the application of `wiring.worker` in each worker process."""

import asyncio
import errno
import multiprocessing
import signal
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from teamvars import __version__, logs, settings, wiring
from teamvars.cli.exits import Failure, Misuse
from teamvars.cli.operator import exporter
from teamvars.cli.operator.context import is_over_soon, opened
from teamvars.cli.operator.host import finish, load_settings, require_closed
from teamvars.cli.operator.server import Application, Server
from teamvars.cli.options import OneOf, command, option
from teamvars.domain.errors import Refusal
from teamvars.logs import LogFormat
from teamvars.metrics import Gauge, Memory, count_in
from teamvars.metrics.exposition import Exposition
from teamvars.security import keyring
from teamvars.security.keyring import KeyringUnavailable
from teamvars.security.wrapping import Wrapping
from teamvars.services.installation import Installation
from teamvars.settings import Settings, SettingsError
from teamvars.signals import pass_over
from teamvars.storage.engines import database_for, described, is_sqlite
from teamvars.storage.engines.outages import reason

if sys.platform != "win32":
    import resource

GRACE_SECONDS = 10
_BACKLOG = 4096
_PAUSE_SECONDS = 1.0
_ADDRESS_SECONDS = 3.0
"""After a crash the last processes of a server may still be ending when it is started again."""
_ADDRESS_PAUSE_SECONDS = 0.05
_MOST_CONNECTIONS = 65_536
_OTHER_DESCRIPTORS = 256
_HEADER_MILLISECONDS = 10_000
MOST_READ_AHEAD = 16_384
"""Of a connection, in bytes: the longest head, and what is held of a body nobody has asked for."""

BUILD = Gauge("teamvars_build_info", "1, of the release that serves.", ("version",))

log = structlog.get_logger("teamvars.serve")


@command
@option("--host", "The address to listen on.")
@option("--port", "The port to listen on.", type=int)
@option("--workers", "How many processes serve.", type=int)
@option("--log-format", "How log lines look.", type=OneOf(LogFormat))
def serve(
    host: str | None, port: int | None, workers: int | None, log_format: LogFormat | None
) -> None:
    """Serve the API until SIGTERM; requests in flight are finished first."""
    if sys.platform != "win32":
        # Until the server heeds it: what is not there yet is looked for every second anyway.
        signal.signal(signal.SIGHUP, pass_over)
    config = load_settings(host=host, port=port, workers=workers, log_format=log_format)
    _require_certificate(config)
    _require_keys_of_issuers(config)
    by = wiring.wrapping_of(config)
    finish(_require_ready(config, by))
    listen(config, claimed_address(config, _ADDRESS_SECONDS), by)


def listen(
    config: Settings, address: str, by: Wrapping | None = None, *, ends_at_hangup: bool = False
) -> None:
    """Runs the server until it is told to stop. `by` is what wraps the keyring, and has been asked:
    no worker that takes the place of another asks it again.
    """
    if sys.platform == "linux":
        # What is here before workers begin is theirs. Python 3.14 would have each begin anew.
        multiprocessing.set_start_method("fork", force=True)
    if sys.platform != "win32":
        # What a process holds, keys and values too, is in no file once it has crashed.
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    settings.export(config)
    memories = [Memory() for _ in range(config.workers + 1)]
    count_in(memories[0])
    BUILD.set(1, __version__)
    _show(config, memories)
    log.info(
        "serving",
        host=config.host,
        port=config.port,
        workers=config.workers,
        store=described(config.url),
    )
    Server(
        "teamvars.wiring:worker",
        address=address,
        port=config.port,
        workers=config.workers,
        backlog=_BACKLOG,
        # Of connections, not requests: who says nothing must not keep others waiting at the door.
        backpressure=_most_connections(),
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        # While it would wait for a sign of HTTP/2, no time-out ends a connection that says nothing.
        http=HTTPModes.http1,
        websockets=False,
        http1_settings=HTTP1Settings(
            header_read_timeout=_HEADER_MILLISECONDS, max_buffer_size=MOST_READ_AHEAD
        ),
        ssl_cert=config.tls_cert,
        ssl_key=config.tls_key,
        log_access=False,
        log_level=LogLevels.warning,
        log_dictconfig=logs.TO_ROOT,
        workers_kill_timeout=GRACE_SECONDS,
        memories=memories[1:],
        ends_at_hangup=ends_at_hangup,
    ).serve(target_loader=partial(work, by, memories), wrap_loader=False)


def work(by: Wrapping | None, memories: Sequence[Memory]) -> Application:
    """See `wiring.worker`. It is here, so that a worker that begins anew, as on macOS, knows what
    the server counts.
    """
    return wiring.worker(by, memories)


def _show(config: Settings, memories: Sequence[Memory]) -> None:
    """Has scrapes answered, unless nobody is to see any metrics or the port is taken."""
    if config.metrics_address is None:
        return
    listener = exporter.listening(*config.metrics_address)
    if listener is not None:
        exporter.Exporter(listener, Exposition(memories)).start()


async def _require_ready(config: Settings, by: Wrapping | None) -> None:
    """Asked before any worker starts, so that a refusal is said once and clearly.

    Waits for a PostgreSQL that is not there yet, and for what has to unwrap the keyring; says once
    for each that it does.
    """
    said: set[str] = set()
    while True:
        try:
            return await _look(config, by)
        except Refusal as refusal:
            if is_sqlite(config.url) or not is_over_soon(refusal):
                raise
            waiting, why = "waiting for PostgreSQL", reason(refusal.__cause__ or refusal)
        except KeyringUnavailable as unavailable:
            waiting, why = "waiting for what unwraps the keyring", str(unavailable)
        if waiting not in said:
            log.warning(waiting, reason=why)
            said.add(waiting)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _look(config: Settings, by: Wrapping | None) -> None:
    require_closed(config)
    database = database_for(config.url)
    async with opened(config, database) as marking:
        if marking.warning is not None:
            log.warning("the keyring is marked for another store", reason=marking.warning)
        keys = keyring.load(config.keyring_path, by)
        await Installation(database).require_ready(keys)


def _most_connections() -> int:
    """As many as a worker may have descriptors for, beside those of its store and log."""
    if sys.platform == "win32":
        return _MOST_CONNECTIONS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, _MOST_CONNECTIONS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(limit - _OTHER_DESCRIPTORS, 1)


def _require_keys_of_issuers(config: Settings) -> None:
    """Ends the command when a file of keys does not serve."""
    try:
        wiring.setup_of(config)
    except SettingsError as error:
        raise Misuse(str(error)) from None


def _require_certificate(config: Settings) -> None:
    """Ends the command when TLS is asked for with files that do not serve."""
    if config.tls_cert is None:
        return
    try:
        # An empty password: nobody may be asked for one here.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            config.tls_cert, config.tls_key, password=""
        )
    except ssl.SSLError as error:
        raise Failure(
            f"TEAMVARS_TLS_CERT and TEAMVARS_TLS_KEY do not serve: {error.reason or 'no PEM'}."
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Failure(f"TEAMVARS_TLS_CERT or TEAMVARS_TLS_KEY cannot be read: {reason}.") from None


def claimed_address(config: Settings, patience: float = 0) -> str:
    """The numeric address of the host, where nobody else listens, and no other server will before
    this process and its workers have ended. Ends the command otherwise, after so many seconds.
    """
    until = time.monotonic() + patience
    while True:
        try:
            found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)
            family, _, _, _, name = found[0]
            _claim(family, name)
            return str(name[0])
        except (OSError, UnicodeError) as error:
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if not is_taken or time.monotonic() > until:
                reason = exporter.why_not(error)
                text = f"Cannot listen on {config.host} port {config.port}: {reason}."
                mend = " Choose another with --port." if is_taken else ""
                raise Failure(text + mend) from None
        time.sleep(_ADDRESS_PAUSE_SECONDS)


def _claim(family: int, name: tuple[Any, ...]) -> None:
    """Takes the address in a way that one process alone can. Raises OSError where another has it.

    To listen is none: workers share the port, also with those of a server that starts just now.
    """
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(name)
    address, port, *_ = name
    if sys.platform != "linux":  # where there are such names, which no file has
        return
    with socket.socket(socket.AF_UNIX) as claim:
        claim.bind(f"\0teamvars {address} {port}")
        claim.detach()
