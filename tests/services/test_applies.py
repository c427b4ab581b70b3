"""Applies, which are planned before anything is locked: contract §4."""

import pytest
from msgspec.structs import replace

from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.applies import ApplyDraft, ItemDraft
from teamvars.domain.variables import ANY_VERSION
from teamvars.services import applies
from tests.services.calls import Calls, caller, draft, refusal_of


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
