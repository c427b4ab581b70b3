"""What is asked of a store before anybody is told that it is all right."""

from typing import Any

import pytest

from teamvars import wiring
from teamvars.domain import diagnosis as domain
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.services import diagnosis as service
from teamvars.services.diagnosis import Diagnosis
from teamvars.storage.database import Transaction
from tests.services.calls import Calls
from tests.services.test_losses import Within, after
from tests.support.engines import ON_SQLITE

pytestmark = ON_SQLITE


async def test_heads_that_do_not_verify_are_named(calls: Calls) -> None:
    async def look(tx: Transaction) -> list[Finding]:
        store: Any = Within(tx)
        return await Diagnosis(store, wiring.clock).of_trail(calls.tools.chain)

    (found,) = await after(calls, "UPDATE streams SET head = link WHERE id = '{network}'", look)
    assert found.severity is Severity.PROBLEM
    assert calls.tenant.workspaces["network"] in found.text
    assert calls.tenant.workspaces["payments"] not in found.text
    (found,) = await after(calls, "SELECT 1", look)
    assert found.severity is Severity.OK


@pytest.mark.parametrize(("loss", "told"), [("SELECT 1", 1), ("DELETE FROM audit_entries", 0)])
async def test_who_has_sealed_most_is_looked_at_where_somebody_has(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, loss: str, told: int
) -> None:
    monkeypatch.setattr(domain, "MOST_SEALS", 0)
    found = await after(calls, loss, service._of_seals)
    assert [one.subject for one in found] == ["data keys"] * told
