"""A haproxy in front of two nodes, as docs/high-availability.md has it."""

import re
import socket
import subprocess
from pathlib import Path
from typing import Self

from tests.support import packages
from tests.support.patience import wait_until
from tests.support.server import Server, end_group, free_port, is_ready

DOCUMENT = Path(__file__).parents[2] / "docs" / "high-availability.md"
ADDRESSES = "192.0.2.11:8080", "192.0.2.12:8080"


def configuration(folder: Path, port: int, nodes: tuple[int, int]) -> str:
    """That of the document with the ports of these nodes, without TLS, and patient with a host that
    is busy.
    """
    found = re.search(r"<!-- haproxy -->\n```\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found is not None
    text = re.sub(r"bind .*", f"bind 127.0.0.1:{port}", found[1])
    text = re.sub(r"(timeout \w+) \d+s", r"\1 300s", text)
    text = text.replace("/run/haproxy/admin.sock", f"{folder}/haproxy.sock")
    for address, node in zip(ADDRESSES, nodes, strict=True):
        text = text.replace(address, f"127.0.0.1:{node}")
    return text


class Balancer:
    """Runs in a `with`, and asks each node for `/readyz` all the while."""

    def __init__(self, folder: Path, nodes: tuple[Server, Server]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._names = dict(zip(nodes, ("one", "two"), strict=True))
        one, two = nodes
        text = configuration(folder, self.port, (one.port, two.port))
        (folder / "haproxy.cfg").write_text(text)

    def __enter__(self) -> Self:
        program = packages.program("haproxy", "haproxy")
        with (self._folder / "haproxy.log").open("w") as log:
            self._process = subprocess.Popen(
                [program, "-db", "-f", self._folder / "haproxy.cfg"],
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        wait_until(lambda: is_ready(self.url), (self._folder / "haproxy.log").read_text)
        return self

    def __exit__(self, *_: object) -> None:
        end_group(self._process)

    def take_out(self, node: Server) -> None:
        """Sends it nothing more, and returns when it has answered everything."""
        self._say(f"set server nodes/{self._names[node]} state drain")
        wait_until(lambda: self._seen(node)["scur"] == "0")

    def put_in(self, node: Server) -> None:
        """Sends it requests again, once it is seen to be ready."""
        self._say(f"set server nodes/{self._names[node]} state ready")
        wait_until(lambda: self._seen(node)["status"] == "UP")

    def times_down(self) -> int:
        """How often a node was found not to be ready."""
        return sum(int(self._seen(node)["chkdown"]) for node in self._names)

    def _seen(self, node: Server) -> dict[str, str]:
        head, *lines = self._say("show stat").splitlines()
        names = head.removeprefix("# ").split(",")
        rows = [dict(zip(names, line.split(","), strict=False)) for line in lines if line]
        where = {"pxname": "nodes", "svname": self._names[node]}
        return next(row for row in rows if where.items() <= row.items())

    def _say(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(f"{self._folder}/haproxy.sock")
            control.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: control.recv(65536), b"")).decode()
