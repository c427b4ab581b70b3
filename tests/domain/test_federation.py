"""Which jobs a runner means: conditions that name one place, compared as texts and no otherwise."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.federation import (
    BUILDKITE,
    CIRCLECI,
    GITHUB,
    GITLAB,
    MAX_CONDITIONS,
    IssuerKind,
    condition_faults,
    kind_of,
    matches,
    run_link,
)

OWN = "https://ci.example.org"
CLUSTER = "https://kubernetes.default.svc.cluster.local"
ON_GITHUB = {"repository_id": "42", "event_name": "push", "ref": "refs/heads/main"}
ON_GITLAB = {"project_id": "7", "ref": "main", "ref_protected": "true"}


def told(issuer: str, conditions: dict[str, str]) -> list[str | None]:
    """Where something is wrong, below `conditions`."""
    faults = condition_faults(issuer, conditions)
    return [(fault.pointer or "").removeprefix("/data/attributes/conditions") for fault in faults]


@pytest.mark.parametrize(
    ("issuer", "conditions", "wrong"),
    [
        (GITHUB, ON_GITHUB, []),
        (GITHUB, {**ON_GITHUB, "ref": "refs/heads/release/*"}, []),
        (GITHUB, {}, ["/repository_id", "/event_name", ""]),
        (GITHUB, {"repository_id": "42", "event_name": "push"}, [""]),
        (GITHUB, {"repository_id": "42", "ref": "refs/heads/main"}, ["/event_name"]),
        (GITHUB, {"repository": "a/b", "event_name": "push", "ref": "x"}, ["/repository_id"]),
        (GITHUB, ON_GITHUB | {"event_name": "pull_request_target"}, ["/event_name"]),
        (GITHUB, ON_GITHUB | {"event_name": "workflow_run"}, ["/event_name"]),
        (GITHUB, ON_GITHUB | {"event_name": "issue_comment"}, ["/event_name"]),
        (GITHUB, ON_GITHUB | {"ref": "*"}, ["/ref"]),
        (GITHUB, ON_GITHUB | {"ref": "refs/heads/rel*"}, ["/ref"]),
        (GITHUB, ON_GITHUB | {"repository_id": "4/*"}, ["/repository_id"]),
        (GITHUB, ON_GITHUB | {"environment": ""}, ["/environment"]),
        (GITHUB, ON_GITHUB | {"environment": "x" * 513}, ["/environment"]),
        (GITHUB, ON_GITHUB | {"": "x"}, ["/"]),
        (GITHUB, ON_GITHUB | {"n" * 512: "x" * 512}, []),
        (GITHUB, ON_GITHUB | {"n" * 513: "x"}, [""]),
        (GITHUB, ON_GITHUB | {"aud": "x", "iss": "y"}, ["/aud", "/iss"]),
        (GITHUB, ON_GITHUB | {"a/b~c": ""}, ["/a~1b~0c"]),
        (GITHUB, ON_GITHUB | {f"claim-{n}": "x" for n in range(MAX_CONDITIONS - 3)}, []),
        (GITHUB, ON_GITHUB | {f"claim-{n}": "x" for n in range(MAX_CONDITIONS - 2)}, [""]),
        (GITLAB, ON_GITLAB, []),
        (GITLAB, {}, ["/project_id", "/ref", "/ref_protected"]),
        (GITLAB, ON_GITLAB | {"ref_protected": "false"}, ["/ref_protected"]),
        (CLUSTER, {"sub": "system:serviceaccount:ci:runner"}, []),
        (CLUSTER, {"a": "1", "b": "2"}, ["/sub"]),
        (OWN, {"sub": "job"}, []),
        (OWN, {"a": "1", "b": "2"}, []),
        (OWN, {"a": "1"}, [""]),
        (OWN, {"a": "1", "aud": "2"}, ["/aud", ""]),
        (OWN, {}, [""]),
    ],
)
def test_conditions_name_one_place(
    issuer: str, conditions: dict[str, str], wrong: list[str]
) -> None:
    assert told(issuer, conditions) == wrong


@pytest.mark.parametrize(
    ("issuer", "kind"),
    [
        (GITHUB, IssuerKind.GITHUB),
        (GITHUB + "/", IssuerKind.OTHER),
        (CLUSTER, IssuerKind.KUBERNETES),
        ("https://kubernetes.default.svc", IssuerKind.KUBERNETES),
        ("https://kubernetes.default.svcx", IssuerKind.OTHER),
        ("https://oidc.circleci.com/org/1", IssuerKind.CIRCLECI),
    ],
)
def test_an_issuer_is_of_the_kind_of_its_very_name(issuer: str, kind: IssuerKind) -> None:
    assert kind_of(issuer) is kind


@pytest.mark.parametrize(
    "claim",
    [
        7,
        True,
        None,
        ["main"],
        {"main": "main"},
        "Main",
        "main ",
        "\uff4dain",
        "main\0",
        "",
        "mai\u0578",
    ],
)
def test_only_the_very_text_meets_a_condition(claim: object) -> None:
    assert matches({"sub": "main"}, {"sub": "main", "more": 1})
    assert not matches({"sub": "main"}, {"sub": claim})
    assert not matches({"sub": "main"}, {"Sub": "main"})


@pytest.mark.parametrize(
    ("wanted", "said", "is_met"),
    [
        ("refs/heads/release/*", "refs/heads/release/1.2", True),
        ("refs/heads/release/*", "refs/heads/release/", False),
        ("refs/heads/release/*", "refs/heads/release", False),
        ("refs/heads/release/*", "refs/heads/release/a/b", False),
        ("refs/heads/release/*", "refs/heads/release/*", True),
        ("refs/*/main", "refs/heads/main", True),
        ("refs/*/main", "refs/heads/x/main", False),
        ("refs/heads/a.c", "refs/heads/abc", False),
    ],
)
def test_a_star_is_one_segment_of_a_ref(wanted: str, said: str, is_met: bool) -> None:
    assert matches({"ref": wanted}, {"ref": said}) is is_met
    assert matches({"other": wanted}, {"other": said}) is (wanted == said)


texts = st.text(st.sampled_from("ab/*.\0é"), max_size=6)
values = st.one_of(texts, st.integers(), st.none(), st.booleans(), st.lists(texts, max_size=2))
names = st.sampled_from(["ref", "sub", "environment"])


def naive(conditions: dict[str, str], claims: dict[str, Any]) -> bool:
    """What `matches` says, told in another way."""
    for name in conditions:
        if name not in claims or type(claims[name]) is not str:
            return False
        pattern = re.escape(conditions[name])
        if name == "ref":
            pattern = re.sub(r"(?<=/)\\\*(?=/|\Z)", "[^/]+", pattern)
            pattern = re.sub(r"\A\\\*(?=/|\Z)", "[^/]+", pattern)
        if re.fullmatch(pattern, claims[name], re.DOTALL) is None:
            return False
    return True


@given(st.dictionaries(names, texts, max_size=3), st.dictionaries(names, values, max_size=3))
def test_conditions_are_met_as_a_naive_reader_says(
    conditions: dict[str, str], claims: dict[str, Any]
) -> None:
    assert matches(conditions, claims) is naive(conditions, claims)


@pytest.mark.parametrize(
    ("issuer", "claims", "link"),
    [
        (
            GITHUB,
            {"repository": "acme/infra", "run_id": "9"},
            "https://github.com/acme/infra/actions/runs/9",
        ),
        (GITHUB, {"repository": "acme/infra", "run_id": True}, None),
        (GITHUB, {"repository": "acme/infra"}, None),
        (GITHUB, {"repository": "acme/infra", "run_id": ""}, None),
        (
            GITHUB,
            {"repository": "a?b#c", "run_id": "9"},
            "https://github.com/a%3Fb%23c/actions/runs/9",
        ),
        (GITLAB, {"project_path": "acme/infra", "job_id": "5"}, f"{GITLAB}/acme/infra/-/jobs/5"),
        (OWN, {"repository": "acme/infra", "run_id": "9"}, None),
        (OWN, {"project_path": "acme/infra", "job_id": "5"}, f"{OWN}/acme/infra/-/jobs/5"),
        (
            f"{CIRCLECI}3e5a",
            {"oidc.circleci.com/workflow-id": "1b2c", "oidc.circleci.com/job-id": "7"},
            "https://app.circleci.com/pipelines/workflows/1b2c",
        ),
        (f"{CIRCLECI}3e5a", {"project_path": "acme/infra", "job_id": "5"}, None),
        (
            BUILDKITE,
            {"organization_slug": "acme", "pipeline_slug": "plan", "build_number": 7},
            "https://buildkite.com/acme/plan/builds/7",
        ),
        ("urn:teamvars:key:x", {"project_path": "acme/infra", "job_id": "5"}, None),
    ],
)
def test_a_job_is_found_by_its_claims(
    issuer: str, claims: dict[str, object], link: str | None
) -> None:
    assert run_link(issuer, claims) == link
