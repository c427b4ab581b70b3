"""Times in µs UTC as they are stored, and which of them can be written."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], int]
"""Says what time it is, in µs UTC."""

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
"""As long as it takes, in µs."""
LATEST = 253_402_300_799_000_000
"""9999-12-31T23:59:59Z: the last second of the calendar, whatever a time is rounded to."""

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.IGNORECASE,
)
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


def in_24_months(at: int) -> int:
    """The same day and time two years later; of February 29th that is the 28th."""
    now = _EPOCH + timedelta(microseconds=at)
    day = 28 if (now.month, now.day) == (2, 29) else now.day
    return microseconds(now.replace(year=now.year + 2, day=day))


def timestamp(text: str) -> int | None:
    """What a timestamp of RFC 3339 stands for, which has a zone; None when it is none."""
    if _RFC_3339.fullmatch(text) is None:
        return None
    try:
        return microseconds(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError):  # no such day or hour, or none in UTC
        return None
