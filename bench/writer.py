"""The other client: writes into one workspace at a steady rate while others read it."""

import http.client
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from bench.wrk import NUMBER, Request, fresh_number

PER_SECOND = 50
ENOUGH = 0.9 * PER_SECOND
"""With less, what was measured was another thing."""

_CONNECTIONS = 10
"""So many that the rate is kept also where a write takes a fifth of a second."""


class Writer:
    """Writes inside the `with`; `per_second` afterwards tells what it came to.

    Each connection keeps to a timetable of its own, so that a slow write delays no other.
    """

    def __init__(self, url: str, request: Request, headers: Mapping[str, str]) -> None:
        self._address = urlsplit(url).netloc
        self._request = request
        self._headers = {**headers, "Content-Type": "application/vnd.api+json"}
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(n,)) for n in range(_CONNECTIONS)
        ]
        self._written = [0] * _CONNECTIONS
        self._begun = 0.0
        self.per_second = 0.0

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self.per_second = sum(self._written) / (time.monotonic() - self._begun)

    def _write(self, n: int) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=10)
        due = self._begun + n / PER_SECOND
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            due += _CONNECTIONS / PER_SECOND
            body = self._request.body.replace(NUMBER, f"{fresh_number():010}")
            connection.request(self._request.method, self._request.path, body, self._headers)
            answer = connection.getresponse()
            answer.read()
            self._written[n] += answer.status == 200
        connection.close()
