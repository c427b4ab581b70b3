"""Settings as a column: a JSON object of those that are no defaults."""

from typing import Any

import msgspec
import structlog

from teamvars.domain.client_settings import Settings, Values

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

log = structlog.get_logger("teamvars")


def to_column(values: Values) -> str:
    """What is stored of them."""
    return _encode(values).decode()


def from_column(settings: Settings, row: str, stored: str) -> Values:
    """Those that are stored, but for what this release does not know.

    Of what cannot be read, those that protect are taken to do so.
    """
    if stored == "{}":
        return {}
    try:
        return settings.known(_decode(stored))
    except (msgspec.DecodeError, RecursionError):
        log.warning("stored settings cannot be read", row=row)
        return settings.unread(settings.by_name.keys())
