"""How many answers may be kept for one caller."""

import pytest

from teamvars.domain.errors import Refusal
from teamvars.domain.idempotency import MAX_BYTES, MAX_RECORDS, Held, Record

ANSWER = Record("name", "mk-1", b"", b"answer", 1)
SIZE = len(ANSWER.answer)


@pytest.mark.parametrize(
    ("records", "size", "has_room"),
    [
        (0, 0, True),
        (MAX_RECORDS - 1, 0, True),
        (MAX_RECORDS, 0, False),
        (0, MAX_BYTES - SIZE, True),
        (0, MAX_BYTES - SIZE + 1, False),
    ],
)
def test_there_is_room_up_to_both_bounds(records: int, size: int, has_room: bool) -> None:
    held = Held(None, records, size)
    if has_room:
        held.require_room(ANSWER)
        return
    with pytest.raises(Refusal):
        held.require_room(ANSWER)
