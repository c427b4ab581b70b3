"""What the service and a job agree on: keys, bundles and what they are bound to.

Both sides need it, so nothing here knows a store, a request or a command.
"""

import base64
import binascii

MACHINE = "urn:teamvars:key:"
"""The issuer of a machine that signs for itself: then its Ed25519 public key, as `encoded`."""


class Malformed(Exception):
    """It is not of the form that was agreed on."""


def encoded(content: bytes) -> str:
    """Bytes as documents show them: base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """The bytes of such a text, which is the only one for them. Raises Malformed."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Malformed from None
    if encoded(content) != text:
        raise Malformed  # it says the same in another way
    return content


def token_id(token_hash: bytes) -> str:
    """What names a job's token, by the SHA-256 of it, to both sides: it tells nobody the token."""
    return encoded(token_hash[:16])
