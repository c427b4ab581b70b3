"""Times: which texts are one, and what is two years later."""

from datetime import UTC, datetime

import pytest

from teamvars.domain.times import in_24_months, microseconds, timestamp


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (datetime(2027, 3, 1, 12, tzinfo=UTC), datetime(2029, 3, 1, 12, tzinfo=UTC)),
        (datetime(2028, 2, 28, tzinfo=UTC), datetime(2030, 2, 28, tzinfo=UTC)),
        (datetime(2028, 2, 29, 23, tzinfo=UTC), datetime(2030, 2, 28, 23, tzinfo=UTC)),
        (datetime(2028, 3, 29, tzinfo=UTC), datetime(2030, 3, 29, tzinfo=UTC)),
    ],
    ids=str,
)
def test_what_begins_on_a_leap_day_ends_on_the_day_before_two_years_later(
    now: datetime, then: datetime
) -> None:
    assert in_24_months(microseconds(now)) == microseconds(then)


@pytest.mark.parametrize("text", ["1970-01-01T00:00:01Z", "1970-01-01t01:00:01.0+01:00"])
def test_a_timestamp_has_a_zone_and_a_second(text: str) -> None:
    assert timestamp(text) == 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "2030-01-01", "2030-01-01T00:00Z", "2030-01-01T00:00:00", "20300101T000000Z"),
        *("2030-W01-1T00:00:00Z", "2030-01-01 00:00:00Z", "2030-02-30T00:00:00Z"),
        *("2030-01-01T25:00:00Z", "2030-01-01T00:00:00Z "),
    ],
)
def test_what_is_no_day_or_hour_or_has_another_form_is_none(text: str) -> None:
    assert timestamp(text) is None
