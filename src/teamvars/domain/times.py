"""Times in µs UTC as they are stored, and which of them can be written."""

from datetime import UTC, datetime, timedelta

LATEST = 253_402_300_799_000_000
"""9999-12-31T23:59:59Z: the last second of the calendar, whatever a time is rounded to."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(at: object) -> datetime | None:
    """The time; None for what no calendar has: by hand anything can be put into a row."""
    if not isinstance(at, int):
        return None
    try:
        return _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return None


def microseconds(at: datetime) -> int:
    """How it is stored; a time without a zone is in UTC."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)
