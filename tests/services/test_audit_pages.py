"""Of which places that entries name a reader is told."""

from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.domain.access import Caller, Level
from teamvars.domain.errors import Refusal, not_found, storage_unavailable
from teamvars.services import audit_pages
from teamvars.storage import access

LEVELS = {"ws-read": Level.READ, "ws-none": Level.NONE, "varset-read": Level.READ}
CALLER, NOTHING = Caller(b"hash", "req-1"), None


class Sight:
    """What there is to see; `asked` says what was asked for as a project."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[set[str]] = []
        self.refusal = not_found()
        monkeypatch.setattr(access, "workspace", self.workspace)
        monkeypatch.setattr(access, "variable_set", self.variable_set)
        monkeypatch.setattr(access, "projects_seen", self.projects_seen)

    async def workspace(self, *asked: Any) -> Any:
        return self._of("ws", asked[-1])

    async def variable_set(self, *asked: Any) -> Any:
        return self._of("varset", asked[-1])

    async def projects_seen(self, *asked: Any) -> Any:
        self.asked.append({*asked[-1]})
        return [SimpleNamespace(id="prj-seen")]

    def _of(self, kind: str, id_: str) -> Any:
        assert id_.startswith(f"{kind}-")
        if id_ not in LEVELS:
            raise self.refusal
        return SimpleNamespace(level=LEVELS[id_])


@pytest.fixture
def sight(monkeypatch: pytest.MonkeyPatch) -> Sight:
    return Sight(monkeypatch)


async def seen(*details: dict[str, Any]) -> frozenset[str]:
    entries: Any = [SimpleNamespace(read_details=lambda one=one: one) for one in details]
    tx: Any = NOTHING
    return await audit_pages.seen_places(tx, CALLER, 7, "org-1", entries)


async def test_readers_are_told_of_the_places_that_they_see(sight: Sight) -> None:
    workspaces = {"workspaces": ["ws-read", "ws-none", "ws-gone"]}
    others = {"workspace": "varset-read", "projects": ["prj-seen", "prj-other"]}
    assert await seen(workspaces, others) == {"ws-read", "varset-read", "prj-seen"}
    assert sight.asked == [{"prj-seen", "prj-other"}]


async def test_no_project_is_looked_for_where_none_is_named(sight: Sight) -> None:
    assert await seen({"to": "ws-read"}, {}) == {"ws-read"}
    assert sight.asked == []


async def test_who_cannot_be_told_is_not_told_that_nothing_is_there(sight: Sight) -> None:
    sight.refusal = storage_unavailable()
    with pytest.raises(Refusal):
        await seen({"to": "ws-gone"})
