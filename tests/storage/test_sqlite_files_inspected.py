"""Reading all of a SQLite file: what is damage, and what is not."""

from pathlib import Path

import apsw

from teamvars.storage.engines import sqlite_files


async def test_a_table_of_other_types_than_ours_is_no_damage(tmp_path: Path) -> None:
    store = apsw.Connection(str(tmp_path / "store"))
    store.execute("CREATE TABLE theirs (a, b REAL); INSERT INTO theirs VALUES (1, 2)")
    store.execute("CREATE TABLE ours (a TEXT, b BIGINT); INSERT INTO ours VALUES ('1', NULL)")
    store.close()
    assert (await sqlite_files.inspect(tmp_path / "store")).damage == []
