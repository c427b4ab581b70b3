"""Bodies that are on their way, over sockets: who may have how much of one read (contract §2)."""

import asyncio
import selectors
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from teamvars.security.tokens import new_token
from teamvars.web.http import request as requests
from teamvars.web.http.parameters import FORM, MAX_FORM_BYTES
from tests.support.patience import HANGS, wait_until
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import JSON_API, Tenant, variable_document

LARGE = 2 * 1024 * 1024
SOON, LATER = HANGS, 0.3
UNKNOWN = {401, 429}
"""What a stranger is told, and one of many from one address."""


@contextmanager
def unfinished(
    served: ServedDeployment, path: str, token: str, length: int | None, sent: int = 1
) -> Iterator[socket.socket]:
    """A POST whose body, of that length or of none announced, does not come to its end."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    head = (
        f"POST /api/v2{path} HTTP/1.1\r\nHost: teamvars.test\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {JSON_API}\r\n{framing}\r\n\r\n"
    )
    begun = b"x" * sent if length is not None else b"%x\r\n%b\r\n" % (sent, b"x" * sent)
    with socket.create_connection(("127.0.0.1", served.server.port), timeout=SOON) as connection:
        connection.sendall(head.encode() + begun)
        yield connection


def status_of(connection: socket.socket, seconds: float = SOON) -> int | None:
    """The status of the answer; None when there is none by then."""
    connection.settimeout(seconds)
    try:
        return int(connection.recv(4096).split()[1])
    except TimeoutError:
        return None


def statuses_of(connections: Sequence[socket.socket]) -> set[int | None]:
    """What those are told that are answered first.

    They may be more than what was sent here fills up: the server may have yet to see that others,
    of before, have gone.
    """
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ, connection)
        answered = [key.data for key, _ in selector.select(SOON)]
    assert answered, "no answer in time"
    return {status_of(connection) for connection in answered}


@pytest.mark.parametrize("length", [LARGE, requests.UNAUTHENTICATED_BODY_BYTES + 1, None])
async def test_who_sends_a_long_body_is_known_before_it_is_read(
    served: ServedDeployment, served_tenant: Tenant, length: int | None
) -> None:
    path = served_tenant.vars_path()
    forged, valid = new_token("user"), served_tenant.tokens["writer"]
    with unfinished(served, path, forged, length) as connection:
        assert status_of(connection) in UNKNOWN
    with unfinished(served, path, valid, length) as connection:
        assert status_of(connection, LATER) is None


async def test_who_is_refused_can_send_the_rest_of_a_long_body(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    """Else the connection is reset, and a proxy in front of the service finds no answer."""
    path = served_tenant.vars_path()
    wait_until(lambda: is_heard_out(served, path))  # a busy host may send too late


def is_heard_out(served: ServedDeployment, path: str) -> bool:
    """Whether all of a body that fits into no buffer on the way goes out after its answer."""
    with unfinished(served, path, "nobody's", 8 * LARGE) as connection:
        assert status_of(connection) == 401
        try:
            connection.sendall(b"x" * (8 * LARGE - 1))
            while connection.recv(4096):
                pass
        except ConnectionError:
            return False
        return True


async def test_strangers_are_told_so_before_any_body_is_read_and_keep_nothing(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    path = served_tenant.vars_path()
    with ExitStack() as strangers:
        connections = [
            strangers.enter_context(unfinished(served, path, new_token("user"), 1000))
            for _ in range(20)
        ]
        assert {status_of(connection) for connection in connections} <= UNKNOWN


async def test_short_bodies_that_do_not_end_fill_their_share_and_then_their_senders(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    path, length = served_tenant.vars_path(), requests.UNAUTHENTICATED_BODY_BYTES
    most = (requests.UNAUTHENTICATED_BODIES_BYTES + requests.CALLER_BODY_BYTES) // length
    token = served_tenant.tokens["reader"]
    with ExitStack() as bodies:
        connections = [
            bodies.enter_context(unfinished(served, path, token, length, length - 1))
            for _ in range(most + 1)
        ]
        assert statuses_of(connections) == {429}
        for value in ("short", "long" * 50_000):
            document = variable_document(key=f"k{len(value)}", value=value)
            answer = await served_tenant.call("writer", "POST", path, document)
            assert answer.status_code == 201


async def test_forms_that_do_not_end_give_way_to_one_that_does(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    most = requests.UNAUTHENTICATED_BODIES_BYTES // MAX_FORM_BYTES
    head = f"POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: "
    begun = f"{head}{MAX_FORM_BYTES}\r\n\r\nx".encode()
    with ExitStack() as bodies:
        connections, to = [], ("127.0.0.1", served.server.port)
        for _ in range(most + 1):
            connection = bodies.enter_context(socket.create_connection(to, timeout=SOON))
            connection.sendall(begun)
            connections.append(connection)
        assert statuses_of(connections) == {503}
        whole = bodies.enter_context(socket.create_connection(to, timeout=SOON))
        whole.sendall(f"{head}1\r\n\r\nx".encode())
        assert status_of(whole) == 400


async def test_a_caller_and_a_worker_have_so_many_bytes_of_bodies_under_way(
    served: ServedDeployment, served_tenant: Tenant
) -> None:
    path, document = served_tenant.vars_path(), variable_document(value="x" * 100_000)
    each = requests.CALLER_BODY_BYTES // LARGE
    first, *others = [who for who in served_tenant.tokens if who != "owner"]
    with ExitStack() as bodies:
        token = served_tenant.tokens[first]
        connections = [
            bodies.enter_context(unfinished(served, path, token, LARGE)) for _ in range(each + 1)
        ]
        assert statuses_of(connections) == {429}
        assert (await served_tenant.call("owner", "POST", path, document)).status_code == 201
        answer = None
        while answer is None or answer.status_code == 422:  # its key is taken by now
            for who in others:  # the worker has more callers than room for them
                token = served_tenant.tokens[who]
                bodies.enter_context(unfinished(served, path, token, LARGE))
            answer = await served_tenant.call("owner", "POST", path, document)
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert answer.json()["errors"][0]["code"] == "busy"
        small = variable_document(key="small")
        assert (await served_tenant.call("owner", "POST", path, small)).status_code == 201
    while answer.status_code == 503:  # the server has yet to see that they have gone
        await asyncio.sleep(0.05)
        answer = await served_tenant.call("owner", "POST", path, document)
