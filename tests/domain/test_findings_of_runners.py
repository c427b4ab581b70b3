"""What `doctor` says of runners, and that it says nothing where all is well."""

import pytest
from msgspec.structs import replace

from teamvars.domain.diagnosis import Severity
from teamvars.domain.federation import GITHUB
from teamvars.domain.findings import SOON, Examined, Ways, runner_findings
from teamvars.domain.runners import Approval, ApprovalMode, Runner, RunnerSpec, unreadable

NOW = 1_000_000_000_000_000
LOST = unreadable("ci")
SPEC = RunnerSpec("ci", NOW + 3 * SOON, issuer=GITHUB, conditions={"ref": "main"})
IN_ENVIRONMENT = replace(SPEC, conditions={"environment": "prod"})
WAYS = Ways([GITHUB], has_url=True, has_server_key=True)
NO_ISSUERS = replace(WAYS, issuers=[])


PATTERN = replace(SPEC, workspace_patterns=("net*",))


def examined(
    spec: RunnerSpec = SPEC, *, holds: bool = True, version: int = 1, reach: str = "ws-1"
) -> Examined:
    """A runner whose first version was approved, for that workspace, where there is `network`."""
    by = GITHUB, ApprovalMode.OPERATOR, 0, "tester", "ak", b""
    approval = Approval(1, spec, frozenset({reach}), *by)
    runner = Runner("run-1", "org-1", version, spec, 0, None, approval)
    return Examined("acme/ci", runner, holds, {"ws-1": "network"})


def unapproved(spec: RunnerSpec = SPEC) -> Examined:
    """The same, proposed."""
    return Examined("acme/ci", Runner("run-1", "org-1", 1, spec, 0), holds=False)


def altered(one: Examined) -> Examined:
    """The same, whose row does not say what was proposed."""
    return replace(one, is_altered=True)


def test_nothing_is_said_where_all_is_well() -> None:
    assert runner_findings([examined()], WAYS, NOW) == []
    assert runner_findings([examined(PATTERN)], WAYS, NOW) == []
    elsewhere = replace(IN_ENVIRONMENT, issuer="https://o")
    assert runner_findings([examined(elsewhere)], replace(WAYS, issuers=["https://o"]), NOW) == []
    assert runner_findings([], replace(WAYS, issuers=[]), NOW) == []


@pytest.mark.parametrize(
    ("one", "ways", "severity", "text"),
    [
        (examined(holds=False), WAYS, Severity.PROBLEM, "altered"),
        (altered(examined()), WAYS, Severity.PROBLEM, "not what was proposed"),
        (altered(unapproved(LOST)), NO_ISSUERS, Severity.PROBLEM, "not what was proposed"),
        (examined(IN_ENVIRONMENT), WAYS, Severity.ADVICE, "protection rules"),
        (examined(replace(SPEC, expires_at=NOW + SOON)), WAYS, Severity.ADVICE, "14 days"),
        (examined(replace(SPEC, expires_at=NOW)), WAYS, Severity.ADVICE, "runner update NAME"),
        (
            unapproved(replace(SPEC, issuer="https://o", expires_at=NOW)),
            replace(WAYS, issuers=[]),
            Severity.ADVICE,
            "have ended",
        ),
        (unapproved(), WAYS, Severity.ADVICE, "wait for approval. Look: teamvars approvals list"),
        (examined(version=2), WAYS, Severity.ADVICE, "wait for approval"),
        (examined(holds=False, version=0), WAYS, Severity.PROBLEM, "does not hold"),
        (examined(holds=False, version=2), WAYS, Severity.PROBLEM, "does not hold"),
        (examined(holds=False), replace(WAYS, issuers=[]), Severity.PROBLEM, "not accepted"),
        (unapproved(), replace(WAYS, issuers=[]), Severity.PROBLEM, "TEAMVARS_ISSUERS and restart"),
        (
            examined(replace(SPEC, workspace_patterns=("net*", "prod-*"))),
            WAYS,
            Severity.ADVICE,
            "no workspace matches",
        ),
        (examined(PATTERN, reach="ws-2"), WAYS, Severity.ADVICE, "wait for the next approval"),
        (examined(PATTERN, reach="ws-2", version=2), WAYS, Severity.ADVICE, "wait for approval"),
        (examined(holds=False), replace(WAYS, has_url=False), Severity.PROBLEM, "does not hold"),
        (examined(replace(SPEC, allow_unbound=True)), WAYS, Severity.ADVICE, "--bound"),
        (examined(), replace(WAYS, has_url=False), Severity.PROBLEM, "TEAMVARS_PUBLIC_URL"),
        (examined(), replace(WAYS, has_server_key=False), Severity.PROBLEM, "server-key rotate"),
        (examined(), replace(WAYS, issuers=[GITHUB, "https://o"]), Severity.ADVICE, "https://o"),
    ],
)
def test_each_is_one_finding(one: Examined, ways: Ways, severity: Severity, text: str) -> None:
    (found,) = runner_findings([one], ways, NOW)
    assert found.severity is severity
    assert text in found.text


def test_twenty_are_named_and_the_rest_counted() -> None:
    ended = replace(SPEC, expires_at=NOW)
    (all_named,) = runner_findings([examined(ended)] * 20, WAYS, NOW)
    assert all_named.text.startswith(f"Runners (20: {', '.join(['acme/ci'] * 20)}) have ended")
    (some_named,) = runner_findings([examined(ended)] * 21, WAYS, NOW)
    assert f"{', '.join(['acme/ci'] * 20)} and 1 more) have ended" in some_named.text


def test_a_runner_that_has_ended_needs_no_address_and_no_approval() -> None:
    ended = examined(replace(SPEC, expires_at=NOW, allow_unbound=True), holds=False)
    (found,) = runner_findings([ended], replace(WAYS, has_url=False), NOW)
    assert "have ended" in found.text
