"""When a token may expire, and which stored times can be written."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.times import LATEST, microseconds, moment
from teamvars.domain.tokens import LIFETIME, TokenDraft, can_expire
from teamvars.web.http.resource_objects import timestamp


@pytest.mark.parametrize(
    ("expired_at", "allowed"),
    [
        ("9999-12-31T23:59:59Z", True),
        ("9999-12-31T23:59:59+00:01", True),
        ("9999-12-31T23:59:59.000001Z", False),
        ("9999-12-31T23:59:59.999999Z", False),
        ("9999-12-31T23:59:59-23:59", False),
        ("0001-01-01T00:00:00+23:59", False),
        ("10000-01-01T00:00:00Z", False),
    ],
)
def test_a_token_expires_at_a_time_that_can_be_written(expired_at: str, allowed: bool) -> None:
    draft = TokenDraft(expired_at=expired_at)
    assert [fault.pointer for fault in draft.all_faults(0, None)] == (
        [] if allowed else ["/data/attributes/expired-at"]
    )
    if allowed:
        assert can_expire(draft.expires_at(0, None), 0)


@pytest.mark.parametrize(
    ("latest", "ends"), [(None, LIFETIME), (LIFETIME + 1, LIFETIME), (7, 7), (LATEST, LIFETIME)]
)
def test_a_token_that_says_no_end_has_one(latest: int | None, ends: int) -> None:
    assert TokenDraft().expires_at(0, latest) == ends
    assert TokenDraft().all_faults(0, latest) == []


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_time_there_is_is_written_as_it_is_or_as_the_nearest(at: int) -> None:
    text = timestamp(at, "row")
    found = moment(at)
    if found is not None:
        assert microseconds(found) == at
        assert text == found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert text[:4] == ("9999" if at > LATEST else "0001" if found is None else text[:4])


@pytest.mark.parametrize("at", ["soon", 1.5, b"x", None])
def test_what_is_no_number_is_no_time(at: object) -> None:
    assert moment(at) is None
    assert timestamp(at, "row") == "0001-01-01T00:00:00.000Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_stored_to_the_microsecond(at: datetime) -> None:
    assert moment(microseconds(at)) == at
