"""What `serve` makes of granian: its supervisor's patience, its sockets, and the version it is."""

import asyncio
import contextlib
import hashlib
import inspect
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import granian
import pytest
import uvloop
from granian import _signals
from granian.asgi import LifespanProtocol
from granian.server.common import AbstractServer, AbstractWorker
from granian.server.mp import MPServer, WorkerProcess
from structlog.testing import capture_logs

from teamvars.cli.operator import server
from teamvars.cli.operator.server import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    MOST_FAILED_STARTS,
    LastAnswers,
    Message,
    Place,
    Wakeup,
)
from tests.support.patience import HANGS

_OVERRIDDEN = (
    AbstractServer._init_shared_socket,
    AbstractServer._respawn_workers,
    AbstractServer._serve_loop,
    AbstractServer._stop_workers,
    AbstractServer.shutdown,
    AbstractWorker._watcher,
    MPServer._drop_shared_socket,
    MPServer._init_shared_socket,
    MPServer._spawn_worker,
    WorkerProcess.wrap_target,
    _signals.set_loop_signals,
)


def test_granian_is_the_one_whose_methods_are_overridden() -> None:
    """Else read them again, in granian/server, before the hash is changed here."""
    text = "".join(inspect.getsource(method) for method in _OVERRIDDEN)
    assert granian.__version__ == "2.8.7"
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "65f220645dfc89c9544967f61acf520591eb9ef8ce31d4122bba8a2e1d37041e"
    )


def test_pauses_double_while_deaths_follow_one_another_up_to_the_longest() -> None:
    place, pauses = Place(), []
    for _ in range(12):
        place.lost(now=100.0, lived=1.0, had_served=True)
        assert place.starts_at == 100.0 + place.pause
        pauses.append(place.pause)
    assert pauses[0] == FIRST_PAUSE
    assert pauses == [min(FIRST_PAUSE * 2**n, LONGEST_PAUSE) for n in range(12)]
    assert pauses[-1] == LONGEST_PAUSE
    assert not place.is_hopeless


def test_a_worker_that_stayed_up_is_replaced_after_the_shortest_pause() -> None:
    place = Place(pause=LONGEST_PAUSE)
    place.lost(now=0.0, lived=3600.0, had_served=True)
    assert place.pause == FIRST_PAUSE


def test_only_starts_that_fail_one_after_another_are_hopeless() -> None:
    place = Place()
    for served in (False, False, False, False, True, False, False, False, False):
        place.lost(now=0.0, lived=1.0, had_served=served)
        assert not place.is_hopeless
    place.lost(now=0.0, lived=1.0, had_served=False)
    assert place.failed_starts == MOST_FAILED_STARTS
    assert place.is_hopeless


async def test_the_tests_run_on_the_loop_that_a_worker_has() -> None:
    """They say so in a fixture of pytest-asyncio's own, which another release may do without."""
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_a_worker_that_does_not_listen_yet_has_not_served_however_slow_the_host_is(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def application(_: Message, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()

    class Slow(LifespanProtocol):
        async def send(self, message: Message) -> None:
            await super().send(message)  # type: ignore[no-untyped-call]
            time.sleep(0.05)  # noqa: ASYNC251 - the whole host stands still

    told: list[None] = []
    lifespan: Any = Slow(server.telling_of_start(application, lambda: told.append(None)))  # type: ignore[no-untyped-call]
    with contextlib.closing(new_loop()) as loop:
        loop.run_until_complete(lifespan.startup())
        assert not told
        for _ in range(20):
            loop.run_until_complete(asyncio.sleep(0))
        assert told == [None]
        loop.run_until_complete(lifespan.shutdown())


@pytest.mark.skipif(sys.platform != "linux", reason="the option is Linux's")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_connection_is_given_up_when_its_peer_reads_nothing_for_half_a_minute(
    address: str,
) -> None:
    with (
        server.listening(address, 0, 16) as listener,
        socket.create_connection(listener.getsockname()[:2]),
    ):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            unread = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert unread == 30_000
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_signal_wakes_whoever_waits_at_whatever_moment_it_comes() -> None:
    waking, moments = Wakeup(), iter(range(20))

    def hear(*_: object) -> Any:  # as the handler of a signal, between any two lines
        if next(moments, None) is not None:
            waking.set()
        return hear

    def work() -> None:
        sys.settrace(hear)
        waking.wait()
        waking.clear()
        sys.settrace(None)
        waking.set()
        waking.wait()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(HANGS)
    assert not thread.is_alive()


class Worker(SimpleNamespace):
    """A worker as the supervisor knows one, in a process of its own."""

    def __init__(self, work: Callable[[], None]) -> None:
        inner = multiprocessing.get_context("fork").Process(target=work)
        inner.start()
        super().__init__(idx=0, inner=inner, terminate=inner.terminate, kill=inner.kill)


def never() -> None:
    """Work that SIGTERM does not end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def test_a_worker_that_has_ended_is_not_killed_though_another_thread_was_told_so() -> None:
    """Its process then counts as alive for as long as that thread has no turn; here, for ever."""
    worker: Any = Worker(lambda: time.sleep(3600))
    worker.inner.terminate()
    os.waitpid(worker.inner.pid, 0)
    assert worker.inner.is_alive()
    worker.terminate = worker.kill = lambda: None
    with capture_logs() as lines:
        server.stop([worker], 3600)
    assert lines == []


def test_a_worker_that_does_not_end_is_killed_and_the_log_says_so() -> None:
    worker: Any = Worker(never)
    with capture_logs() as lines:
        server.stop([worker], 0)
    worker.inner.join()
    assert [line["event"] for line in lines] == ["a worker has not ended in time and is killed"]


@pytest.mark.skipif(sys.platform == "win32", reason="a loop heeds no signals there")
async def test_after_sigterm_answers_end_their_connections_and_only_then_the_server_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    stopped = asyncio.Event()

    async def application(_: Message, __: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"A", b"b")]})
        await send({"type": "http.response.body", "body": b"whole"})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            order.append("close" if (b"Connection", b"close") in message["headers"] else "kept")

    def stop() -> None:
        order.append("stop")
        stopped.set()

    async def serve_one() -> None:
        await serving({"type": "http"}, None, send)

    loop = asyncio.get_running_loop()
    serving: Any = LastAnswers(application)
    monkeypatch.setattr(server, "SECONDS", 0.05)
    monkeypatch.setattr(server, "WorkerSignal", lambda: SimpleNamespace(set=stop))
    serving.heed_signals(loop)
    await serve_one()
    os.kill(os.getpid(), signal.SIGTERM)
    while not serving._is_ending:  # noqa: ASYNC110 - of a signal
        await asyncio.sleep(0)
    await serve_one()
    os.kill(os.getpid(), signal.SIGTERM)  # once more: the first has said it
    await stopped.wait()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)
    assert order == ["kept", "close", "stop"]
