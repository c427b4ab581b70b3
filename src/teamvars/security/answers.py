"""HTTP servers that this service asks: which may be asked, and what is said to them and heard, by
whoever has the connection.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult

import h11

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""How URLs call this machine."""
_BEGINNING = b"HTTP/"


class Answer(NamedTuple):
    """A status, and what came with it: of each header its last value, by its name in small
    letters.
    """

    status: int
    content: bytes
    headers: Mapping[str, str]


class NoAnswer(ValueError):
    """What a server says is no HTTP, or too much; or that cannot be asked in HTTP."""


class HungUp(ConnectionError):
    """A server has hung up, and said nothing."""


class CutShort(ConnectionError):
    """A server has hung up in the middle of its answer."""


class Talk:
    """What is said on one connection: requests, each answered whole, within a bound, before the
    next.
    """

    def __init__(self, most: int) -> None:
        """`most` are the bytes that an answer may have, its head included."""
        self._most = most
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=most)
        self._heard = 0
        self._response: h11.Response | None = None
        self._content = bytearray()

    def ask(
        self, method: str, place: SplitResult, headers: Mapping[str, str], body: bytes = b""
    ) -> bytes:
        """The bytes of a request. Raises NoAnswer."""
        fields = {
            "Host": place.netloc.rpartition("@")[2],
            "User-Agent": "teamvars",
            **({"Content-Length": str(len(body))} if body else {}),
            **headers,
        }
        target = (place.path or "/") + (f"?{place.query}" if place.query else "")
        try:
            if self.may_go_on:
                self._http.start_next_cycle()
                self._heard, self._response = 0, None
            request = h11.Request(method=method, target=target, headers=[*fields.items()])
            events = request, h11.Data(data=body), h11.EndOfMessage()
            return b"".join(self._http.send(event) or b"" for event in events)
        except (h11.LocalProtocolError, UnicodeError):  # whose texts have what was to be said
            raise NoAnswer from None

    def hear(self, data: bytes) -> None:
        """That was received; nothing: the server has hung up."""
        self._heard += len(data)
        self._http.receive_data(data)

    def answer(self) -> Answer | None:
        """The answer, once; None: more is to be heard. Raises HungUp, CutShort and NoAnswer."""
        if self.is_too_much:
            raise NoAnswer
        try:
            while (event := self._http.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Response):
                    self._response, self._content = event, bytearray()
                elif isinstance(event, h11.Data):
                    self._content += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return self._whole()
        except h11.RemoteProtocolError:
            if not self._heard:
                raise HungUp from None
            raise (CutShort if self._is_cut_short else NoAnswer) from None
        return None

    @property
    def is_too_much(self) -> bool:
        """Whether more was heard than an answer may have."""
        return self._heard > self._most

    @property
    def may_go_on(self) -> bool:
        """Whether something else can be asked: all was answered, and nothing was heard since."""
        is_done = self._http.our_state is self._http.their_state is h11.DONE
        return is_done and self._http.trailing_data == (b"", False)

    @property
    def _is_cut_short(self) -> bool:
        """Whether what was heard may be the beginning of an answer."""
        rest, has_ended = self._http.trailing_data
        is_http = self._response is not None or _BEGINNING.startswith(rest[: len(_BEGINNING)])
        return has_ended and is_http

    def _whole(self) -> Answer:
        assert self._response is not None  # its end came behind it
        headers = {name.decode(): value.decode("latin-1") for name, value in self._response.headers}
        return Answer(self._response.status_code, bytes(self._content), headers)


def is_guarded(place: SplitResult) -> bool:
    """Whether nobody on the way hears what is said there: it has TLS, or is on this machine."""
    return place.scheme == "https" or (place.scheme == "http" and place.hostname in LOOPBACK)
