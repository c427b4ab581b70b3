"""Rows of sets are kept for as long as there is room, and no others."""

from teamvars.domain.effective import Level, Source, Supply
from teamvars.domain.workspaces import Usage
from teamvars.storage.effective import KeptRows, ReadThen

KEYS = b"keys"
ROOM = 3 * 1024
"""Of three sets without variables."""


def of(id_: str, variables: int = 0) -> Supply:
    """A set with so many variables, or a workspace."""
    level = Level.WORKSPACE if id_.startswith("ws-") else Level.GLOBAL
    return Supply(Source(id_, id_, level), b"head", Usage(variables, 0))


def keep(kept: KeptRows, *some: Supply) -> None:
    """Keeps these, all without rows."""
    read: dict[str, ReadThen] = {one.source.id: (one.head, {}) for one in some}
    kept.keep(some, KEYS, read)


def found(kept: KeptRows, *ids: str) -> list[str]:
    """Which of these are kept."""
    return list(kept.find(map(of, ids), KEYS))


def test_the_set_that_was_asked_for_longest_ago_goes_first() -> None:
    kept = KeptRows(ROOM)
    keep(kept, of("varset-1"), of("varset-2"), of("varset-3"))
    assert found(kept, "varset-1") == ["varset-1"]
    keep(kept, of("varset-4"))
    assert found(kept, "varset-1", "varset-2", "varset-3", "varset-4") == [
        "varset-1",
        "varset-3",
        "varset-4",
    ]


def test_a_set_that_is_kept_again_takes_its_room_once() -> None:
    kept = KeptRows(ROOM)
    for _ in range(5):
        keep(kept, of("varset-1"))
    keep(kept, of("varset-2", variables=1))
    assert found(kept, "varset-1", "varset-2") == ["varset-1", "varset-2"]


def test_neither_workspaces_nor_what_is_larger_than_all_room_are_kept_or_drive_others_out() -> None:
    kept = KeptRows(ROOM)
    keep(kept, of("varset-2"))
    keep(kept, of("ws-1"), of("varset-1", variables=3))
    assert found(kept, "ws-1", "varset-1", "varset-2") == ["varset-2"]
