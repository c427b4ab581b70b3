"""What is named by id."""

from teamvars.domain.errors import NO_SUCH_WORKSPACE, invalid
from teamvars.domain.linked import IdsDraft


def test_an_id_of_nothing_is_pointed_at_once_and_an_empty_one_is_the_documents_fault() -> None:
    at_fault = invalid("id", "This is empty.")
    draft = IdsDraft(("ws-1", "", "ws-9", "ws-1"), (at_fault,))
    assert draft.wanted == ("ws-1", "ws-9")
    found = draft.all_faults({"ws-1"}, NO_SUCH_WORKSPACE)
    assert found == [at_fault, NO_SUCH_WORKSPACE.at("/data/2/id")]
