"""A way from a command to a service that stops, breaks or forgets where a test wants it to."""

import socket
import threading
from contextlib import suppress
from typing import Self

APPLY = b"actions/apply"


class Way:
    """Passes on what is said, in a `with`; `url` is its own address.

    The first request to apply something is what it waits for: of that it passes on no more than
    `passes` bytes, and of the answers to such requests it loses as many as `loses`. `met` is set
    once it has done so, or once the answer is there and `holds`.
    """

    def __init__(
        self, url: str, *, passes: int | None = None, loses: int = 0, holds: bool = False
    ) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._target = (host, int(port))
        self._passes = passes
        self._loses = loses
        self._holds = holds
        self.applies = 0
        """How many requests to apply something came this way."""
        self.met = threading.Event()
        self.heard = bytearray()
        """All that commands have said."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every connection; no other is taken."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._open += [near, far]
                applies = threading.Event()
                threading.Thread(target=self._there, args=(near, far, applies), daemon=True).start()
                threading.Thread(target=self._back, args=(far, near, applies), daemon=True).start()

    def _there(self, near: socket.socket, far: socket.socket, applies: threading.Event) -> None:
        with suppress(OSError):
            while piece := near.recv(16384):
                self.heard += piece
                if APPLY in piece:
                    self.applies += 1
                    applies.set()
                if applies.is_set() and self._passes is not None:
                    far.sendall(piece[: self._passes])
                    self.met.set()
                    while near.recv(65536):  # whatever follows goes nowhere
                        pass
                    break
                far.sendall(piece)
            far.close()

    def _back(self, far: socket.socket, near: socket.socket, applies: threading.Event) -> None:
        with suppress(OSError):
            while piece := far.recv(65536):
                if applies.is_set() and self._holds:
                    self.met.set()
                    continue
                if applies.is_set() and self._loses:
                    self._loses -= 1
                    break
                near.sendall(piece)
        with suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
