"""Applies, which are planned before anything is locked: contract §4."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.changes.making import Storing
from teamvars.decisions import Decision
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.applies import ApplyDraft, ItemDraft
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.kernel.variables import MAX_VALUE_BYTES
from teamvars.services import applies
from teamvars.storage.database import Transaction
from tests.services.calls import Calls, caller, count, draft, refusal_of


async def test_of_what_never_rests_there_is_no_dry_run_and_an_apply_is_planned_under_its_lock(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applies, "_MAX_LOOKS", 0)
    apply, workspace = calls.services.applies.apply, ToWorkspace(calls.tenant.workspaces["network"])
    wanted = ApplyDraft([ItemDraft(draft())])
    tried = replace(wanted, dry_run=True)
    owner = caller(calls.tenant, "owner")
    assert await refusal_of(apply(owner, workspace, tried, ANY_VERSION)) == "busy"
    assert await calls.list() == {}
    await apply(owner, workspace, wanted, ANY_VERSION)
    assert await calls.list() == {"region": "eu"}


async def test_what_is_stored_beside_variables_stays_when_they_take_each_others_names(
    own_calls: Calls,
) -> None:
    database, tenant = own_calls.services.database, own_calls.tenant
    ids = {key: (await own_calls.create(key=key, value=key)).id for key in ("a", "b")}

    async def note(tx: Transaction) -> None:
        await tx.script(
            "CREATE TABLE variable_notes (variable_id {text} PRIMARY KEY "
            "REFERENCES variables (id) ON DELETE CASCADE)"
        )
        await tx.execute("INSERT INTO variable_notes SELECT id FROM variables")

    await database.migrate(note)
    items = [
        ItemDraft(VariableDraft(key=key), variable_id=ids[former])
        for former, key in (("a", "b"), ("b", "a"))
    ]
    to = caller(tenant, "owner"), ToWorkspace(tenant.workspaces["network"])
    await own_calls.services.applies.apply(*to, ApplyDraft(items), ANY_VERSION)
    assert await own_calls.list() == {"a": "b", "b": "a"}
    assert await count(database, "SELECT count(*) FROM variable_notes") == len(ids)


async def test_large_values_are_stored_one_by_one(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, stored = Storing.store, []

    async def noted(self: Storing, decision: Decision[Any]) -> None:
        stored.append(len(decision.writes))
        await store(self, decision)

    monkeypatch.setattr(Storing, "store", noted)
    items = [ItemDraft(draft(key, "x" * MAX_VALUE_BYTES)) for key in ("a", "b", "c")]
    to = caller(calls.tenant, "owner"), ToWorkspace(calls.tenant.workspaces["network"])
    await calls.services.applies.apply(*to, ApplyDraft(items), ANY_VERSION)
    assert stored == [1, 1, 1]
