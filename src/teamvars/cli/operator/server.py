"""Granian with a supervisor of its own: what becomes of workers that die, and of their sockets, and
how a worker ends.

It overrides five internal methods of granian and what a worker does at a signal. So granian's
version is pinned; a test fails when one of them is not what it was.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from contextlib import suppress
from ctypes import Array, c_bool
from functools import partial
from multiprocessing import parent_process
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import RawArray
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
import structlog
from granian import _signals
from granian._granian import SocketHolder, WorkerSignal
from granian.server.mp import MPServer, WorkerProcess

from teamvars import metrics
from teamvars.metrics import Counter, Memory

SECONDS = 1.0
"""For how long connections are answered and ended before the server stops."""

_CLOSE = (b"Connection", b"close")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
MOST_FAILED_STARTS = 5
"""How often running a worker may die before it has served, until the server gives up."""
_STEADY_SECONDS = 60.0
_UNREAD_MILLISECONDS = 30_000
_TURNS_TO_STOP = 10
"""More than a loop takes to stop once an application has started: about three."""
_CAN_LISTEN = sys.platform == "linux"
"""Whether there are the options that `listening` sets."""
DEATHS = Counter("teamvars_worker_deaths_total", "Workers that ended without being told to.")

log = structlog.get_logger("teamvars.serve")


class LastAnswers:
    """An application whose answers say `Connection: close` once its worker is to end: from SIGTERM
    or SIGINT on, and once the server is gone, whose port it would keep.

    Else a connection that a proxy keeps would be closed at any moment, such as when the proxy has
    just sent the next request on it.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._is_ending = False

    def __call__(self, scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        """Serves a request, or lives."""
        if self._is_ending and scope["type"] == "http":
            send = _closing(send)
        return self._application(scope, receive, send)

    def heed_signals(self, loop: asyncio.AbstractEventLoop) -> WorkerSignal:
        """What tells the worker to stop, `SECONDS` after the first signal or the server's end."""
        stop, parent = WorkerSignal(), parent_process()

        def end() -> None:
            if not self._is_ending:
                self._is_ending = True
                loop.call_later(SECONDS, stop.set)

        def follow(sentinel: int) -> None:
            loop.remove_reader(sentinel)
            log.error("the server was killed, and its worker ends")
            end()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        if parent is not None:
            loop.add_reader(parent.sentinel, follow, parent.sentinel)
        return stop


def _closing(send: Send) -> Send:
    async def send_closing(message: Message) -> None:
        if message["type"] == "http.response.start" and _CLOSE not in message["headers"]:
            message["headers"] = [*message["headers"], _CLOSE]
        await send(message)

    return send_closing


class Place(msgspec.Struct):
    """What became of the workers of one place, one after another, and when the next one starts."""

    pause: float = 0.0
    failed_starts: int = 0
    starts_at: float | None = None
    """On the monotonic clock; None while a worker is there."""

    @property
    def is_hopeless(self) -> bool:
        """Whether another start would be no better than the last ones."""
        return self.failed_starts >= MOST_FAILED_STARTS

    def lost(self, *, now: float, lived: float, had_served: bool) -> None:
        """Notes a death. Pauses double while deaths follow one another, else start small again."""
        self.failed_starts = 0 if had_served else self.failed_starts + 1
        again = not had_served or lived < _STEADY_SECONDS
        self.pause = min(max(self.pause * 2, FIRST_PAUSE), LONGEST_PAUSE) if again else FIRST_PAUSE
        self.starts_at = now + self.pause


class Wakeup:
    """As a `threading.Event`, which the handler of a signal may set whatever its thread is doing.

    An Event has a lock: set while the same thread waits for it or clears it, it would wait for
    itself, and a server that is told to end would never do so.
    """

    def __init__(self) -> None:
        self._told: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Wakes who waits, or will wait next."""
        self._told.put(None)

    def wait(self, seconds: float | None = None) -> None:
        """Returns once it is set, or after so long."""
        with suppress(Empty):
            self._told.get(timeout=seconds)

    def clear(self) -> None:
        """Whoever has set it until now wakes nobody any more."""
        while not self._told.empty():
            self._told.get_nowait()


class Server(MPServer):
    """Ends when it is told to, or when a worker dies five times running before it could serve.

    A worker that had served is always replaced, after a pause in which the others go on.
    """

    def __init__(
        self, *args: Any, memories: Sequence[Memory], ends_at_hangup: bool, **options: Any
    ) -> None:
        """`memories`: where each worker counts. SIGHUP is for the workers, unless the server
        `ends_at_hangup`.
        """
        super().__init__(*args, **options)
        if ends_at_hangup:
            self.signal_handler_reload = self.signal_handler_interrupt  # type: ignore[method-assign]
        self.main_loop_interrupt = Wakeup()  # type: ignore[assignment]  # it does what is asked of it
        self._memories = memories
        self._places = [Place() for _ in range(self.workers)]
        # In memory that the workers share: each writes its own, before it serves anybody.
        self._have_served: Array[c_bool] = RawArray(c_bool, self.workers)

    def _init_shared_socket(self) -> None:
        """The socket of a single worker outlives it: who comes meanwhile waits for the next one.

        Of several workers each has its own, which goes with it, and the others take who comes.
        """
        super()._init_shared_socket()  # type: ignore[no-untyped-call]
        if _CAN_LISTEN and self.workers == 1:
            self._sso = listening(self.bind_addr, self.bind_port, self.backlog)
            self._shd = _held(self._sso, self.backlog)

    def _spawn_worker(  # type: ignore[override]  # as MPServer's
        self, idx: int, target: Callable[..., None], callback_loader: Callable[[], Application]
    ) -> WorkerProcess:
        self._have_served[idx] = False
        self._places[idx].starts_at = None
        telling = partial(_load, callback_loader, self._memories[idx], self._have_served, idx)
        if _CAN_LISTEN and self.workers > 1:
            target = partial(_listen, target, (self.bind_addr, self.bind_port, self.backlog))
        return super()._spawn_worker(idx, target, telling)

    def _serve_loop(self, spawn_target: Callable[..., None], target_loader: Any) -> None:
        while not self.interrupt_signal:
            self.main_loop_interrupt.wait(self._seconds_to_next_start())
            # Before anything is looked at: what happens from here on wakes the next turn.
            self.main_loop_interrupt.clear()
            if self.reload_signal:
                self.reload_signal = False
                hang_up(self.wrks)
            while self.interrupt_children:
                self._note_death(self.interrupt_children.pop())
            if any(place.is_hopeless for place in self._places):
                log.error("no worker can start; the server ends", tries=MOST_FAILED_STARTS)
                # `shutdown` makes an exit code of 1 of it.
                self.interrupt_children.append(0)
                return
            if not self.interrupt_signal:
                self._respawn_workers(self._due(), spawn_target, target_loader)

    def _respawn_workers(
        self, workers: Iterable[int], spawn_target: Any, target_loader: Any, delay: float = 0
    ) -> None:
        for idx in workers:
            former = self.wrks[idx]
            fresh = self.wrks[idx] = self._spawn_worker(idx, spawn_target, target_loader)
            fresh.start()  # type: ignore[no-untyped-call]
            time.sleep(delay)
            stop([former], self._grace)

    def _stop_workers(self) -> None:
        stop(self.wrks, self._grace)
        self.wrks.clear()

    @property
    def _grace(self) -> float:
        return float(self.workers_kill_timeout or 0)

    def _note_death(self, idx: int) -> None:
        worker, place, now = self.wrks[idx], self._places[idx], time.monotonic()
        if worker.inner.is_alive():  # a reload was faster
            return
        had_served = bool(self._have_served[idx])
        DEATHS.add()
        place.lost(now=now, lived=now - worker.birth, had_served=had_served)
        log.warning(
            "a worker died and will be replaced",
            worker=idx + 1,
            exit_code=worker.inner.exitcode,
            had_served=had_served,
            pause=place.pause,
        )

    def _seconds_to_next_start(self) -> float | None:
        times = [place.starts_at for place in self._places if place.starts_at is not None]
        return max(min(times) - time.monotonic(), 0) if times else None

    def _due(self) -> list[int]:
        now = time.monotonic()
        return [
            idx
            for idx, place in enumerate(self._places)
            if place.starts_at is not None and place.starts_at <= now
        ]


def stop(workers: Iterable[WorkerProcess], seconds: float) -> None:
    """Tells workers to end, and kills those that have not ended after so many seconds.

    Whether one has ended is seen by its sentinel. To ask for its exit code is no way to learn it:
    granian's watcher, a thread, asks as well, and the kernel tells only one of them. The other is
    told that the worker is alive until that thread has had its turn, and would kill whatever
    process has its number by then.
    """
    asked = list(workers)
    for worker in asked:
        worker.terminate()  # type: ignore[no-untyped-call]
    end = time.monotonic() + seconds
    for worker in asked:
        if not wait([worker.inner.sentinel], max(end - time.monotonic(), 0)):
            log.warning("a worker has not ended in time and is killed", worker=worker.idx + 1)
            worker.kill()  # type: ignore[no-untyped-call]


def hang_up(workers: Iterable[WorkerProcess]) -> None:
    """Passes SIGHUP on to those that run, and heed it themselves: none is replaced for it."""
    for worker in workers:
        pid = worker.inner.pid
        if pid is not None and not wait([worker.inner.sentinel], 0):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGHUP)


def listening(address: str, port: int, backlog: int) -> socket.socket:
    """A socket for one worker, whose options the connections it accepts inherit.

    The kernel shares connections out evenly among the sockets of a port. Of one socket that all
    workers had, the one that happens to wake first would take nearly all that come one by one.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A peer that reads nothing for so long is let go, also while it confirms that it is there.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MILLISECONDS)
    listener.setblocking(False)
    listener.set_inheritable(True)
    listener.bind((address, port))
    listener.listen(backlog)
    return listener


def _held(listener: socket.socket, backlog: int) -> Any:
    holder: Any = SocketHolder  # its types do not know what it takes
    return holder(listener.fileno(), False, backlog)


def _listen(
    target: Callable[..., None],
    place: tuple[str, int, int],
    number: int,
    name: str | None,
    loader: object,
    _: object,
    *rest: object,
) -> None:
    """In a worker: runs it on a socket with our options, in the place of granian's."""
    listener = listening(*place)
    target(number, name, loader, ((None, _held(listener, place[2])), listener), *rest)


def _load(
    loader: Callable[[], Application], memory: Memory, have_served: "Array[c_bool]", idx: int
) -> Application:
    """In a worker: the application, which writes down when it has started."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Until granian waits for them: the parent's own handlers, inherited, would swallow them.
        signal.signal(number, signal.SIG_DFL)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the application heeds it
    metrics.count_in(memory)
    application = LastAnswers(loader())
    if sys.platform != "win32":  # where a loop heeds no signals
        _signals.set_loop_signals = application.heed_signals

    return telling_of_start(application, partial(have_served.__setitem__, idx, True))


def telling_of_start(application: Application, tell: Callable[[], None]) -> Application:
    """The application, which tells once when its server listens."""

    def telling(scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "lifespan":
            return application(scope, receive, send)

        async def note_start(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                _after_turns(_TURNS_TO_STOP, tell)
            await send(message)

        return application(scope, receive, note_start)

    return telling


def _after_turns(turns: int, tell: Callable[[], None]) -> None:
    """Tells after so many turns of the loop, which stands still between two of them until granian
    listens: a certificate it cannot use, for instance, ends the worker before the last.
    """
    if turns:
        asyncio.get_running_loop().call_soon(_after_turns, turns - 1, tell)
    else:
        tell()
