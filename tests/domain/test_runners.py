"""The rules of runners that need no store: what a version may say, and how a draft changes one."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.runners import (
    LONGEST_LIFE,
    MAX_DESCRIPTION_CHARACTERS,
    MAX_PATTERNS,
    MAX_TTL_SECONDS,
    MAX_WORKSPACES,
    MIN_TTL_SECONDS,
    Approval,
    ApprovalMode,
    Runner,
    RunnerDraft,
    RunnerSpec,
    RunnerStatus,
    foreign,
    spec_faults,
)

NOW = 1_000
ISSUER, OTHER = "https://ci.example.org", "https://other.example.org"
KEY = "A" * 43
SPEC = RunnerSpec("ci", NOW + 1, issuer=ISSUER, conditions={"sub": "job"}, workspace_ids=("ws-1",))
OF_KEY = replace(SPEC, issuer=None, conditions={}, public_key=KEY)


def runner(spec: RunnerSpec = SPEC, approved: RunnerSpec | None = None, version: int = 1) -> Runner:
    """Of whose first version that was approved, or nothing."""
    made = ApprovalMode.OPERATOR, 0, "root", "ak-1", b""
    approval = None if approved is None else Approval(1, approved, frozenset(), "", *made)
    return Runner("run-1", "org-1", version, spec, 0, approval=approval)


def named(count: int) -> tuple[str, ...]:
    return tuple(f"n-{n}" for n in range(count))


@pytest.mark.parametrize(
    ("last", "first_too_many"),
    [
        ({"description": "x" * MAX_DESCRIPTION_CHARACTERS}, {"description": "x" * 513}),
        ({"workspace_ids": named(MAX_WORKSPACES)}, {"workspace_ids": named(MAX_WORKSPACES + 1)}),
        ({"workspace_patterns": named(MAX_PATTERNS)}, {"workspace_patterns": named(51)}),
        ({"max_ttl": MIN_TTL_SECONDS}, {"max_ttl": MIN_TTL_SECONDS - 1}),
        ({"max_ttl": MAX_TTL_SECONDS}, {"max_ttl": MAX_TTL_SECONDS + 1}),
        ({"expires_at": NOW + 1}, {"expires_at": NOW}),
        ({"expires_at": NOW + LONGEST_LIFE}, {"expires_at": NOW + LONGEST_LIFE + 1}),
        ({"workspace_patterns": ("a" * 90,)}, {"workspace_patterns": ("a" * 91,)}),
        ({"workspace_patterns": ("*a",)}, {"workspace_patterns": ("**",)}),
        (
            {"workspace_patterns": ("a",), "workspace_ids": ()},
            {"workspace_patterns": (), "workspace_ids": ()},
        ),
    ],
)
def test_a_version_keeps_within_its_bounds(
    last: dict[str, Any], first_too_many: dict[str, Any]
) -> None:
    assert [*spec_faults(replace(SPEC, **last), [ISSUER], NOW)] == []
    assert len([*spec_faults(replace(SPEC, **first_too_many), [ISSUER], NOW)]) == 1


@pytest.mark.parametrize(
    ("draft", "proof"),
    [
        (RunnerDraft(), (ISSUER, {"sub": "job"}, None)),
        (RunnerDraft(issuer=OTHER), (OTHER, {"sub": "job"}, None)),
        (RunnerDraft(public_key=KEY), (None, {}, KEY)),
        (RunnerDraft(public_key=KEY, conditions={"a": "b"}), (None, {"a": "b"}, KEY)),
        (RunnerDraft(public_key=KEY, issuer=OTHER), (OTHER, {"sub": "job"}, KEY)),
        (RunnerDraft(issuer=""), (None, {"sub": "job"}, None)),
        (RunnerDraft(public_key=""), (ISSUER, {"sub": "job"}, None)),
        (RunnerDraft(public_key=KEY, issuer=""), (None, {}, KEY)),
    ],
)
def test_another_proof_takes_the_place_of_one(draft: RunnerDraft, proof: tuple[Any, ...]) -> None:
    spec = draft.applied_to(SPEC)
    assert (spec.issuer, spec.conditions, spec.public_key) == proof
    back = RunnerDraft(issuer=ISSUER, conditions={"sub": "job"}).applied_to(OF_KEY)
    assert back == SPEC


def test_a_draft_names_each_workspace_once_and_leaves_what_it_does_not_name() -> None:
    assert RunnerDraft(workspace_ids=("b", "a", "b")).applied_to(SPEC).workspace_ids == ("b", "a")
    for spec in (SPEC, OF_KEY):
        assert RunnerDraft(max_ttl=60).applied_to(spec) == replace(spec, max_ttl=60)


def test_a_runner_belongs_to_the_organization_it_is_proposed_in_however_that_is_written() -> None:
    assert foreign(RunnerDraft(), "acme") == foreign(RunnerDraft(organization="ACME"), "acme") == []
    assert len(foreign(RunnerDraft(organization="other"), "acme")) == 1


def test_where_a_runner_stands_follows_from_its_end_and_its_approval() -> None:
    ended = replace(SPEC, expires_at=NOW)
    for one, status in (
        (runner(), RunnerStatus.PROPOSED),
        (runner(approved=SPEC), RunnerStatus.APPROVED),
        (runner(approved=SPEC, version=2), RunnerStatus.CHANGED),
        (runner(ended, approved=SPEC), RunnerStatus.EXPIRED),
        (runner(ended), RunnerStatus.EXPIRED),
    ):
        assert one.status(NOW) is status


def test_what_a_job_lacks_is_told_by_the_names_of_claims() -> None:
    both, claims = runner(approved=SPEC), {"sub": "another"}
    assert both.unmet(ISSUER, None, {"sub": "job"}) == []
    assert both.unmet(ISSUER, None, claims) == ["sub"]
    assert both.unmet(OTHER, None, claims) == ["iss"]
    assert runner(replace(SPEC, issuer=OTHER), SPEC).unmet(ISSUER, None, claims) == ["sub", "iss"]
    assert runner(OF_KEY, OF_KEY).unmet("urn:machine", KEY, {}) == []
