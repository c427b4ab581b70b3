"""What is believed of jobs and runners: what a row says, only if the keyring made it say so."""

from typing import Any

import pytest
from joserfc.jwk import OKPKey
from msgspec.structs import replace

from teamvars.domain.runners import ApprovalMode, Runner
from teamvars.protocol import MACHINE
from teamvars.security import keyring
from teamvars.security.assertions import Unproven, claimed, machine_key
from teamvars.services.issuers import Issuer, Trust
from tests.decisions.test_deliveries import FEDERATED, TOKEN
from tests.support.jobs import ISSUER, ISSUERS, job_token

KEYS = keyring.generate()
TRUST = Trust(KEYS, ISSUERS)
SPEC = FEDERATED.spec
MACHINES = replace(SPEC, issuer=None, public_key="k", conditions={})


def approved(trust: Trust = TRUST, spec: Any = SPEC, **said: Any) -> Runner:
    """A runner with an approval that the service has made."""
    approval = FEDERATED.approval
    assert approval is not None
    source = "" if spec.issuer is None else trust.issuers[spec.issuer]
    made = replace(approval, spec=spec, issuer=source, **said)
    runner = replace(FEDERATED, spec=spec)
    return replace(runner, approval=trust.sealed(runner, made))


def with_approval(runner: Runner, **said: Any) -> Runner:
    """The runner as somebody has written into its row."""
    assert runner.approval is not None
    return replace(runner, approval=replace(runner.approval, **said))


@pytest.mark.parametrize("spec", [SPEC, MACHINES])
def test_an_approval_holds_as_it_was_made(spec: Any) -> None:
    runner = approved(spec=spec)
    assert TRUST.holds(runner)
    assert Trust(KEYS, ISSUERS, ApprovalMode.OWNER).holds(runner)
    assert not TRUST.holds(replace(runner, approval=None))


@pytest.mark.parametrize(
    "said",
    [
        {"version": 3},
        {"spec": replace(SPEC, conditions={})},
        {"reach": frozenset({"ws-1", "ws-2"})},
        {"mode": ApprovalMode.OWNERS},
        {"approved_at": 2},
        {"approved_by": "somebody"},
        {"key_id": "ak-none"},
        {"mac": b"mac"},
        {"issuer": ""},
        {"spec": MACHINES, "issuer": ""},
    ],
    ids=lambda said: " ".join(said),
)
def test_nothing_of_an_approval_can_be_written_into_its_row(said: dict[str, Any]) -> None:
    everybody = Trust(KEYS, ISSUERS, ApprovalMode.OWNER)
    assert not everybody.holds(with_approval(approved(), **said))


@pytest.mark.parametrize("said", [{"id": "run-2"}, {"organization_id": "org-2"}])
def test_an_approval_is_of_one_runner(said: dict[str, Any]) -> None:
    assert not TRUST.holds(replace(approved(), **said))


def test_an_approval_of_another_installation_does_not_hold() -> None:
    assert not Trust(keyring.generate(), ISSUERS).holds(approved())


@pytest.mark.parametrize("made_under", ApprovalMode)
@pytest.mark.parametrize("mode", ApprovalMode)
def test_an_approval_counts_where_its_rule_is_at_least_as_strict_as_the_modes(
    made_under: ApprovalMode, mode: ApprovalMode
) -> None:
    strictest_first = [ApprovalMode.OPERATOR, ApprovalMode.OWNERS, ApprovalMode.OWNER]
    counts = strictest_first.index(made_under) <= strictest_first.index(mode)
    trust, runner = Trust(KEYS, ISSUERS, mode), approved(mode=made_under)
    assert trust.holds(runner) is counts
    assert trust.was_approved(runner)
    assert not trust.was_approved(replace(runner, approval=None))
    assert not Trust(keyring.generate(), ISSUERS, mode).was_approved(runner)


def test_an_approval_ends_once_its_issuer_has_keys_from_elsewhere_or_is_not_accepted() -> None:
    runner = approved()
    assert not Trust(KEYS, [Issuer(ISSUER)]).holds(runner)
    assert not Trust(KEYS).holds(runner)
    asked = Trust(KEYS, [Issuer(ISSUER)])
    assert asked.holds(approved(asked))
    assert not TRUST.holds(approved(asked))


def test_the_digest_of_a_version_is_another_for_keys_from_elsewhere() -> None:
    reach = frozenset({"ws-1"})
    digests = {
        trust.digest(runner, reach)
        for trust in (TRUST, Trust(KEYS, [Issuer(ISSUER)]), Trust(KEYS))
        for runner in (FEDERATED, replace(FEDERATED, spec=MACHINES))
    }
    assert len(digests) == 4  # with a key of its own it does not matter whom the operator trusts


@pytest.mark.parametrize(
    "said",
    [
        {"hash": b"other"},
        {"runner_id": "run-2"},
        {"version": 3},
        {"workspace_id": "ws-2"},
        {"thumbprint": "other"},
        {"is_bound": False},
        {"claims": {"iss": ISSUER, "sub": "other"}},
        {"run_link": "https://ci.example.org/7"},
        {"expires_at": 9_000_000},
        {"key_id": "ak-none"},
        {"mac": b"mac"},
    ],
    ids=lambda said: " ".join(said),
)
def test_nothing_of_a_token_of_a_job_can_be_written_into_its_row(said: dict[str, Any]) -> None:
    issued = TRUST.issued(TOKEN)
    assert TRUST.has_issued(issued)
    assert not TRUST.has_issued(replace(issued, **said))


async def test_a_job_is_believed_by_the_key_that_its_issuer_is_or_by_an_accepted_issuers() -> None:
    machine = OKPKey.generate_key("Ed25519")
    issuer = f"{MACHINE}{machine.as_dict(private=False)['x']}"
    said = replace(claimed(job_token(None)), issuer=issuer)
    key = await TRUST.key_for(said)
    assert key.thumbprint() == machine_key(issuer).thumbprint() == machine.thumbprint()
    accepted = await TRUST.key_for(claimed(job_token(None)))
    assert ISSUERS[0].source == f"keys {accepted.thumbprint()}"
    with pytest.raises(Unproven, match="not accepted"):
        await TRUST.key_for(claimed(job_token(None, issuer="https://other.example.org")))
