"""What is named by id."""

from teamvars.domain.errors import NO_SUCH_WORKSPACE, invalid
from teamvars.domain.linked import IdsDraft


def test_every_item_of_an_id_of_nothing_is_pointed_at_and_none_at_fault_itself() -> None:
    at_fault = invalid("id", "This is no text.")
    draft = IdsDraft(("ws-1", None, "ws-9", "ws-1", ""), (at_fault,))
    assert draft.wanted == ("ws-1", "ws-9", "")
    lacking = [NO_SUCH_WORKSPACE.at(f"/data/{n}/id") for n in (2, 4)]
    assert draft.all_faults({"ws-1"}, NO_SUCH_WORKSPACE) == [at_fault, *lacking]
