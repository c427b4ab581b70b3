"""An HTTP proxy of this host: it passes on what follows a CONNECT, and keeps what it was told."""

import socket
import threading
from contextlib import suppress
from typing import Self


class ConnectProxy:
    """In a `with`. Whatever a CONNECT names, it leads to one port of this host."""

    def __init__(self, port: int, *, status: int = 200) -> None:
        self._port = port
        self._status = status
        self.asked: list[str] = []
        """The heads of the requests."""
        self.heard = bytearray()
        """All that clients have said after them."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with suppress(OSError), near:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += near.recv(1)
            self.asked.append(head.decode())
            near.sendall(b"HTTP/1.1 %d Said\r\nX-Proxy: 1\r\n\r\n" % self._status)
            if self._status != 200:
                return
            with socket.create_connection(("127.0.0.1", self._port)) as far:
                threading.Thread(target=_pass_on, args=(far, near), daemon=True).start()
                while piece := near.recv(65536):
                    self.heard += piece
                    far.sendall(piece)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
