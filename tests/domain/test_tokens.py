"""When a token may expire, and which stored times can be written."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.errors import invalid
from teamvars.domain.times import LATEST, in_24_months, microseconds, moment
from teamvars.domain.tokens import (
    MAX_DESCRIPTION_CHARACTERS,
    UNUSED_AFTER,
    DescribedOfTeam,
    IssuedToken,
    OfOrganization,
    OfTeam,
    OfUser,
    Token,
    TokenDraft,
    Whose,
    can_expire,
    told_of,
)
from teamvars.web.http.resource_objects import timestamp

END = in_24_months(0)


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
        ("2999-01-02t03:04:05.123456789z", True),
        ("2999-01-02T03:04:05", False),
        ("2999-01-02 03:04:05Z", False),
        ("2999-01-02", False),
        ("29990102", False),
        ("2999-W49-2", False),
    ],
)
def test_a_token_expires_at_a_time_that_can_be_written(expired_at: str, allowed: bool) -> None:
    draft = TokenDraft(expired_at=expired_at)
    assert [fault.pointer for fault in draft.all_faults(0, None)] == (
        [] if allowed else ["/data/attributes/expired-at"]
    )
    if allowed:
        assert can_expire(draft.expires_at(0, None), 0)


@pytest.mark.parametrize(("latest", "ends"), [(None, END), (END + 1, END), (7, 7), (LATEST, END)])
def test_a_token_that_says_no_end_has_one(latest: int | None, ends: int) -> None:
    assert TokenDraft().expires_at(0, latest) == ends
    assert TokenDraft().all_faults(0, latest) == []


@pytest.mark.parametrize(
    ("made", "ends"),
    [
        ("2026-11-25T22:40:04.5", "2028-11-25T22:40:04.5"),
        ("2025-01-31T00:00:00", "2027-01-31T00:00:00"),
        ("2028-02-29T23:59:59", "2030-02-28T23:59:59"),
        ("2026-02-28T12:00:00", "2028-02-28T12:00:00"),
    ],
)
def test_its_24_months_are_those_of_the_calendar(made: str, ends: str) -> None:
    now, end = (microseconds(datetime.fromisoformat(text)) for text in (made, ends))
    assert TokenDraft().expires_at(now, None) == end


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


@pytest.mark.parametrize(
    ("draft", "latest", "named"),
    [
        (TokenDraft("d" * MAX_DESCRIPTION_CHARACTERS), None, []),
        (TokenDraft("d" * (MAX_DESCRIPTION_CHARACTERS + 1)), None, ["description"]),
        (TokenDraft(expired_at="1970-01-01T00:00:02Z"), None, []),
        (TokenDraft(expired_at="1970-01-01T00:00:02Z"), 2_000_000, []),
        (TokenDraft(expired_at="1970-01-01T00:00:02"), 2_000_000, ["expired-at"]),
        (TokenDraft(expired_at="1970-01-01T00:00:02Z"), 1_999_999, ["expired-at"]),
    ],
)
def test_a_token_is_described_briefly_and_outlives_none_that_it_is_made_with(
    draft: TokenDraft, latest: int | None, named: list[str]
) -> None:
    found = [fault.pointer for fault in draft.all_faults(0, latest)]
    assert found == [f"/data/attributes/{name}" for name in named]


NOW = UNUSED_AFTER + 9


@pytest.mark.parametrize(
    ("expires_at", "last_used_at", "disabled", "marks"),
    [
        (None, 10, False, []),
        (NOW + 1, 10, False, []),
        (NOW, 10, False, ["expired"]),
        (None, 10, True, ["disabled"]),
        (None, 9, False, ["unused"]),
        (None, None, False, ["unused"]),
        (2**62, 10, True, ["touched"]),
    ],
)
def test_an_operator_is_told_of_tokens_that_nobody_needs_or_that_were_touched(
    expires_at: int | None, last_used_at: int | None, disabled: bool, marks: list[str]
) -> None:
    token = Token("at-1", "user", "user-1", 9, expires_at, last_used_at)
    assert IssuedToken(token, "alice", disabled).marks(NOW) == marks
    assert token.faulty() == (["expires"] if marks == ["touched"] else [])


@pytest.mark.parametrize(
    ("whose", "description", "codes"),
    [
        (OfTeam("team-1"), None, []),
        (OfTeam("team-1"), "", []),
        (OfTeam("team-1"), "ci", ["invalid_value"]),
        (DescribedOfTeam("team-1"), "ci", []),
        (DescribedOfTeam("team-1"), None, ["missing_member"]),
        (DescribedOfTeam("team-1"), "", ["invalid_value"]),
        (OfUser("user-1"), None, []),
        (OfOrganization("acme"), None, []),
        (OfOrganization("acme"), "ci", []),
    ],
)
def test_a_teams_token_beside_others_has_a_description_and_its_own_has_none(
    whose: Whose, description: str | None, codes: list[str]
) -> None:
    draft = TokenDraft(description=description)
    assert [fault.code.word for fault in draft.description_faults(whose)] == codes


def test_a_description_that_is_at_fault_already_is_not_said_to_be_missing() -> None:
    whose = DescribedOfTeam("team-1")
    faulty = TokenDraft(faults=(invalid("description", "No."),))
    assert faulty.description_faults(whose) == []
    other = TokenDraft(faults=(invalid("expired-at", "No."),))
    assert [fault.code.word for fault in other.description_faults(whose)] == ["missing_member"]


@pytest.mark.parametrize("description", ["two\nlines", "x" * (MAX_DESCRIPTION_CHARACTERS + 1)])
def test_a_description_is_one_line_and_no_longer_than_it_may_be(description: str) -> None:
    (fault,) = TokenDraft(description=description).all_faults(0, None)
    assert fault.pointer == "/data/attributes/description"


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("signed in with Example from 192.0.2.7, Firefox on Linux", "a sign-in"),
        ("signed in with Example, a browser", "a sign-in"),
        ("teamvars login on laptop from 2001:db8::7", "teamvars login on laptop"),
        ("teamvars login on laptop", "teamvars login on laptop"),
        ("deploys from the laptop", "deploys from the laptop"),
    ],
)
def test_others_are_not_told_whence_somebody_came(description: str, told: str) -> None:
    assert told_of(description) == told
