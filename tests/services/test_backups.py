"""What a backup is of, and what is proven of it, without one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.domain.audit import Break, Head
from teamvars.domain.backups import NEWER, Inspection
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.services import backups, proving
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage import installation, streams
from teamvars.storage.database import NotReady
from teamvars.storage.engines import schemas, sqlite_snapshots

HEADS = [Head("org-1", 3, b"\1" * 32), Head("ws-1", 1, b"\2" * 32)]
OK, PROBLEM = Severity.OK, Severity.PROBLEM


class Store:
    """One whose streams stand at `HEADS`, with two rows."""

    def __init__(self, *damage: str) -> None:
        self.damage = damage

    async def read(self, body: object) -> object:
        last = {one.stream_id: one.sequence for one in HEADS}
        return HEADS if body is streams.heads else last

    async def inspect(self) -> Inspection:
        return Inspection({"teams": 2}, self.damage)

    def now(self) -> int:
        return 7


def store(*damage: str) -> Any:
    return Store(*damage)


def told(findings: Sequence[Finding]) -> list[tuple[Severity, str]]:
    return [(one.severity, one.subject) for one in findings]


@pytest.mark.parametrize("schema", [{}, {1: object(), 4: object()}])
def test_a_backup_is_of_a_store_that_has_a_schema(
    monkeypatch: pytest.MonkeyPatch, schema: dict[int, object]
) -> None:
    answers = {
        schemas.schema: schema,
        installation.find_lineage: "store-1",
        streams.heads: HEADS,
    }

    @contextmanager
    def snapshot(_: Path) -> Iterator[Any]:
        yield SimpleNamespace(
            read=answers.get,
            rows=lambda: {"teams": 2},
            size=5,
            pieces=lambda: iter([b"whole"]),
            interrupt=lambda: None,
        )

    monkeypatch.setattr(sqlite_snapshots, "taken", snapshot)
    if not schema:
        with pytest.raises(NotReady, match="no store yet"), backups.taken(Path("x"), "1.0"):
            pass
        return
    with backups.taken(Path("x"), "1.0") as (content, known):
        manifest, heads = known()
    assert content.size == 5
    assert (manifest.schema, manifest.lineage, manifest.rows) == (4, "store-1", {"teams": 2})
    assert heads == HEADS


async def test_a_copy_whose_streams_stand_elsewhere_is_told() -> None:
    assert await proving.moved(store(), backups.lines(HEADS)) == []
    assert told(await proving.moved(store(), backups.lines(HEADS[1:]))) == [(PROBLEM, "audit")]


async def test_only_what_cannot_be_read_is_damage() -> None:
    assert await proving.damage(store()) == []
    assert told(await proving.damage(store("a page"))) == [(PROBLEM, "reading")]


@pytest.mark.parametrize(
    ("breaks", "trail"),
    [([], (OK, "audit")), ([Break("ws-1", 1, "it was altered")], (PROBLEM, "audit"))],
)
async def test_streams_are_gone_through_on_the_way_to_the_heads_that_are_there(
    monkeypatch: pytest.MonkeyPatch, breaks: list[Break], trail: tuple[Severity, str]
) -> None:
    asked: list[Sequence[Head]] = []

    async def verify(within: Sequence[Head], _: object) -> tuple[int, list[Break]]:
        asked.append(within)
        return 2, breaks

    async def nothing(*_: object, **__: object) -> list[Finding]:
        return []

    monkeypatch.setattr(Diagnosis, "of_losses", nothing)
    monkeypatch.setattr(Diagnosis, "of_values", nothing)
    later, gone = Head("org-1", 4, b"\3" * 32), Head("ws-9", 1, b"\4" * 32)
    audit: Any = SimpleNamespace(verify=verify)
    sealer: Any = None
    found = await proving.examine(store(), sealer, audit, [*HEADS, later, gone])
    newer = (Severity.ADVICE, NEWER)
    assert told(found) == [(OK, "reading"), trail, newer, newer]
    assert asked == [HEADS]
