"""Keys, sealing of values, tokens, and the links of the audit chain.

What any of them authenticates it turns into unambiguous bytes here: every field behind its length.
"""

from struct import Struct

_KIND_AND_LENGTH = Struct(">cQ").pack


def text_field(text: str) -> bytes:
    """What `length_prefixed` makes of one text; a field may be appended to others."""
    content = text.encode()
    return _KIND_AND_LENGTH(b"t", len(content)) + content


def length_prefixed(*fields: str | bytes | int | None) -> bytes:
    """One byte string from which the fields could be read back, so no two lists share one.

    A field is a kind byte (none, text, bytes, integer), its length in 8 bytes, and its content.
    Anything else, such as a number with a fraction, is a TypeError: it must not pass for another.
    """
    parts: list[bytes] = []
    for value in fields:
        if isinstance(value, str):
            kind, content = b"t", value.encode()
        elif isinstance(value, bytes):
            kind, content = b"b", value
        elif isinstance(value, int):
            kind, content = b"i", b"%d" % value
        elif value is None:
            kind, content = b"n", b""
        else:
            raise TypeError(type(value).__name__)
        parts.append(_KIND_AND_LENGTH(kind, len(content)))
        parts.append(content)
    return b"".join(parts)
