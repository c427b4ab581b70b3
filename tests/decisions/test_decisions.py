"""What a decision knows, and what several make together."""

import pytest

from teamvars.decisions import Decision, Locks, Needs, Verdict, together
from teamvars.decisions.needs import GrantWithId
from teamvars.domain.errors import Code, Fault
from tests.decisions.directory import actions, found, refused

CODE, GRANT = Verdict("a"), GrantWithId("tws-1")


def taken(noun: str) -> Decision[None]:
    return Decision(None, taken=Fault(Code.NAME_TAKEN, noun))


def test_what_is_asked_again_is_all_but_whether_code_parses() -> None:
    known = found({CODE: None, GRANT: "a grant"})
    known.forget()
    assert known.of(CODE) is None
    with pytest.raises(Needs) as needs:
        known.of(GRANT)
    assert needs.value.need == GRANT


def test_only_streams_that_are_not_locked_are_asked_for() -> None:
    known = found(locked=("org-1",))
    known.require_locked(["org-1"])
    with pytest.raises(Needs) as needs:
        known.require_locked(["org-1", "ws-1"])
    assert needs.value.need.stream_ids == {"ws-1"}  # type: ignore[attr-defined]


def test_a_stream_that_has_ended_before_its_lock_is_refused_where_it_is_still_wanted() -> None:
    known = found({Locks(frozenset({"org-1", "ws-1"})): {}}, locked=("org-1",))
    with pytest.raises(Needs):  # of what was found anew, it may be wanted no longer
        known.require_locked(["org-1", "ws-1"])
    ended = found({Locks(frozenset({"ws-1"})): {}}, locked=("org-1",))
    assert refused(ended.require_locked, ["org-1", "ws-1"]) == ["not_found"]
    ended.require_locked(["org-1"])


def test_a_taken_name_is_that_of_the_first_part_that_has_one() -> None:
    decision = together(None, Decision(None), taken("a team"), taken("a user"))
    assert decision.taken is not None
    assert decision.taken.detail == "a team"
    assert together(None, Decision(None)).taken is None


def test_streams_go_on_or_end_but_those_that_begin_are_not_there_to_be_locked() -> None:
    known = found()
    decision = Decision(
        None,
        notes=(
            known.note("org-1", "workspace.delete", "ws-1", {"name": "net", "closes": ["ws-1"]}),
            known.note("ws-2", "workspace.lock", "ws-2", {"name": "network"}),
        ),
        opens={"ws-2": "org-1"},
    )
    assert len(actions(decision)) == 2
    assert decision.streams == {"org-1", "ws-1"}
