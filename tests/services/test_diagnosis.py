"""What is asked of a store before anybody is told that it is all right, without one."""

from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.domain.diagnosis import CLOCK_TOLERANCE, Losses
from teamvars.domain.generations import Generation
from teamvars.services import diagnosis as service
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage import data_keys, diagnosis, installation, organizations, streams

NOW = 1_000_000_000


class Store:
    """One in which that is found by what is looked up."""

    def __init__(self, found: Any) -> None:
        self.found = found

    async def read(self, body: Any) -> Any:
        return self.found[getattr(body, "func", body)]

    def now(self) -> int:
        return NOW


def of(found: Any) -> Diagnosis:
    database: Any = Store(found)
    return Diagnosis(database, lambda: NOW)


@pytest.mark.parametrize(("more", "is_told"), [(-5, False), (0, False), (1, True)])
async def test_entries_of_the_future_are_told(
    monkeypatch: pytest.MonkeyPatch, more: int, is_told: bool
) -> None:
    monkeypatch.setattr(service, "census_findings", lambda _: [])
    asked = of({diagnosis.newest_entry_at: NOW + CLOCK_TOLERANCE + more, diagnosis.census: None})
    monkeypatch.setattr(service, "_of_seals", "seals")
    monkeypatch.setattr(asked, "_of_tokens", "tokens")
    store: Any = asked._database
    store.found |= {"seals": [], "tokens": []}
    assert [one.subject for one in await asked.of_data()] == (["clock"] if is_told else [])


@pytest.mark.parametrize(("every", "tried"), [(True, ["a", "b", "c"]), (False, ["one"])])
async def test_every_value_is_tried_or_one_of_each_key(
    monkeypatch: pytest.MonkeyPatch, every: bool, tried: list[str]
) -> None:
    pages = [["a", "b"], ["c"], []]
    asked, added = of({}), list[str]()

    async def read(body: Any) -> list[Any]:
        some = ["one"] if body is installation.one_value_of_each_key else pages.pop(0)
        return [SimpleNamespace(variable_id=one) for one in some]

    class Tried:
        damaged, opened = Losses([], 0), 1

        def add(self, values: Any) -> None:
            added.extend(one.variable_id for one in values)

    monkeypatch.setattr(asked._database, "read", read)
    monkeypatch.setattr(service, "_Tried", lambda _: Tried())
    sealer: Any = None
    await asked.of_values(sealer, every=every)
    assert added == tried


async def test_heads_that_do_not_verify_are_named() -> None:
    heads = [SimpleNamespace(id=one) for one in ("ws-1", "ws-2")]
    chain: Any = SimpleNamespace(head_holds=lambda one: one.id == "ws-1")
    (found,) = await of({streams.every: heads}).of_trail(chain)
    assert "ws-2" in found.text
    assert "ws-1" not in found.text


async def test_who_has_to_sign_in_where_nobody_can_is_named() -> None:
    asked = {"acme": True, "open": False, "shut": True}
    there = {
        name: SimpleNamespace(name=name, sso_required=required) for name, required in asked.items()
    }
    provider: Any = SimpleNamespace(organizations=["Acme"])
    (found,) = await of({organizations.every: there}).of_sign_ins([provider])
    assert "shut" in found.text
    assert "acme" not in found.text
    assert "open" not in found.text


@pytest.mark.parametrize("busiest", [None, SimpleNamespace(organization_id="org-1", entries=3)])
async def test_who_has_sealed_most_is_looked_at_where_somebody_has(
    monkeypatch: pytest.MonkeyPatch, busiest: Any
) -> None:
    async def generations(_: object) -> list[Generation]:
        return [Generation(1, 0, 0, None)]

    async def most(*_: object) -> Any:
        return busiest

    monkeypatch.setattr(data_keys, "generations", generations)
    monkeypatch.setattr(data_keys, "busiest", most)
    monkeypatch.setattr(service, "seal_findings", lambda *said: [said])
    transaction: Any = None
    found: list[Any] = [*await service._of_seals(transaction)]
    assert found == ([] if busiest is None else [("org-1", 3)])
