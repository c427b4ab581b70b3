"""The mark beside a keyring: read where it is one, and no fault where it is not."""

from pathlib import Path

import pytest

from teamvars.security import marks

LINEAGE = "store-8a7f2c1e-0b"


def test_a_mark_that_was_written_is_read(tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.json"
    assert marks.read(keyring) is None
    marks.write(keyring, LINEAGE)
    assert marks.read(keyring) == LINEAGE


@pytest.mark.parametrize(
    "content", ["", "store-", "store-a b", "x", f"x{LINEAGE}", "store-" + "a" * 81, "store-\xe9"]
)
def test_what_is_no_mark_says_nothing(content: str, tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.json"
    marks.path_of(keyring).write_text(content)
    assert marks.read(keyring) is None
