"""What a backup says of itself."""

from teamvars.domain.backups import Manifest


def test_a_store_that_has_no_id_yet_is_not_named_none() -> None:
    made = Manifest("2030-05-04T12:00:00+00:00", "0.3.0", 11, None, {})
    assert made.title == (
        "backup of a store without an id at 2030-05-04T12:00:00+00:00, by release 0.3.0"
    )
