"""The transit engine of OpenBao, or of Vault, which wraps keys with one that it never gives away.

The token is looked for whenever it is asked: in BAO_TOKEN, VAULT_TOKEN, and the file where `bao
login` and agents put it. No setting of ours has it, no address, and no text of an error.
"""

import base64
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec

from teamvars.security.answers import Answer, CutShort, HungUp, NoAnswer, Talk, is_guarded
from teamvars.security.wrapping import MOST_BYTES, SECONDS, NotUnwrapped, Unavailable

TOKEN_FILE = "~/.vault-token"
_TOKENS = ("BAO_TOKEN", "VAULT_TOKEN")
_AUTHORITIES = ("BAO_CACERT", "VAULT_CACERT")
_MOST_ANSWER_BYTES = 16 * 1024
_PATH = re.compile(r"(?:/[\w.-]+)+", re.ASCII)
_REASONS = {
    400: "refuses it: it was wrapped with another key, or this is none of its kind",
    403: "refuses the token",
    404: "has no such key, or no transit engine there",
}


class Transit(msgspec.Struct, frozen=True):
    """A key of an engine: where the server is, where the engine is there, and what the key is
    called.
    """

    server: str
    engine: str
    key: str
    seconds: float = SECONDS

    @classmethod
    def of(cls, url: str) -> "Transit":
        """That of `https://host:port/KEY`, or `…/ENGINE/KEY` for an engine that is not at
        `transit`. Raises ValueError.
        """
        if (place := _place(url)) is None:
            raise ValueError(
                "transit: must be https://host[:port]/KEY, or http:// on loopback; the token is "
                "never in it"
            )
        engine, _, key = place.path.strip("/").rpartition("/")
        return cls(f"{place.scheme}://{place.netloc}", engine or "transit", key)

    @property
    def id(self) -> str:
        return f"{self.engine}/{self.key}"

    def wrap(self, key: bytes) -> bytes:
        text = base64.b64encode(key).decode()
        return self._asked("encrypt", {"plaintext": text}, "ciphertext").encode()

    def unwrap(self, wrapped: bytes) -> bytes:
        try:
            given = {"ciphertext": wrapped.decode("ascii", "replace")}
            return base64.b64decode(self._asked("decrypt", given, "plaintext"), validate=True)
        except ValueError:
            raise NotUnwrapped(f"what {self.server} answers is none of a transit engine.") from None

    def _asked(self, verb: str, given: Mapping[str, str], wanted: str) -> str:
        """What the engine answers. Raises NotUnwrapped."""
        place = urlsplit(f"{self.server}/v1/{self.engine}/{verb}/{self.key}")
        found = self._exchanged(place, json.dumps(given).encode())
        if found.status != 200:
            reason = _REASONS.get(found.status, f"answers with status {found.status}")
            kind = Unavailable if found.status >= 429 else NotUnwrapped
            raise kind(f"{self.server} {reason}.")
        try:
            text = json.loads(found.content)["data"][wanted]
        except (ValueError, KeyError, TypeError, RecursionError):
            text = None
        if not isinstance(text, str) or len(text) > MOST_BYTES or not text.isascii():
            raise NotUnwrapped(f"what {self.server} answers is none of a transit engine.")
        return text

    def _exchanged(self, place: SplitResult, body: bytes) -> Answer:
        """What the server says, whole and in time. Raises NotUnwrapped."""
        deadline = time.monotonic() + self.seconds
        try:
            return _answered(place, _token(), body, deadline)
        except TimeoutError:
            text = f"{self.server} has not answered within {self.seconds:g} seconds."
            raise Unavailable(text) from None
        except (ssl.SSLEOFError, HungUp):
            raise Unavailable(f"{self.server} hangs up.") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason
            raise NotUnwrapped(f"TLS with {self.server} fails: {reason}.") from None
        except CutShort:
            raise Unavailable(f"what {self.server} answers is cut short.") from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise Unavailable(f"{self.server} cannot be asked: {reason}.") from None
        except NoAnswer:
            raise NotUnwrapped(f"what {self.server} answers is no HTTP, or too much.") from None


def _place(url: str) -> SplitResult | None:
    """The parts of a URL that names a key; None for one that does not."""
    try:
        place = urlsplit(url)
        _ = place.port
        (place.hostname or "").encode("idna")  # as whoever connects does
    except ValueError:
        return None
    is_odd = place.query or place.fragment or "@" in place.netloc or not place.hostname
    return place if is_guarded(place) and not is_odd and _PATH.fullmatch(place.path) else None


def _token() -> str:
    """The token. Raises NotUnwrapped."""
    try:
        token = _first(_TOKENS) or Path(TOKEN_FILE).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError, RuntimeError):  # the last one: there is no home
        token = ""
    if not token or not token.isascii() or not token.isprintable():
        raise NotUnwrapped(f"there is no token in {', '.join(_TOKENS)} or {TOKEN_FILE}.")
    return token


def _trusted() -> ssl.SSLContext:
    """Who vouches for the server: whom this machine trusts, or those of a file that is named as
    `bao` has it. Raises NotUnwrapped.
    """
    file = _first(_AUTHORITIES)
    try:
        return ssl.create_default_context(cafile=file)
    except OSError:
        raise NotUnwrapped(f"{file} has no certificates that can be read.") from None


def _first(names: Sequence[str]) -> str | None:
    """The first of these variables that is set."""
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _answered(place: SplitResult, token: str, body: bytes, deadline: float) -> Answer:
    """What the server answers. Raises OSError and NoAnswer."""
    headers = {
        "X-Vault-Token": token,
        "Content-Type": "application/json",
        "Connection": "close",
    }
    talk = Talk(_MOST_ANSWER_BYTES)
    with _connected(place, deadline) as connected:
        connected.sendall(talk.ask("POST", place, headers, body))
        while (found := talk.answer()) is None:
            talk.hear(_within(connected, deadline).recv(_MOST_ANSWER_BYTES))
    return found


def _connected(place: SplitResult, deadline: float) -> socket.socket:
    is_tls = place.scheme == "https"
    trusted = _trusted() if is_tls else None
    address = (place.hostname, place.port or (443 if is_tls else 80))
    plain = socket.create_connection(address, _left(deadline))
    if trusted is None:
        return plain
    return trusted.wrap_socket(_within(plain, deadline), server_hostname=place.hostname)


def _within(connected: socket.socket, deadline: float) -> socket.socket:
    """It, with what is left of the time for what it does next."""
    connected.settimeout(_left(deadline))
    return connected


def _left(deadline: float) -> float:
    if (left := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    return left
