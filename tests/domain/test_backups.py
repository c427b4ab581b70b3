"""What a backup says of itself."""

from teamvars.domain.audit import Head
from teamvars.domain.backups import Inspection, Manifest, beyond, reading_findings
from teamvars.domain.diagnosis import Severity


def test_a_store_that_has_no_id_yet_is_not_named_none() -> None:
    made = Manifest("2030-05-04T12:00:00+00:00", "0.3.0", 11, None, {})
    assert made.title == (
        "backup of a store without an id at 2030-05-04T12:00:00+00:00, by release 0.3.0"
    )


def test_a_copy_that_has_other_rows_than_were_counted_is_altered() -> None:
    made = Manifest("2030-05-04T12:00:00+00:00", "0.3.0", 11, None, {"teams": 2, "tokens": 1})
    assert made.altered(Inspection({"teams": 2, "tokens": 1, "tags": 0})) == []
    told = made.altered(Inspection({"teams": 3, "tags": 1}))
    assert {one.severity for one in told} == {Severity.PROBLEM}
    assert [one.text for one in told] == [
        "tags had 0, has 1",
        "teams had 2, has 3",
        "tokens had 1, has 0",
    ]


def test_of_a_copy_that_cannot_be_read_nothing_else_is_told() -> None:
    made = Manifest("2030-05-04T12:00:00+00:00", "0.3.0", 11, None, {"teams": 2})
    damaged = Inspection({"teams": 1}, ["page 3 is damaged"])
    assert made.altered(damaged) == reading_findings(damaged)
    assert [one.text for one in reading_findings(damaged)] == ["page 3 is damaged"]
    (well,) = reading_findings(Inspection({"teams": 1, "tags": 2}))
    assert (well.severity, well.text) == (
        Severity.OK,
        "all 3 rows of 2 tables can be read",
    )


def test_a_store_lacks_the_entries_behind_its_last_that_heads_tell_of() -> None:
    kept = [Head("ws-1", 5, b""), Head("ws-2", 3, b""), Head("ws-3", 1, b"")]
    lacks = "stream {} lacks entries that were kept elsewhere: {}"
    assert list(beyond(kept, {"ws-1": 3, "ws-2": 3})) == [
        lacks.format("ws-1", "4 to 5"),
        lacks.format("ws-3", "1 to 1"),
    ]
