"""What `doctor` says of runners, and that it says nothing where all is well."""

import pytest
from msgspec.structs import replace

from teamvars.domain.diagnosis import Severity
from teamvars.domain.federation import GITHUB
from teamvars.domain.runner_findings import SOON, Examined, Ways, runner_findings
from teamvars.domain.runners import Approval, ApprovalMode, Runner, RunnerSpec

NOW = 1_000_000_000_000_000
SPEC = RunnerSpec("ci", NOW + 3 * SOON, issuer=GITHUB, conditions={"ref": "main"})
IN_ENVIRONMENT = replace(SPEC, conditions={"environment": "prod"})
WAYS = Ways([GITHUB], has_url=True, has_server_key=True)


def examined(spec: RunnerSpec = SPEC, *, holds: bool = True) -> Examined:
    """A runner that was approved once."""
    approval = Approval(1, spec, frozenset(), GITHUB, ApprovalMode.OPERATOR, 0, "tester", "ak", b"")
    return Examined("acme/ci", Runner("run-1", "org-1", 1, spec, 0, None, approval), holds)


def test_nothing_is_said_where_all_is_well() -> None:
    assert runner_findings([examined()], WAYS, NOW) == []
    assert runner_findings([], replace(WAYS, issuers=[]), NOW) == []


@pytest.mark.parametrize(
    ("one", "ways", "severity", "text"),
    [
        (examined(holds=False), WAYS, Severity.PROBLEM, "altered"),
        (examined(IN_ENVIRONMENT), WAYS, Severity.ADVICE, "protection rules"),
        (examined(replace(SPEC, expires_at=NOW + SOON)), WAYS, Severity.ADVICE, "14 days"),
        (examined(), replace(WAYS, has_url=False), Severity.PROBLEM, "TEAMVARS_PUBLIC_URL"),
        (examined(), replace(WAYS, has_server_key=False), Severity.PROBLEM, "server-key rotate"),
        (examined(), replace(WAYS, issuers=[GITHUB, "https://o"]), Severity.ADVICE, "https://o"),
    ],
)
def test_each_is_one_finding(one: Examined, ways: Ways, severity: Severity, text: str) -> None:
    (found,) = runner_findings([one], ways, NOW)
    assert found.severity is severity
    assert text in found.text


def test_a_runner_that_has_ended_needs_nothing() -> None:
    ended = examined(replace(SPEC, expires_at=NOW))
    assert runner_findings([ended], replace(WAYS, has_url=False), NOW) == []
