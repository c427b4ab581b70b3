"""An approval of a runner, and a token of a job, are what a holder of an audit key has made."""

from msgspec.structs import replace

from teamvars.domain.runners import Runner
from teamvars.security import keyring
from teamvars.security.approvals import Approvals
from tests.decisions.test_deliveries import FEDERATED, TOKEN

OURS, OTHERS = Approvals(keyring.generate()), Approvals(keyring.generate())


def approved(by: Approvals) -> Runner:
    assert FEDERATED.approval is not None
    return replace(FEDERATED, approval=by.sealed(FEDERATED, FEDERATED.approval))


def test_an_approval_holds_where_it_was_made_and_under_no_other_key() -> None:
    assert OURS.was_approved(approved(by=OURS))
    assert not OURS.was_approved(approved(by=OTHERS))
    assert not OURS.was_approved(replace(FEDERATED, approval=None))


def test_a_token_of_a_job_was_issued_here_or_is_none() -> None:
    assert OURS.has_issued(OURS.issued(TOKEN))
    assert not OURS.has_issued(OTHERS.issued(TOKEN))
