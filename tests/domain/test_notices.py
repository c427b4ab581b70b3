"""What owners are told of a runner: what it stands for now, and by whose doing."""

import pytest
from msgspec.structs import replace

from teamvars.domain.notices import Notice, acted
from teamvars.domain.runners import RunnerStatus
from tests.decisions.test_deliveries import FEDERATED

BY_ROOT = replace(FEDERATED, proposed_by="user-1")


@pytest.mark.parametrize(
    ("stands", "by"),
    [
        (RunnerStatus.APPROVED, "root"),
        (RunnerStatus.PROPOSED, "user-1"),
        (RunnerStatus.CHANGED, "user-1"),
        (RunnerStatus.EXPIRED, "user-1"),
    ],
)
def test_who_has_acted_is_who_approved_it_or_else_who_proposed_it(
    stands: RunnerStatus, by: str
) -> None:
    assert acted(BY_ROOT, stands) == by
    assert acted(FEDERATED, stands) == ("root" if by == "root" else None)


@pytest.mark.parametrize(
    ("stands", "by", "said"),
    [
        (RunnerStatus.APPROVED, "alice", " alice approved it. "),
        (RunnerStatus.PROPOSED, "alice", " alice proposed it. "),
        (RunnerStatus.CHANGED, "alice", " alice proposed it. "),
    ],
)
def test_a_sentence_says_who_did_what_and_nothing_where_nobody_did(
    stands: RunnerStatus, by: str, said: str
) -> None:
    notice = Notice("o@example.com", "acme", "ci", 3, stands, by, 1)
    assert said in notice.sentence()
    assert notice.sentence().startswith("The runner ci of acme, version 3: ")
    assert "None" not in replace(notice, by=None).sentence()
    assert " it. " not in replace(notice, by=None).sentence()
