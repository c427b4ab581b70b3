"""What is handed out is what both the approved version and the present one allow.

A deliberately naive reader of the same words is the judge.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.runners import (
    Approval,
    ApprovalMode,
    Runner,
    RunnerSpec,
    RunnerStatus,
    of_workspace,
    spec_faults,
)

DAY = 24 * 3600 * 1_000_000
ISSUERS = ["https://a.example", "https://b.example"]
KEYS = ["A" * 43, "B" * 42 + "A"]
IDS = ["ws-1", "ws-2", "ws-3"]
NAMES = ["prod-eu", "prod-us", "Prod-EU", "test", "prod"]
PATTERNS = ["prod-*", "*-eu", "test", "*e*", "PROD-*"]

claims = st.dictionaries(
    st.sampled_from(["sub", "ref"]), st.sampled_from(["x", "y", "a/b", 7, None]), max_size=2
)
conditions = st.dictionaries(
    st.sampled_from(["sub", "ref"]), st.sampled_from(["x", "y", "a/*", "a/b"]), max_size=2
)
federated: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, issuer=st.sampled_from(ISSUERS), conditions=conditions, public_key=st.none()
)
keyed: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, issuer=st.none(), conditions=st.just({}), public_key=st.sampled_from(KEYS)
)


@st.composite
def specs(draw: st.DrawFn) -> RunnerSpec:
    """A version."""
    return RunnerSpec(
        "ci",
        draw(st.integers(1, 5)),
        workspace_ids=tuple(draw(st.sets(st.sampled_from(IDS), max_size=2))),
        workspace_patterns=tuple(draw(st.sets(st.sampled_from(PATTERNS), max_size=2))),
        include_sensitive=draw(st.booleans()),
        allow_unbound=draw(st.booleans()),
        max_ttl=draw(st.integers(60, 63)),
        **draw(federated | keyed),
    )


@st.composite
def runners(draw: st.DrawFn) -> Runner:
    """A runner with an approval or without, of its present version or of another."""
    spec = draw(specs())
    if not draw(st.booleans()):
        return Runner("run-1", "org-1", 2, spec, 1)
    approved = draw(st.just(spec) | specs())
    reach = frozenset(draw(st.sets(st.sampled_from(IDS))))
    version = 2 if approved is spec else 1
    approval = Approval(version, approved, reach, "", ApprovalMode.OWNER, 1, "root", "ak-1", b"")
    return Runner("run-1", "org-1", 2, spec, 1, approval=approval)


def _is_like(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(_is_like(pattern[1:], name[n:]) for n in range(len(name) + 1))
    return name[:1] == pattern[0] and _is_like(pattern[1:], name[1:])


def _reaches(spec: RunnerSpec, id_: str, name: str) -> bool:
    patterns = [pattern.lower() for pattern in spec.workspace_patterns]
    return id_ in spec.workspace_ids or any(_is_like(each, name.lower()) for each in patterns)


def _means(spec: RunnerSpec, issuer: str, key: str | None, told: Mapping[str, Any]) -> bool:
    if spec.public_key is not None or key is not None:
        return spec.public_key == key
    if spec.issuer != issuer:
        return False
    for claim, wanted in spec.conditions.items():
        said = told.get(claim)
        any_segment = claim == "ref" and wanted == "a/*" and said == "a/b"
        if said != wanted and not any_segment:
            return False
    return True


@given(runners(), st.sampled_from(IDS), st.sampled_from(NAMES), st.integers(0, 5))
def test_a_workspace_is_reached_as_a_naive_reader_says(
    runner: Runner, id_: str, name: str, now: int
) -> None:
    approval = runner.approval
    expected = (
        approval is not None
        and now < runner.spec.expires_at
        and now < approval.spec.expires_at
        and id_ in approval.reach
        and _reaches(runner.spec, id_, name)
    )
    assert runner.admits(id_, name, now) is expected
    assert of_workspace([runner], id_, name, now) == [runner] * expected


@given(runners(), st.sampled_from(ISSUERS), st.none() | st.sampled_from(KEYS), claims)
def test_a_job_is_meant_as_a_naive_reader_says(
    runner: Runner, issuer: str, key: str | None, told: dict[str, Any]
) -> None:
    approval = runner.approval
    expected = approval is not None and all(
        _means(spec, issuer, key, told) for spec in (runner.spec, approval.spec)
    )
    assert runner.is_met(issuer, key, told) is expected


@given(runners(), st.integers(0, 5))
def test_of_two_versions_the_stricter_is_in_force(runner: Runner, now: int) -> None:
    if (approval := runner.approval) is None:
        assert runner.status(now) in (RunnerStatus.PROPOSED, RunnerStatus.EXPIRED)
        assert runner.expires_at() == 0
        return
    two = runner.spec, approval.spec
    expected = two[0].include_sensitive and two[1].include_sensitive
    assert runner.hands_out_sensitive is expected
    assert runner.allows_unbound is (two[0].allow_unbound and two[1].allow_unbound)
    assert runner.max_ttl == min(two[0].max_ttl, two[1].max_ttl)
    assert runner.expires_at() == min(two[0].expires_at, two[1].expires_at)


GOOD = RunnerSpec("ci", DAY, public_key="A" * 43, workspace_ids=("ws-1",))
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing wrong": ({}, []),
    "no name": ({"name": ""}, ["name"]),
    "a name in two lines": ({"name": "a\nb"}, ["name"]),
    "a long description": ({"description": "x" * 513}, ["description"]),
    "a description in two lines": ({"description": "a\nb"}, ["description"]),
    "no proof": ({"public_key": None}, ["issuer"]),
    "two proofs": ({"issuer": ISSUERS[0], "conditions": {"sub": "x"}}, ["issuer"]),
    "a short key": ({"public_key": "A" * 42}, ["public-key"]),
    "a key with bits left over": ({"public_key": "A" * 42 + "B"}, ["public-key"]),
    "a key with a line end": ({"public_key": "A" * 43 + "\n"}, ["public-key"]),
    "a key and conditions": ({"conditions": {"sub": "x"}}, ["conditions"]),
    "an issuer that is not accepted": (
        {"public_key": None, "issuer": "https://evil.example", "conditions": {"sub": "x"}},
        ["issuer"],
    ),
    "an issuer written otherwise": (
        {"public_key": None, "issuer": ISSUERS[0] + "/", "conditions": {"sub": "x"}},
        ["issuer"],
    ),
    "no conditions": ({"public_key": None, "issuer": ISSUERS[0]}, ["conditions"]),
    "no workspaces": ({"workspace_ids": ()}, ["workspace-patterns"]),
    "every workspace": ({"workspace_patterns": ("*",)}, ["workspace-patterns/0"]),
    "every workspace again": ({"workspace_patterns": ("a*", "**")}, ["workspace-patterns/1"]),
    "a set of letters": ({"workspace_patterns": ("[a-z]*",)}, ["workspace-patterns/0"]),
    "any one letter": ({"workspace_patterns": ("a?",)}, ["workspace-patterns/0"]),
    "too many patterns": ({"workspace_patterns": ("a",) * 51}, ["workspace-patterns"]),
    "too many workspaces": (
        {"workspace_ids": ("ws-1",) * 501},
        ["/data/relationships/workspaces/data"],
    ),
    "a short life of tokens": ({"max_ttl": 59}, ["max-ttl"]),
    "a long life of tokens": ({"max_ttl": 3601}, ["max-ttl"]),
    "over already": ({"expires_at": 0}, ["expired-at"]),
    "more than 90 days": ({"expires_at": 90 * DAY + 1}, ["expired-at"]),
    "90 days": ({"expires_at": 90 * DAY}, []),
    "two faults": ({"max_ttl": 1, "name": ""}, ["name", "max-ttl"]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_rule_of_a_version_is_told_where_it_is_broken(case: str) -> None:
    more, expected = CASES[case]
    fields = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__}
    faults = spec_faults(RunnerSpec(**{**fields, **more}), ISSUERS, 0)
    told = [(fault.pointer or "").removeprefix("/data/attributes/") for fault in faults]
    assert told == expected
