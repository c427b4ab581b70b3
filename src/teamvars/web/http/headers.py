"""The header fields of a request, as bytes by name."""

from collections.abc import Mapping, Sequence

_LENGTH_DIGITS = 20  # of the largest number that a server takes for a length, 2**64 - 1


def by_name(headers: Sequence[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """Header fields by their names, which ASGI has in lower case.

    Of a repeated field the values make up one list (RFC 9110, 5.3).
    """
    found = dict(headers)
    if len(found) < len(headers):
        found.clear()
        for name, value in headers:
            found[name] = b"%b, %b" % (found[name], value) if name in found else value
    return found


def announced_bytes(headers: Mapping[bytes, bytes]) -> int | None:
    """The length of the body by the request's header fields (RFC 9112, 6.3).

    None where they do not say, or say it in more digits than a length needs.
    """
    if b"transfer-encoding" in headers:
        return None
    if b"content-length" not in headers:
        return 0
    length = headers[b"content-length"].strip().decode("latin-1")
    return int(length) if length.isdecimal() and len(length) <= _LENGTH_DIGITS else None
