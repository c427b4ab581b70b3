"""How times are written in answers."""

from datetime import UTC, datetime


def timestamp(at: int) -> str:
    """A time in µs UTC as HCP Terraform writes it: milliseconds and a Z."""
    written = datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")
