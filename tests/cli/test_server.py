"""What `serve` makes of granian: its supervisor's patience, its sockets, and the version it is."""

import hashlib
import inspect
import socket
import sys

import granian
import pytest
from granian.server.common import AbstractServer, AbstractWorker
from granian.server.mp import MPServer, WorkerProcess

from teamvars.cli.operator import server
from teamvars.cli.operator.server import FIRST_PAUSE, LONGEST_PAUSE, MOST_FAILED_STARTS, Place

_OVERRIDDEN = (
    AbstractServer._init_shared_socket,
    AbstractServer._respawn_workers,
    AbstractServer._serve_loop,
    AbstractServer.shutdown,
    AbstractWorker._watcher,
    MPServer._drop_shared_socket,
    MPServer._init_shared_socket,
    MPServer._spawn_worker,
    WorkerProcess.wrap_target,
)


def test_granian_is_the_one_whose_methods_are_overridden() -> None:
    """Else read them again, in granian/server, before the hash is changed here."""
    text = "".join(inspect.getsource(method) for method in _OVERRIDDEN)
    assert granian.__version__ == "2.8.7"
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "0643ea9ffcc16f00352f47d82d7df69ad8994e27482f128838ae5cbafc5ad66c"
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
