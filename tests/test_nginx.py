"""Two nodes behind nginx, as docs/operating.md sets it up: who is served when one is gone, and that
no change is sent twice.
"""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import httpx
import pytest

from tests.support.patience import HANGS, wait_until
from tests.support.server import free_port

OPERATING = Path(__file__).parent.parent / "docs" / "operating.md"
WELL, UNREADY = b"200 OK", b"503 Service Unavailable"
METHODS = ("GET", "POST", "PATCH", "DELETE")
MAIN = """\
daemon off;
error_log {folder}/errors;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    {temporary}
    {block}
}}
"""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Node:
    """Stands for a node: `says` so to each request that `came`, or hangs up.

    In a `with` it listens; before and afterwards nobody does.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self.says: bytes | None = WELL
        self.came: list[str] = []
        self._listener: socket.socket | None = None

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._listener is not None
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        self.came.append(head.split(b" ")[0].decode())
        if self.says is not None:
            closing = b"Content-Length: 0\r\nConnection: close\r\n\r\n"
            client.sendall(b"HTTP/1.1 " + self.says + b"\r\n" + closing)


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node]]:
    """Two that are well."""
    with Node() as one, Node() as other:
        yield one, other


@pytest.fixture
def proxy(nodes: tuple[Node, Node], tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of nginx with the block of the document."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    found = re.search(r"<!-- nginx -->\n```nginx\n(.*?)```", OPERATING.read_text(), re.DOTALL)
    assert found is not None
    port, block = free_port(), re.sub(r" *ssl_certificate.*\n", "", found[1])
    block = block.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    for node, address in zip(nodes, ("192.0.2.11:8080", "192.0.2.12:8080"), strict=True):
        block = block.replace(address, f"127.0.0.1:{node.port}")
    temporary = "\n".join(f"{name}_temp_path {tmp_path}/{name};" for name in TEMPORARY)
    text = MAIN.format(folder=tmp_path, temporary=temporary, block=block)
    (tmp_path / "nginx.conf").write_text(text)
    command = [program, "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_listening(port), (tmp_path / "errors").read_text)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=HANGS) as client:
            yield client
    finally:
        process.terminate()
        process.wait()


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def statuses(proxy: httpx.Client, method: str) -> list[int]:
    """Of several requests, which go to either node in turn."""
    return [proxy.request(method, "/", content=b"{}").status_code for _ in range(6)]


@pytest.mark.parametrize("method", METHODS)
def test_who_meets_a_node_that_is_gone_is_served_by_the_other(
    nodes: tuple[Node, Node], proxy: httpx.Client, method: str
) -> None:
    nodes[0].__exit__()
    assert statuses(proxy, method) == [200] * 6
    assert nodes[1].came == [method] * 6


def test_who_reads_from_a_node_that_is_not_ready_is_served_by_the_other(
    nodes: tuple[Node, Node], proxy: httpx.Client
) -> None:
    nodes[0].says = UNREADY
    assert statuses(proxy, "GET") == [200] * 6
    assert len(nodes[0].came) == 3


@pytest.mark.parametrize("says", [UNREADY, None], ids=["a 503", "no answer"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_change_that_one_node_has_got_is_never_sent_to_the_other(
    nodes: tuple[Node, Node], proxy: httpx.Client, method: str, says: bytes | None
) -> None:
    nodes[0].says = says
    assert sorted(statuses(proxy, method)) == [200] * 3 + [502 if says is None else 503] * 3
    assert [len(node.came) for node in nodes] == [3, 3]


def test_nodes_that_are_well_again_are_served_from_at_once(
    nodes: tuple[Node, Node], proxy: httpx.Client
) -> None:
    for node in nodes:
        node.says = None
    assert statuses(proxy, "POST") == [502] * 6
    for node in nodes:
        node.says = WELL
    assert statuses(proxy, "POST") == [200] * 6
