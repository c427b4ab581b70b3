"""Keyrings that are wrapped: sealed under a key that only a command or a service outside opens.

That key is made anew for each file, and is all that is seen outside: never the keyring. What comes
back from there is believed only if it opens the file, which is bound to who is to be asked.
"""

import base64
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
MOST_BYTES = 4096
"""Of a wrapped key. A pipe takes so much at once, whether anybody reads it or not."""
SECONDS = 10.0
"""In which what is outside has to answer."""

_NONCE_BYTES = 12


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
