"""A SQLite file at one moment: neither writers nor checkpoints change what is read of it."""

import errno
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from teamvars.storage.database import Row, Transaction
from teamvars.storage.engines import sqlite_files

CHECKPOINTS = (
    apsw.SQLITE_CHECKPOINT_PASSIVE,
    apsw.SQLITE_CHECKPOINT_FULL,
    apsw.SQLITE_CHECKPOINT_RESTART,
    apsw.SQLITE_CHECKPOINT_TRUNCATE,
)
ROW = 3000
PIECES = 700
"""So many rows make a file of several pieces."""


class Store:
    """A file with rows, which others write."""

    def __init__(self, path: Path, mode: str = "wal") -> None:
        self.path = path
        self.writer = apsw.Connection(str(path))
        self.writer.pragma("journal_mode", mode)
        self.writer.pragma("wal_autocheckpoint", 0)
        self.writer.pragma("synchronous", 0)
        self.writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB, n INT)")
        self.insert(PIECES)

    def insert(self, rows: int) -> None:
        """So many more rows."""
        with self.writer:
            self.writer.executemany(
                "INSERT INTO t (a, n) VALUES (randomblob(?), 0)", [(ROW,)] * rows
            )

    def change(self, share: int) -> None:
        """Changes one of so many rows."""
        self.writer.execute(
            "UPDATE t SET a = randomblob(?), n = n + 1 WHERE id % ? = 0", (ROW, share)
        )

    def checkpoint(self, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> None:
        """Puts into the file what may be put there, as far as readers let it."""
        with suppress(apsw.BusyError):
            self.writer.wal_checkpoint("main", mode)

    def rows(self) -> list[Any]:
        """All rows now."""
        return self.writer.execute("SELECT * FROM t ORDER BY id").fetchall()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store, all of which is in its log."""
    made = Store(tmp_path / "store")
    yield made
    made.writer.close()


def read(store: Store, meanwhile: Callable[[], object] = lambda: None) -> bytes:
    """The file by a snapshot; something is done once that is taken, and after each piece."""
    with sqlite_files.taken(store.path) as snapshot:
        meanwhile()
        whole = b""
        for piece in snapshot.pieces():
            whole += piece
            meanwhile()
        assert snapshot.rows() == {"t": len(rows_of(store, whole))}
        assert snapshot.size == len(whole)
    return whole


def rows_of(store: Store, whole: bytes) -> list[Any]:
    """The rows of a file with these bytes."""
    path = store.path.with_name("copy")
    path.write_bytes(whole)
    with closing(apsw.Connection(str(path))) as made:
        assert made.pragma("integrity_check") == "ok"
        return made.execute("SELECT * FROM t ORDER BY id").fetchall()


def test_what_only_the_log_has_is_there(store: Store) -> None:
    assert store.path.stat().st_size < ROW * PIECES
    assert rows_of(store, read(store)) == store.rows()


def test_what_others_commit_and_put_into_the_file_meanwhile_is_not_there(store: Store) -> None:
    store.checkpoint()
    store.change(7)
    before = store.rows()

    def meanwhile() -> None:
        store.change(3)
        store.insert(10)
        store.checkpoint()

    assert rows_of(store, read(store, meanwhile)) == before


def test_what_begins_the_log_anew_changes_nothing_where_the_file_had_all(store: Store) -> None:
    store.checkpoint()
    before = store.rows()

    def meanwhile() -> None:
        store.change(2)

    assert rows_of(store, read(store, meanwhile)) == before


def test_what_is_put_into_the_file_while_the_log_counts_changes_nothing(store: Store) -> None:
    before = store.rows()
    assert rows_of(store, read(store, store.checkpoint)) == before


def test_a_file_without_a_log_is_read_as_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", "delete")
    assert rows_of(store, read(store)) == store.rows()
    assert store.path.read_bytes() == read(store)
    store.writer.close()


def test_whatever_writers_do_the_snapshot_is_of_its_moment(store: Store) -> None:
    chance = random.Random(7)

    def meanwhile() -> None:
        for _ in range(chance.randrange(3)):
            store.change(chance.randrange(1, 40))
            if chance.randrange(2):
                store.checkpoint(chance.choice(CHECKPOINTS))

    for _ in range(40):
        meanwhile()
        before = store.rows()
        assert rows_of(store, read(store, meanwhile)) == before


class Overtaken(apsw.Connection):
    """Somebody does something before each look at the log, and before each at the settings."""

    looks = 0

    def before_look(self, number: int) -> None:
        """Nothing, unless a test says otherwise."""

    def before_setting(self) -> None:
        """The same."""

    def wal_checkpoint(self, *given: Any, **named: Any) -> tuple[int, int]:
        Overtaken.looks += 1
        self.before_look(Overtaken.looks)
        return super().wal_checkpoint(*given, **named)

    def pragma(self, *given: Any, **named: Any) -> Any:
        self.before_setting()
        return super().pragma(*given, **named)


@pytest.fixture
def overtaken(monkeypatch: pytest.MonkeyPatch) -> type[Overtaken]:
    """What opens the file for a snapshot."""
    monkeypatch.setattr(Overtaken, "looks", 0)
    monkeypatch.setattr(apsw, "Connection", Overtaken)
    return Overtaken


def test_a_snapshot_that_somebody_overtook_is_taken_again(
    store: Store, overtaken: type[Overtaken], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake(_: Overtaken, number: int) -> None:
        if number <= 6:
            store.change(5)
            store.checkpoint(apsw.SQLITE_CHECKPOINT_RESTART)

    monkeypatch.setattr(overtaken, "before_look", overtake)
    with sqlite_files.taken(store.path) as snapshot:
        whole = b"".join(snapshot.pieces())
    assert overtaken.looks > 6
    assert rows_of(store, whole) == store.rows()


def test_a_log_that_began_anew_and_is_as_long_as_before_is_not_taken_for_the_same(
    store: Store, overtaken: type[Overtaken], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    store.change(5)
    store.checkpoint()

    def overtake(_: Overtaken, number: int) -> None:
        if number == 3:  # the first look after the transaction has begun
            store.change(5)

    monkeypatch.setattr(overtaken, "before_look", overtake)
    with sqlite_files.taken(store.path):
        assert overtaken.looks > 5


def test_a_log_that_begins_anew_while_it_is_looked_at_is_not_taken_for_the_one_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    commits = iter(range(4))  # of one frame each

    def commit() -> None:
        if next(commits, None) is not None:
            store.change(PIECES)

    class Anew(apsw.Connection):
        """One commit begins the log anew while it is looked at, and the next, once the transaction
        has begun, makes it as long as it was.
        """

        begun = False

        def read(self, *given: Any) -> tuple[bool, bytes]:
            commit()
            return super().read(*given)

        def execute(self, *given: Any, **named: Any) -> apsw.Cursor:
            Anew.begun |= given[0] == "BEGIN"
            return super().execute(*given, **named)

        def wal_checkpoint(self, *given: Any, **named: Any) -> tuple[int, int]:
            if Anew.begun:
                commit()
            return super().wal_checkpoint(*given, **named)

    commit()
    commit()
    store.checkpoint()
    monkeypatch.setattr(apsw, "Connection", Anew)
    with sqlite_files.taken(store.path) as snapshot:
        seen = snapshot.read(all_rows)
        whole = b"".join(snapshot.pieces())
    monkeypatch.undo()
    assert rows_of(store, whole) == seen


def test_what_comes_once_the_transaction_has_begun_is_not_there(
    store: Store, overtaken: type[Overtaken], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.rows()
    monkeypatch.setattr(overtaken, "before_setting", lambda _: store.change(5))
    with sqlite_files.taken(store.path) as snapshot:
        assert snapshot.read(all_rows) == before
        whole = b"".join(snapshot.pieces())
    assert rows_of(store, whole) == before


async def all_rows(tx: Transaction) -> Sequence[Row]:
    """All rows that the snapshot's transaction sees."""
    return await tx.fetch("SELECT * FROM t ORDER BY id")


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"no database" * 999)
    with (
        pytest.raises(OSError, match="is damaged") as failed,
        sqlite_files.taken(tmp_path / "store"),
    ):
        pass
    assert failed.value.filename == str(tmp_path / "store")


class Failing(apsw.Connection):
    """Of a disk that fails."""

    def read(self, *_: object) -> tuple[bool, bytes]:
        raise apsw.SQLError("not an error")


def test_a_disk_that_fails_is_said_to_fail(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
    monkeypatch.setattr(apsw, "Connection", Failing)
    with (
        pytest.raises(OSError, match="rror") as failed,
        sqlite_files.taken(store.path) as snapshot,
    ):
        list(snapshot.pieces())
    assert failed.value.errno == errno.EIO
