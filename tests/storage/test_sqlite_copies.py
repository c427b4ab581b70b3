"""Copies of a SQLite file: what is said where one cannot be made."""

import errno
from pathlib import Path
from typing import Any

import apsw
import pytest

from teamvars.storage.engines import sqlite_copies


class Small(apsw.Connection):
    """Of a file that gets no more pages."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.pragma("max_page_count", 1)


def test_a_full_disk_is_said_to_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = apsw.Connection(str(tmp_path / "source"))
    source.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000))")
    source.close()
    monkeypatch.setattr(apsw, "Connection", Small)
    with pytest.raises(OSError, match="No space left") as failed:
        sqlite_copies.snapshot(tmp_path / "source", tmp_path / "target")
    assert failed.value.errno == errno.ENOSPC


def test_what_is_damaged_is_named_and_not_the_copy(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"no database" * 999)
    with pytest.raises(OSError, match="is damaged") as failed:
        sqlite_copies.snapshot(tmp_path / "source", tmp_path / "target")
    assert failed.value.filename == str(tmp_path / "source")


def test_a_table_of_other_types_than_ours_is_no_damage(tmp_path: Path) -> None:
    store = apsw.Connection(str(tmp_path / "store"))
    store.execute("CREATE TABLE theirs (a, b REAL); INSERT INTO theirs VALUES (1, 2)")
    store.execute("CREATE TABLE ours (a TEXT, b BIGINT); INSERT INTO ours VALUES ('1', NULL)")
    store.close()
    assert sqlite_copies.inspect(tmp_path / "store").damage == []
