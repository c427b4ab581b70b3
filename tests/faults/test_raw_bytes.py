"""Whatever bytes a socket brings, a real server answers with no 5xx, hangs nowhere, and goes on."""

import asyncio
import contextlib
import json
import resource
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse

import httpx
import pytest

from teamvars.web.http.request import MAX_BODY_BYTES
from tests.support.patience import HANGS, wait_until
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import JSON_API, Tenant

CLOSED = 0
"""In the place of a status: the connection ends without an answer."""

DOCUMENT = b'{"data":{"type":"vars","attributes":{"key":"raw","description":"","category":"env"}}}'
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass(frozen=True)
class Wire:
    """A server's port, and what a good request to it would hold."""

    served: ServedDeployment
    token: str
    vars: str
    variable: str
    crew: str

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.served.server.port), timeout=HANGS)

    def request(
        self, method: str, path: str, *headers: str, body: bytes = b"", who: str | None = None
    ) -> bytes:
        """The bytes of a request by the owner, or by whoever shows another token."""
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {self.token if who is None else who}",
            f"Content-Type: {JSON_API}",
            *headers,
        ]
        return "".join(f"{line}\r\n" for line in [*head, ""]).encode() + body

    def chunked(self, method: str, path: str, body: bytes) -> bytes:
        """A request whose body is these bytes, said to be chunks."""
        return self.request(method, path, "Transfer-Encoding: chunked", body=body)

    def statuses(self, sent: bytes, answers: int = 1, *, cut: bool = False) -> list[int]:
        """The statuses of so many answers. A connection that ends earlier ends the list with
        CLOSED; one on which nothing happens is an error."""
        with self.connect() as connection:
            with contextlib.suppress(ConnectionError):  # an early answer is an answer
                connection.sendall(sent)
                if cut:
                    connection.shutdown(socket.SHUT_WR)
            return [*read_statuses(connection, answers)]

    def is_well(self) -> bool:
        """Whether the server still serves, and never thought it had a bug."""
        return self.statuses(self.request("GET", self.vars)) == [200] and not any(
            line["level"] == "error" and line.get("status") != 503  # another test's
            for line in self.served.server.log_lines()
        )


def read_statuses(connection: socket.socket, answers: int) -> Iterator[int]:
    with connection.makefile("rb") as file:
        for _ in range(answers):
            try:
                status_line, *headers = iter(lambda: file.readline().strip().lower(), b"")
            except (ConnectionError, ValueError):  # ValueError: there is not even that line
                yield CLOSED
                return
            length = [line.partition(b":")[2] for line in headers if b"content-length:" in line]
            file.read(int(*length))
            yield int(status_line.split()[1])


@pytest.fixture
async def wire(served: ServedDeployment, served_tenant: Tenant) -> Wire:
    tenant = served_tenant
    made = await tenant.make_variable("kept")
    path = f"/api/v2{tenant.vars_path()}"
    return Wire(
        served,
        tenant.tokens["owner"],
        path,
        f"{path}/{made['id']}",
        f"/api/v2{tenant.linkage_path()}",
    )


BROKEN_HEADS = {
    "a word": (b"nonsense\r\n\r\n", {400}),
    "zero bytes": (b"\0" * 64 + b"\r\n\r\n", {400}),
    "the beginning of TLS": (bytes.fromhex("16030100a5010000a10303") + b"x" * 100, {400}),
    "the beginning of HTTP/2": (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
        {400, CLOSED},
    ),
    "no version": (b"GET /healthz\r\n\r\n", {400}),
    "a version that there is not": (b"GET /healthz HTTP/9.9\r\n\r\n", {400}),
    "HTTP/1.0": (b"GET /healthz HTTP/1.0\r\n\r\n", {200}),
    "a space before the colon": (b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n", {400}),
    "a folded header": (b"GET /healthz HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", {400}),
    "a zero byte in a header": (b"GET /healthz HTTP/1.1\r\nA: \0\r\n\r\n", {400}),
    "bytes beyond ASCII in a header": (b"GET /healthz HTTP/1.1\r\nA: \xff\xfe\r\n\r\n", {200}),
    "bytes beyond ASCII in a path": (b"GET /\xff\xfe HTTP/1.1\r\n\r\n", {400}),
    "a header of a megabyte": (
        b"GET /healthz HTTP/1.1\r\nA: " + b"a" * 2**20 + b"\r\n\r\n",
        {431},
    ),
    "thousands of headers": (b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n", {431}),
    "a path of a megabyte": (b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\n\r\n", {414, 431}),
    "escapes that are none": (b"GET /%zz%ff%00%c3%28/%2e%2e HTTP/1.1\r\n\r\n", {404}),
    "a star for a path": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", {401}),
    "an authority for a path": (b"CONNECT a:443 HTTP/1.1\r\n\r\n", {405}),
    "an absolute path": (b"GET http://other/healthz HTTP/1.1\r\n\r\n", {200}),
    "a method that there is not": (b"G^T /healthz HTTP/1.1\r\n\r\n", {405}),
    "an upgrade": (
        b"GET /healthz HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        {200},
    ),
}


@pytest.mark.parametrize("name", BROKEN_HEADS)
def test_a_broken_head_is_refused_and_the_next_connection_served(wire: Wire, name: str) -> None:
    sent, expected = BROKEN_HEADS[name]
    (status,) = wire.statuses(sent)
    assert status in expected
    assert wire.is_well()


BAD_HOSTS = {
    "none": "",
    "an empty one": "Host:\r\n",
    "two": "Host: x\r\nHost: y\r\n",
    "the same twice": "Host: x\r\nHost: x\r\n",
    "a path": "Host: x/y\r\n",
}
GOOD_HOSTS = ("vars.example.com", "127.0.0.1:8080", "[::1]:8080", "x:")


@pytest.mark.parametrize("name", BAD_HOSTS)
def test_what_needs_a_token_needs_the_one_host_of_http_1_1(wire: Wire, name: str) -> None:
    fields = f"{BAD_HOSTS[name]}Authorization: Bearer {wire.token}\r\n\r\n"
    for method, path in (("GET", wire.vars), ("OPTIONS", wire.vars), ("GET", "/api/v2/nothing")):
        expected = [404] if path != wire.vars else [400]
        assert wire.statuses(f"{method} {path} HTTP/1.1\r\n{fields}".encode()) == expected
    assert wire.statuses(f"GET /readyz HTTP/1.1\r\n{fields}".encode()) == [200], "a probe"
    assert wire.statuses(f"GET {wire.vars} HTTP/1.0\r\n{fields}".encode()) == [200]
    assert wire.is_well()


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_whatever_is_a_host_is_served(wire: Wire, host: str) -> None:
    fields = f"Host: {host}\r\nAuthorization: Bearer {wire.token}\r\n\r\n"
    assert wire.statuses(f"GET {wire.vars} HTTP/1.1\r\n{fields}".encode()) == [200]
    absolute = f"GET http://{host}{wire.vars} HTTP/1.1\r\n{fields}"
    assert wire.statuses(absolute.encode()) == [200]


LENGTHS = {
    "a length and chunks": ("Content-Length: 5", "Transfer-Encoding: chunked"),
    "chunks and a length": ("Transfer-Encoding: chunked", "Content-Length: 5"),
    "two lengths": ("Content-Length: 5", "Content-Length: 6"),
    "a negative length": ("Content-Length: -5",),
    "a length with a sign": ("Content-Length: +5",),
    "a length of no number": ("Content-Length: five",),
    "a length beyond all numbers": ("Content-Length: " + "9" * 30,),
    "an encoding that there is not": ("Transfer-Encoding: gzip",),
    "chunks twice": ("Transfer-Encoding: chunked, chunked",),
    "another encoding inside chunks": ("Transfer-Encoding: gzip, chunked",),
    "chunks inside another encoding": ("Transfer-Encoding: chunked, gzip",),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_an_ambiguous_length_is_refused_and_smuggles_nothing(wire: Wire, name: str) -> None:
    smuggled = b"0\r\n\r\n" + wire.request("DELETE", wire.variable)
    sent = wire.request("POST", wire.vars, *LENGTHS[name], body=smuggled)
    first, *more = wire.statuses(sent, answers=2)
    assert first == 400
    assert more in ([CLOSED], [400])
    assert wire.statuses(wire.request("GET", wire.variable)) == [200]
    assert wire.is_well()


BROKEN_CHUNKS = {
    "a size that is no number": b"zz\r\n" + DOCUMENT + b"\r\n0\r\n\r\n",
    "a size beyond all numbers": b"f" * 20 + b"\r\n" + DOCUMENT + b"\r\n0\r\n\r\n",
    "a size that is too small": b"5\r\n" + DOCUMENT + b"\r\n0\r\n\r\n",
    "a negative size": b"-5\r\n" + DOCUMENT + b"\r\n0\r\n\r\n",
    "no size": b"\r\n" + DOCUMENT + b"\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", BROKEN_CHUNKS)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_broken_chunks_are_refused_and_nothing_is_changed(
    wire: Wire, method: str, name: str
) -> None:
    path = wire.vars if method == "POST" else wire.variable
    assert wire.statuses(wire.chunked(method, path, BROKEN_CHUNKS[name])) == [400]
    assert wire.statuses(wire.request("GET", wire.variable)) == [200]
    assert wire.is_well()


async def test_a_query_may_have_letters_beyond_ascii_as_they_are(
    wire: Wire, served_tenant: Tenant
) -> None:
    """As curl sends them."""
    await served_tenant.make_variable("größe")
    path = f"/api/v2/organizations/{served_tenant.organization}/vars?q=GRÖSSE&page[size]=1"
    with wire.connect() as connection:
        connection.sendall(wire.request("GET", path))
        answer = HTTPResponse(connection)
        answer.begin()
        found = json.load(answer)
    assert [one["attributes"]["key"] for one in found["data"]] == ["größe"]
    assert found["links"]["first"].endswith("?q=GR%C3%96SSE&page%5Bsize%5D=1")


def test_a_delete_with_a_chunked_body_works_and_the_connection_goes_on(wire: Wire) -> None:
    ignored = wire.chunked("DELETE", wire.variable, b"4;x=y\r\nnull\r\n0\r\nTrailer: x\r\n\r\n")
    assert wire.statuses(ignored + HEALTH, answers=2) == [204, 200]
    read = wire.chunked("DELETE", wire.crew, b'5\r\n{"dat\r\n6\r\na":[]}\r\n0\r\n\r\n')
    assert wire.statuses(read + HEALTH, answers=2) == [204, 200]
    assert wire.is_well()


@pytest.mark.parametrize("size", [5, 100_000, MAX_BODY_BYTES])
def test_a_request_behind_a_401_is_served_whatever_the_refused_body_held(
    wire: Wire, size: int
) -> None:
    body = HEALTH * (size // len(HEALTH) + 1)
    length = f"Content-Length: {len(body)}"
    sent = wire.request("POST", wire.vars, length, body=body, who="nobody's")
    statuses = wire.statuses(sent + wire.request("GET", wire.variable), answers=2)
    assert statuses in ([401, 200], [401, CLOSED])
    assert statuses == [401, 200] or size == MAX_BODY_BYTES
    assert wire.is_well()


@pytest.mark.parametrize("excess", [1, MAX_BODY_BYTES // 2, 4 * MAX_BODY_BYTES])
def test_a_body_behind_a_413_is_never_taken_for_a_request(wire: Wire, excess: int) -> None:
    body = wire.request("DELETE", wire.variable)
    body *= (MAX_BODY_BYTES + excess) // len(body) + 1
    sent = wire.request("POST", wire.vars, f"Content-Length: {len(body)}", body=body)
    statuses = wire.statuses(sent + HEALTH, answers=2)
    assert statuses in ([413, 200], [413, CLOSED], [CLOSED])
    assert statuses[0] == 413 or excess > MAX_BODY_BYTES, "a sender learns why it was refused"
    assert wire.statuses(wire.request("GET", wire.variable)) == [200]
    assert wire.is_well()


def test_a_hundred_requests_in_one_piece_get_a_hundred_answers(wire: Wire) -> None:
    both = wire.request("GET", wire.vars, who="nobody's") + HEALTH
    assert wire.statuses(both * 50, answers=100) == [401, 200] * 50


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_body_cut_short_is_refused_and_changes_nothing(wire: Wire, method: str) -> None:
    path = wire.vars if method == "POST" else wire.variable
    before = httpx.get(
        wire.served.server.url + wire.vars, headers=authorization(wire), timeout=HANGS
    ).content
    by_length = wire.request(method, path, "Content-Length: 500", body=DOCUMENT)
    by_chunks = wire.chunked(method, path, b"500\r\n" + DOCUMENT)
    for sent in (by_length, by_chunks, by_length[: len(by_length) // 3]):
        (status,) = wire.statuses(sent, cut=True)
        assert status in (400, CLOSED)
    after = httpx.get(
        wire.served.server.url + wire.vars, headers=authorization(wire), timeout=HANGS
    ).content
    assert after == before
    assert wire.is_well()


async def test_who_sends_slowly_is_cut_off_and_keeps_nobody_waiting(wire: Wire) -> None:
    """The time-outs are the server's own, so this takes as long as the longest of them. Were there
    none, it would not end: a byte goes out every second for ever.
    """
    slow_body = wire.request("POST", wire.vars, "Content-Length: 60")
    unwanted = wire.request("POST", wire.vars, "Content-Length: 60", who="nobody's")
    ends = [
        (b"", CLOSED),  # says nothing
        (b"GET /healthz HTTP/1.1\r\nX-Slow: ", CLOSED),
        (slow_body, 408),
        (unwanted, 401),
    ] * 20
    slow = [asyncio.create_task(trickled(wire, sent)) for sent, _ in ends]
    answered_beside = 0
    async with httpx.AsyncClient(headers=authorization(wire), timeout=HANGS) as client:
        while not all(task.done() for task in slow):
            answer = await client.get(wire.served.server.url + wire.vars)
            assert answer.status_code == 200
            answered_beside += not all(task.done() for task in slow)
            await asyncio.sleep(0.1)
    assert [task.result() for task in slow] == [status for _, status in ends]
    assert answered_beside
    assert wire.is_well()


async def trickled(wire: Wire, sent: bytes) -> int:
    """The status got by sending this and then, for ever, a byte a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.served.server.port)
    writer.write(sent)
    answered = asyncio.create_task(reader.read(12))
    while not answered.done():
        with contextlib.suppress(ConnectionError):
            writer.write(b"x" if sent else b"")
        await asyncio.wait([answered], timeout=1)
    writer.close()
    try:
        line = answered.result()
    except ConnectionError:
        line = b""
    return int(line[9:12]) if line else CLOSED


def authorization(wire: Wire) -> dict[str, str]:
    return {"Authorization": f"Bearer {wire.token}"}


def test_a_thousand_silent_connections_keep_nobody_waiting(wire: Wire) -> None:
    """More than the 1,024 at which granian, left alone, stops accepting any."""
    serve_beside_silence(wire, 1500)


@pytest.mark.long
async def test_ten_thousand_silent_connections_keep_nobody_waiting(
    wire: Wire,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11_000:
        pytest.skip(f"This system allows {hard} descriptors a process.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    serve_beside_silence(wire, 10_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def serve_beside_silence(wire: Wire, count: int) -> None:
    """On a busy host the server may have let them go by the time it answers: then once more."""
    wait_until(lambda: is_served_beside_silence(wire, count))
    assert wire.is_well()


def is_served_beside_silence(wire: Wire, count: int) -> bool:
    """Whether all of those connections were still there after some answers."""
    with contextlib.ExitStack() as connected:
        silent = [connected.enter_context(wire.connect()) for _ in range(count)]
        for _ in range(20):
            assert wire.statuses(wire.request("GET", wire.vars)) == [200]
        return is_open(silent[0])


def is_open(connection: socket.socket) -> bool:
    """Whether the other end still holds a connection on which it has nothing to say."""
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
