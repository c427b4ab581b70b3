"""HTTP servers that this service asks: which may be asked, and their answers, which are received
whole, within a bound, then read.
"""

from email.message import Message
from http.client import HTTPResponse
from io import BytesIO
from typing import NamedTuple
from urllib.parse import SplitResult

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""How URLs call this machine."""


class Answer(NamedTuple):
    """A status, and what came with it."""

    status: int
    content: bytes
    headers: Message


def is_guarded(place: SplitResult) -> bool:
    """Whether nobody on the way hears what is said there: it has TLS, or is on this machine."""
    return place.scheme == "https" or (place.scheme == "http" and place.hostname in LOOPBACK)


def answer(received: bytes) -> Answer:
    """What a server has said before it hung up. Raises HTTPException and ValueError: it is no
    answer, or IncompleteRead: not a whole one.
    """
    response = HTTPResponse(_Received(received))  # type: ignore[arg-type]  # a socket, to be read
    try:
        response.begin()
        return Answer(response.status, response.read(), response.headers)
    except OverflowError:  # a length that no number of bytes can be
        raise ValueError from None


class _Received:
    """What a socket has received, as the parser of answers asks for it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _: str) -> BytesIO:
        """It, to be read."""
        return BytesIO(self._content)
