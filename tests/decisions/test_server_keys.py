"""What a new key that signs deliveries records."""

from typing import Any

import pytest

from teamvars.decisions.server_keys import rotated
from tests.decisions.directory import OPERATOR, found


@pytest.mark.parametrize(("former", "more"), [(None, {}), ("key-1", {"former": "key-1"})])
def test_a_key_is_recorded_with_the_one_that_it_takes_the_place_of(
    former: str | None, more: dict[str, Any]
) -> None:
    decision = rotated(found(actor=OPERATOR), "key-2", "thumb", former)
    assert decision.writes == ()
    (note,) = decision.notes
    assert (note.event.action, note.event.subject_id) == ("server-key.rotate", "key-2")
    assert note.event.details == {"thumbprint": "thumb", **more}
