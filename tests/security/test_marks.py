"""The mark beside a keyring: read where it is one, and no fault where it is not."""

from pathlib import Path

import pytest

from teamvars.security.keyring import mark_path, read_mark, write_mark

LINEAGE = "store-8a7f2c1e-0b"


def test_a_mark_that_was_written_is_read(tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.json"
    assert read_mark(keyring) is None
    write_mark(keyring, LINEAGE)
    assert read_mark(keyring) == LINEAGE


@pytest.mark.parametrize(
    "content", ["", "store-", "store-a b", "x", f"x{LINEAGE}", "store-" + "a" * 81, "store-\xe9"]
)
def test_what_is_no_mark_says_nothing(content: str, tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.json"
    mark_path(keyring).write_text(content)
    assert read_mark(keyring) is None
