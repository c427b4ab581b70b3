"""Of which places that entries name a reader is told."""

from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.domain.access import Caller, Level, Place
from teamvars.domain.errors import Refusal, not_found, storage_unavailable
from teamvars.services import audit_pages
from teamvars.storage import access

LEVELS = {"varset-read": Level.READ, "varset-none": Level.NONE}
NOTHING = None
HERE = Place("org-1", "acme", workspace_id="ws-asked", workspace="network")


class Sight:
    """What there is to see; `asked` says what was asked for together."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[set[str]] = []
        self.refusal = not_found()
        monkeypatch.setattr(access, "variable_set", self.variable_set)
        monkeypatch.setattr(access, "projects_seen", self.projects_seen)
        monkeypatch.setattr(access, "workspaces_seen", self.workspaces_seen)

    async def variable_set(self, _: Any, caller: Caller, __: int, id_: str) -> Any:
        caller.place = Place("org-1", "acme")
        if id_ not in LEVELS:
            raise self.refusal
        return SimpleNamespace(level=LEVELS[id_])

    async def projects_seen(self, *asked: Any) -> Any:
        self.asked.append({*asked[-1]})
        return [SimpleNamespace(id="prj-seen")]

    async def workspaces_seen(self, *asked: Any) -> Any:
        self.asked.append({*asked[-1]})
        return {"ws-read"}


@pytest.fixture
def sight(monkeypatch: pytest.MonkeyPatch) -> Sight:
    return Sight(monkeypatch)


async def seen(*details: dict[str, Any]) -> frozenset[str]:
    entries: Any = [SimpleNamespace(read_details=lambda one=one: one) for one in details]
    tx: Any = NOTHING
    caller = Caller(b"hash", "req-1")
    caller.place = HERE
    found = await audit_pages.seen_places(tx, caller, 7, "org-1", entries)
    assert caller.place == HERE  # of which the log tells
    return found


async def test_readers_are_told_of_the_places_that_they_see(sight: Sight) -> None:
    workspaces = {"workspaces": ["ws-read", "ws-none"]}
    others = {"workspace": "varset-read", "projects": ["prj-seen", "prj-other"]}
    more = {"to": "ws-gone"}, {"to": "varset-none"}, {"to": "varset-gone"}
    assert await seen(workspaces, others, *more) == {"ws-read", "varset-read", "prj-seen"}
    # However many there are, they are asked for at once.
    assert sight.asked == [{"prj-seen", "prj-other"}, {"ws-read", "ws-none", "ws-gone"}]


async def test_nothing_is_looked_for_where_nothing_is_named(sight: Sight) -> None:
    assert await seen({"to": "varset-read"}, {}) == {"varset-read"}
    assert sight.asked == []


async def test_who_cannot_be_told_is_not_told_that_nothing_is_there(sight: Sight) -> None:
    sight.refusal = storage_unavailable()
    with pytest.raises(Refusal):
        await seen({"to": "varset-gone"})
