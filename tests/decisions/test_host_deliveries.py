"""What a command on the service's host is handed, and what that records."""

import pytest

from teamvars.decisions import Found, Needs
from teamvars.decisions.deliveries import HostDraft, ValuesOf, WorkspaceCalled, hand_out
from teamvars.decisions.needs import DataKeyOf
from teamvars.domain.access import WrappedKey
from tests.decisions.directory import NETWORK, OPERATOR, actions, found, refused
from tests.decisions.test_deliveries import HAS

KEY = WrappedKey("org-1", 1, "mk-1", b"wrapped")


def asking(*, locked: bool = True) -> Found:
    known = {
        WorkspaceCalled("acme", "network"): NETWORK,
        DataKeyOf("org-1"): KEY,
        ValuesOf("ws-1"): HAS,
    }
    return found(known, actor=OPERATOR, locked=("org-1",) if locked else ())


@pytest.mark.parametrize(
    ("only", "keys"),
    [
        ((), ["password", "region"]),
        (("reg*",), ["region"]),
        (("reg*", "pass*"), ["password", "region"]),
    ],
)
def test_a_command_gets_all_or_what_its_globs_name(only: tuple[str, ...], keys: list[str]) -> None:
    decided = hand_out(asking(), HostDraft("acme", "network", "why", only))
    assert [one.variable.key for one in decided.answer.variables] == keys
    assert actions(decided) == [("org-1", "variable.deliver")]
    (note,) = decided.notes
    assert note.event.details["reason"] == "why"


def test_a_glob_that_names_nothing_is_refused() -> None:
    draft = HostDraft("acme", "network", "why", ("region", "REGION"))
    assert refused(hand_out, asking(), draft) == ["invalid_value"]


def test_what_is_handed_out_is_decided_under_the_lock_of_the_organization() -> None:
    with pytest.raises(Needs):
        hand_out(asking(locked=False), HostDraft("acme", "network", "why"))
