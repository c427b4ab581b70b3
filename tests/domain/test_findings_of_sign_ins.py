"""What `doctor` says of signing in."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.diagnosis import Severity
from teamvars.domain.findings import ProviderTrial, provider_findings, sign_in_findings
from teamvars.domain.organizations import Organization
from teamvars.domain.sign_ins import Provider

OK, ADVICE, PROBLEM = Severity.OK, Severity.ADVICE, Severity.PROBLEM
TRIAL = ProviderTrial("one", "https://id.example.com", "us", "https://vars.example.com", keys=1)


@pytest.mark.parametrize(
    ("said", "severity", "told"),
    [
        ({"error": ""}, OK, "keys: 1"),
        ({"error": "login_required"}, OK, "keys: 1"),
        ({"error": "login_required", "seconds_apart": 60}, OK, "keys: 1"),
        ({"seconds_apart": 61}, PROBLEM, "61 s apart"),
        ({"error": None}, ADVICE, "did not send a browser back"),
        ({"error": "invalid_client"}, PROBLEM, "signs nobody in: invalid_client"),
        ({"keys": 0}, PROBLEM, "no key to use"),
        ({"keys": 0, "reason": "away"}, PROBLEM, "cannot be asked: away"),
    ],
)
def test_whether_people_can_sign_in_with_a_provider_is_told(
    said: dict[str, Any], severity: Severity, told: str
) -> None:
    found, *_ = provider_findings(replace(TRIAL, **said))
    assert (found.severity, told in found.text) == (severity, True)


@pytest.mark.parametrize(
    ("refusal", "severity"),
    [
        ("invalid_grant", OK),
        ("invalid_client", PROBLEM),
        ("unauthorized_client", PROBLEM),
        ("invalid_request", ADVICE),
    ],
)
def test_whether_a_provider_takes_the_client_is_told_beside_whether_it_sends_browsers_back(
    refusal: str, severity: Severity
) -> None:
    way, client = provider_findings(replace(TRIAL, refusal=refusal))
    assert (way.severity, client.severity) == (ADVICE, severity)
    assert (refusal in client.text) is (severity is not OK)


def test_each_organization_that_nobody_can_sign_in_to_is_a_problem() -> None:
    asked = {"shut": True, "Acme": True, "open": False, "else": True}
    there = [Organization(name, name, None, 0, sso_required=sso) for name, sso in asked.items()]
    provider = Provider("one", "One", "https://id.example.com", "us", ("aCME",), (), 0)
    found = sign_in_findings(there, [provider])
    assert {one.severity for one in found} == {PROBLEM}
    assert [one.text.split()[2] for one in found] == ["else", "shut"]
