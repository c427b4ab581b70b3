"""Keyrings that are wrapped: sealed under a key that only a command or a service outside opens.

That key is made anew for each file, and is all that is seen outside: never the keyring. What comes
back from there is believed only if it opens the file, which is bound to who is to be asked.
"""

import base64
import json
import os
import re
import secrets
import select
import shlex
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Any, Protocol
from urllib.parse import SplitResult, urlsplit

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from teamvars.security.answers import Answer, CutShort, HungUp, NoAnswer, Talk, is_guarded
from teamvars.signals import clearing_first

KEY_BYTES = 32
MOST_BYTES = 4096
"""Of a wrapped key. A pipe takes so much at once, whether anybody reads it or not."""
SECONDS = 10.0
"""In which what is outside has to answer."""

_NONCE_BYTES = 12

LATER = os.EX_TEMPFAIL
"""The exit code of a command that may succeed later: sysexits.h has it."""

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


class NotUnwrapped(Exception):
    """What is outside has not opened, or sealed, a key; the text says what it did instead."""


class Unavailable(NotUnwrapped):
    """It cannot be asked now, and may be later."""


class Wrapping(Protocol):
    """What is outside. It is asked for seconds, and by whoever waits: never on an event loop."""

    @property
    def id(self) -> str:
        """Which it is, as the file says. It has no address, since that may change."""

    def wrap(self, key: bytes) -> bytes:
        """The key, sealed, in `MOST_BYTES` at most. Raises NotUnwrapped."""

    def unwrap(self, wrapped: bytes) -> bytes:
        """The key that was sealed, if it tells the truth. Raises NotUnwrapped."""


class Once:
    """Asks what is outside for each key once, and then knows it.

    Processes are started with it, so that a worker that dies is replaced whatever has become of
    what is outside.
    """

    def __init__(self, outside: Wrapping) -> None:
        self._outside = outside
        self._known: dict[bytes, bytes] = {}

    @property
    def id(self) -> str:
        return self._outside.id

    def wrap(self, key: bytes) -> bytes:
        return self._outside.wrap(key)

    def unwrap(self, wrapped: bytes) -> bytes:
        if wrapped not in self._known:
            self._known[wrapped] = self._outside.unwrap(wrapped)
        return self._known[wrapped]


def sealed(content: bytes, by: Wrapping) -> dict[str, str]:
    """The content as a file has it. What is outside must open at once what it has sealed: else
    nobody could ever read it. Raises NotUnwrapped.
    """
    key = secrets.token_bytes(KEY_BYTES)
    wrapped = by.wrap(key)
    if by.unwrap(wrapped) != key:
        raise NotUnwrapped("it does not open what it has sealed a moment ago.")
    nonce = secrets.token_bytes(_NONCE_BYTES)
    text = nonce + AESGCM(key).encrypt(nonce, content, _bound(by.id))
    return {"by": by.id, "key": _encoded(wrapped), "content": _encoded(text)}


def opened(document: Mapping[str, Any], by: Wrapping) -> bytes:
    """What `sealed` was given. Raises NotUnwrapped; and ValueError, KeyError or TypeError for what
    it has not made.
    """
    wrapped, content = (base64.b64decode(document[name], validate=True) for name in _PARTS)
    key = by.unwrap(wrapped)
    if len(key) != KEY_BYTES:
        raise NotUnwrapped(f"it answers with {len(key)} bytes that are no key.")
    nonce, text = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
    try:
        return AESGCM(key).decrypt(nonce, text, _bound(by.id))
    except InvalidTag:
        raise NotUnwrapped("it answers with another key, or the file was altered.") from None


_PARTS = ("key", "content")


def _bound(id_: str) -> bytes:
    return f"teamvars wrapped keyring\n{id_}".encode()


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


class Command(msgspec.Struct, frozen=True):
    """A command that wraps keys, by its words without the last: that is `wrap` or `unwrap`. It
    reads a key on its standard input and writes one to its standard output.

    What it has to say otherwise it says on standard error, which is that of this process.
    """

    words: tuple[str, ...]
    seconds: float = SECONDS

    @classmethod
    def of(cls, text: str) -> "Command":
        """The command of a line, which is split as a shell does. Raises ValueError."""
        if not (words := shlex.split(text)) or "\0" in text:
            raise ValueError("command: needs the words of a command")
        return cls(tuple(words))

    @property
    def id(self) -> str:
        return "command"

    def wrap(self, key: bytes) -> bytes:
        return self._said("wrap", key)

    def unwrap(self, wrapped: bytes) -> bytes:
        return self._said("unwrap", wrapped)

    def _said(self, word: str, given: bytes) -> bytes:
        try:
            # A group of its own: what it has started is ended with it.
            process = subprocess.Popen(
                [*self.words, word],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NotUnwrapped(f"{self.words[0]} cannot be run: {error.strerror}.") from None
        try:
            with clearing_first(partial(_kill, process)):
                said, code = _outcome(process, given, time.monotonic() + self.seconds)
        except (TimeoutError, subprocess.TimeoutExpired):
            text = f"{self.words[0]} has not ended after {self.seconds:g} seconds."
            raise Unavailable(text) from None
        if code == LATER:
            raise Unavailable(f"{self.words[0]} says to try again later (exit code {code}).")
        if code:
            raise NotUnwrapped(f"{self.words[0]} ends with exit code {code}.")
        return said


def _outcome(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, int]:
    """What it has said, and its exit code. Raises TimeoutError or TimeoutExpired."""
    try:
        said = _exchanged(process, given, deadline)
        return said, process.wait(max(deadline - time.monotonic(), 0))
    except BaseException:
        _kill(process)
        Thread(target=process.wait, daemon=True).start()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With what it has started, while nobody has waited for it: the number is still its own. What
    has become another account's, as sudo does, nobody here can end: it is waited for beside.
    """
    if process.returncode is None:
        with suppress(PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _exchanged(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> bytes:
    """Writes what is given, and reads what comes, as long as there is time and not too much."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it may have ended unread
        pipe.write(given[:MOST_BYTES])
    said = bytearray()
    while piece := _read(process.stdout, deadline):
        said += piece
        if len(said) > MOST_BYTES:
            raise NotUnwrapped(f"it writes more than {MOST_BYTES} bytes.")
    return bytes(said)


def _read(pipe: IO[bytes], deadline: float) -> bytes:
    """What comes next; nothing at the end. Raises TimeoutError."""
    waiting = select.poll()  # a worker may have more files than select() knows
    waiting.register(pipe, select.POLLIN)
    if not waiting.poll(max(deadline - time.monotonic(), 0) * 1000):
        raise TimeoutError
    return os.read(pipe.fileno(), MOST_BYTES)


class Transit(msgspec.Struct, frozen=True):
    """A key of the transit engine of OpenBao, or of Vault, which never gives it away: where the
    server is, where the engine is there, and what the key is called.

    The token is looked for whenever it is asked: in BAO_TOKEN, VAULT_TOKEN, and the file where `bao
    login` and agents put it. No setting of ours has it, no address, and no text of an error.
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


def adapter(text: str) -> Wrapping:
    """The adapter of `command:…` or `transit:URL`. Raises ValueError, which does not quote it."""
    kind, _, rest = text.partition(":")
    if kind == "command":
        return Command.of(rest)
    if kind == "transit":
        return Transit.of(rest)
    raise ValueError("must be command:… or transit:URL")
