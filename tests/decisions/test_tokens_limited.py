"""What becomes of requests about how long tokens may live."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Insert, Update
from teamvars.decisions.needs import TokenLimitsOf, ToOrganization
from teamvars.decisions.tokens import Shorten, limits_page, put_limits, shortened
from teamvars.domain.pages import Page
from teamvars.domain.tokens import (
    DEFAULT_LIMIT_MS,
    LIMITS_ENABLED,
    MAX_LIMIT_MS,
    MILLISECOND,
    MIN_LIMIT_MS,
    TWO_YEARS_MS,
    LimitsDraft,
    SaidLimit,
    TokenLimit,
    latest_end,
    limit_of,
)
from tests.decisions.directory import ACME, NOW, Answers, actions, found, refused, to_acme

HOUR_MS = 3_600_000
OF_TEAMS = limit_of("org-1", "team", HOUR_MS, 1)
LIMITING = replace(ACME, settings={LIMITS_ENABLED: True})


def knowing(*limits: TokenLimit, counted: bool = False, **may: Any) -> Answers:
    """An organization with these limits, which count if it says so."""
    granted = to_acme(**may)[ToOrganization("acme")]
    owner = replace(granted, organization=LIMITING) if counted else granted
    return {ToOrganization("acme"): owner, TokenLimitsOf("org-1"): list(limits)}


def saying(**limits: int) -> LimitsDraft:
    """A draft that sets the limits of these kinds."""
    said = (SaidLimit(kind, ms, f"/data/{n}") for n, (kind, ms) in enumerate(limits.items()))
    return LimitsDraft(tuple(said))


@pytest.mark.parametrize("counted", [False, True])
def test_a_limit_is_set_once_and_shortens_tokens_where_limits_count(counted: bool) -> None:
    decision = put_limits(found(knowing(counted=counted)), "acme", saying(team=HOUR_MS))
    made = limit_of("org-1", "team", HOUR_MS, NOW)
    shorter = Shorten("org-1", "team", HOUR_MS * MILLISECOND)
    assert decision.writes == (Insert(made), *([shorter] if counted else []))
    assert actions(decision) == [("org-1", "organization.limit-tokens")]
    assert decision.answer == [made]


def test_only_limits_that_are_others_are_written_and_all_are_shown() -> None:
    known = found(knowing(OF_TEAMS))
    same = put_limits(known, "acme", saying(team=HOUR_MS))
    assert (same.answer, same.writes, same.notes) == ([OF_TEAMS], (), ())
    decision = put_limits(known, "acme", saying(team=2 * HOUR_MS, organization=HOUR_MS))
    after = replace(OF_TEAMS, max_ttl_ms=2 * HOUR_MS, updated_at=NOW)
    own = limit_of("org-1", "organization", HOUR_MS, NOW)
    assert decision.writes == (Update(OF_TEAMS, after), Insert(own))
    assert decision.answer == [own, after]


@pytest.mark.parametrize(
    ("said", "codes"),
    [
        ({"team": MIN_LIMIT_MS - 1}, ["invalid_value"]),
        ({"team": MAX_LIMIT_MS + 1}, ["invalid_value"]),
        ({"nobody": HOUR_MS}, ["invalid_value"]),
        ({"user": HOUR_MS}, ["not_offered"]),
        ({"user": HOUR_MS, "nobody": HOUR_MS}, ["not_offered", "invalid_value"]),
    ],
)
def test_a_limit_that_there_cannot_be_is_refused(said: dict[str, int], codes: list[str]) -> None:
    assert refused(put_limits, found(knowing()), "acme", saying(**said)) == codes


def test_the_least_and_the_longest_limit_are_limits_and_what_is_not_limited_is_left_out() -> None:
    ends = saying(team=MIN_LIMIT_MS, organization=MAX_LIMIT_MS, user=TWO_YEARS_MS)
    decision = put_limits(found(knowing()), "acme", ends)
    kinds = [(one.kind, one.max_ttl_ms) for one in decision.answer]
    assert kinds == [("organization", MAX_LIMIT_MS), ("team", MIN_LIMIT_MS)]
    assert len(decision.writes) == 2


def test_a_kind_is_given_one_limit() -> None:
    twice = LimitsDraft(tuple(SaidLimit("team", ms, "/data") for ms in (HOUR_MS, MIN_LIMIT_MS)))
    assert refused(put_limits, found(knowing()), "acme", twice) == ["invalid_value"]
    alike = LimitsDraft(tuple(SaidLimit("team", HOUR_MS, "/data") for _ in range(2)))
    assert len(put_limits(found(knowing()), "acme", alike).writes) == 1


@pytest.mark.parametrize(
    ("may", "code"),
    [({"owner": False}, "forbidden"), ({"owner": False, "member": False}, "not_found")],
)
def test_limits_are_the_owners(may: dict[str, Any], code: str) -> None:
    assert refused(put_limits, found(knowing(**may)), "acme", saying(team=0)) == [code]
    assert refused(limits_page, found(knowing(**may)), "acme", None) == [code]


def test_limits_are_shown_all_or_by_the_page() -> None:
    both = limit_of("org-1", "organization", HOUR_MS, 1), OF_TEAMS
    known = found(knowing(*both))
    assert limits_page(known, "acme", None).items == list(both)
    second = limits_page(known, "acme", Page(2, 1))
    assert (second.items, second.total) == ([OF_TEAMS], 2)


def test_where_limits_begin_to_count_each_kind_is_shortened_to_its_own_or_the_default() -> None:
    lives = {"organization": DEFAULT_LIMIT_MS, "team": HOUR_MS}
    writes = shortened(found(knowing(OF_TEAMS)), ACME)
    assert writes == [Shorten("org-1", kind, ms * MILLISECOND) for kind, ms in lives.items()]


def test_a_token_ends_by_a_limit_where_limits_count() -> None:
    assert latest_end(ACME, "team", [OF_TEAMS], NOW) is None
    assert latest_end(LIMITING, "team", [OF_TEAMS], NOW) == NOW + HOUR_MS * MILLISECOND
    assert latest_end(LIMITING, "team", [], NOW) == NOW + DEFAULT_LIMIT_MS * MILLISECOND
