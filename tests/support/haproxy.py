"""A haproxy in front of two nodes, as docs/high-availability.md has it."""

import socket
import subprocess
from pathlib import Path
from typing import Self

from tests.support import packages
from tests.support.patience import wait_until
from tests.support.server import Server, end_group, free_port, is_ready

CONFIGURATION = """
global
    stats socket {folder}/haproxy.sock level admin
defaults
    mode http
    timeout connect 60s
    timeout client 300s
    timeout server 300s
    timeout check 60s
frontend service
    bind 127.0.0.1:{port}
    use_backend unready if {{ nbsrv(nodes) eq 0 }}
    default_backend nodes
backend nodes
    option httpchk GET /readyz
    default-server check inter 200ms
    server one 127.0.0.1:{one}
    server two 127.0.0.1:{two}
backend unready
    server one 127.0.0.1:{one}
    server two 127.0.0.1:{two}
"""


class Balancer:
    """Runs in a `with`, and asks each node for `/readyz` all the while."""

    def __init__(self, folder: Path, nodes: tuple[Server, Server]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._names = dict(zip(nodes, ("one", "two"), strict=True))
        one, two = nodes
        text = CONFIGURATION.format(folder=folder, port=self.port, one=one.port, two=two.port)
        (folder / "haproxy.cfg").write_text(text.lstrip())

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
