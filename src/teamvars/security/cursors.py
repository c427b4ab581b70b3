"""Cursors: positions in a list that callers hold and cannot read or make.

A position may be that of something its holder may not see. It is encrypted with AES-SIV, which
needs no nonce (RFC 5297), under a key derived from a master key, and bound to the list it belongs
to. Its length tells no more than a multiple of 128 bytes.
"""

import base64
import binascii
import hashlib
import hmac

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.pages import Position
from teamvars.security import length_prefixed
from teamvars.security.keyring import Keyring

PARAMETER = "page[after]"
"""The query parameter that a cursor comes in."""

_STEP_BYTES = 128


class Cursors:
    """Makes and opens cursors with the master keys of a keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        ciphers = {
            key_id: AESSIV(hmac.digest(key, length_prefixed("cursor", key_id), hashlib.sha512))
            for key_id, key in keyring.master.usable.items()
        }
        self._active = ciphers[keyring.master.active]
        self._all = tuple(ciphers.values())

    def seal(self, position: Position, list_: str) -> str:
        """The cursor of a position in that list; the same for the same position."""
        text = msgspec.json.encode(position)
        padded = text.ljust(-(-len(text) // _STEP_BYTES) * _STEP_BYTES)
        return _written(self._active.encrypt(padded, [_bound(list_)]))

    def open(self, cursor: str, list_: str, kind: type[Position]) -> Position | None:
        """The position. None unless a keyring with one of these keys made it for that list."""
        try:
            sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except (binascii.Error, ValueError):
            return None
        if _written(sealed) != cursor:  # the decoder skips what is none of its characters
            return None
        for cipher in self._all:
            try:
                padded = cipher.decrypt(sealed, [_bound(list_)])
            except (InvalidTag, ValueError):
                continue
            position: Position = msgspec.json.decode(padded, type=kind)
            return position
        return None

    def opened(self, cursor: str | None, list_: str, kind: type[Position]) -> Position | None:
        """As `open`, of what a caller sent; without one, None: the beginning.

        Refuses what is no cursor of that list.
        """
        position = None if cursor is None else self.open(cursor, list_, kind)
        if position is None and cursor is not None:
            detail = f"This {PARAMETER} is of no page of this list. Begin with the first one."
            raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=PARAMETER))
        return position


def _written(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _bound(list_: str) -> bytes:
    return length_prefixed("cursor of", list_)
